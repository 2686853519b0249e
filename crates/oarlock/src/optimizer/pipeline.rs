//! Pipelines: a program divided into sections.

use oarlock_ir::{Error, Kind, Result};

use super::{Minimize, ParamGrad};
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `PipelineOptimizer(optimizer, cut_list=None, place_list=None, concurrency_list=None, queue_size=30, sync_steps=1,
    /// start_cpu_core_id=0)`: all but `cut_list` are hints on where and how sections run.
    PipelineOptions::new() {
        /// The variables at which the forward pass is divided; the last entry holds the loss. `k` entries make `2k - 1` sections.
        cut_list: Vec<Vec<VarRef>> = Vec::new(),
        /// A device for each section. A hint: everything runs on the CPU.
        place_list: Vec<String> = Vec::new(),
        /// How many threads run each section. A hint: the executor divides its threads among the operators instead.
        concurrency_list: Vec<usize> = Vec::new(),
        /// How many batches may wait between two sections. A hint: none waits.
        queue_size: usize = 30,
        /// After how many batches devices exchange parameters. A hint: there is one copy of them.
        sync_steps: usize = 1,
        /// The first core to use. A hint.
        start_cpu_core_id: usize = 0,
    }
}

/// `PipelineOptimizer`: training of a program in sections.
///
/// The sections run one after the other in one program, so training gives what the inner optimizer alone gives. In the 1.8 release
/// sections work on several batches at once, and a section may see parameters that lag behind by some batches; that never
/// happens here. The options are checked, and otherwise taken as hints.
pub struct Pipeline<O> {
    inner: O,
    options: PipelineOptions,
}

impl<O: Minimize> Pipeline<O> {
    /// Around an optimizer.
    pub fn new(inner: O, options: PipelineOptions) -> Pipeline<O> {
        Pipeline { inner, options }
    }

    /// Appends the gradient of a loss and the inner optimizer's updates.
    #[track_caller]
    pub fn minimize(&mut self, net: &mut Net, loss: &VarRef) -> Result<Vec<ParamGrad>> {
        Minimize::minimize(self, net, loss)
    }

    fn check(&self, net: &Net) -> Result<()> {
        for var in self.options.cut_list.iter().flatten() {
            net.var(var)?;
        }
        let cuts = self.options.cut_list.len();
        let sections = (2 * cuts).max(2) - 1;
        check_length("place_list", self.options.place_list.len(), sections, cuts)?;
        check_length("concurrency_list", self.options.concurrency_list.len(), sections, cuts)
    }
}

fn check_length(list: &str, found: usize, sections: usize, cuts: usize) -> Result<()> {
    if found == 0 || found == sections {
        return Ok(());
    }
    let what = format!(
        "`{list}` has {found} entries, but a `cut_list` of {cuts} makes sections: {sections}, backward included"
    );
    Err(Error::new(Kind::Argument, what).help(format!("give one entry for each section, or leave `{list}` out")))
}

impl<O: Minimize> Minimize for Pipeline<O> {
    fn learning_rate_var(&self, net: &Net) -> Option<&VarRef> {
        self.inner.learning_rate_var(net)
    }

    #[track_caller]
    fn backward_from(&mut self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>> {
        self.check(net)?;
        self.inner.backward_from(net, loss, checkpoints)
    }

    #[track_caller]
    fn apply_gradients(&mut self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<()> {
        self.inner.apply_gradients(net, pairs)
    }
}
