//! Recomputation: less memory for more time.

use oarlock_ir::{Error, Kind, Result};

use super::{Minimize, ParamGrad};
use crate::{Net, VarRef};

/// `RecomputeOptimizer(optimizer)`: keeps only checkpoints from the forward pass and computes what lies between them again when
/// its gradient is due. Gradients do not change by a bit.
///
/// ```
/// # use oarlock::prelude::*;
/// # fn main() -> Result<()> {
/// let mut net = Net::new();
/// let x = net.data("x", Data::shape([8]))?;
/// let first = net.fc(&x, Fc::size(8).act("relu"))?;
/// let second = net.fc(&first, Fc::size(8).act("relu"))?;
/// let loss = net.mean(&second)?;
/// optimizer::Recompute::new(optimizer::adam(0.01), &[&first, &second]).minimize(&mut net, &loss)?;
/// # Ok(())
/// # }
/// ```
///
/// Operators that draw random numbers draw the same ones again. Control flow on the way to the loss is refused.
pub struct Recompute<O> {
    inner: O,
    checkpoints: Vec<VarRef>,
}

impl<O: Minimize> Recompute<O> {
    /// Around an optimizer. A checkpoint that does not lead to the loss is ignored.
    pub fn new(inner: O, checkpoints: &[&VarRef]) -> Recompute<O> {
        Recompute { inner, checkpoints: checkpoints.iter().map(|&v| v.clone()).collect() }
    }

    /// Appends the gradient of a loss, recomputation included, and the inner optimizer's updates.
    #[track_caller]
    pub fn minimize(&mut self, net: &mut Net, loss: &VarRef) -> Result<Vec<ParamGrad>> {
        Minimize::minimize(self, net, loss)
    }
}

impl<O: Minimize> Minimize for Recompute<O> {
    fn learning_rate_var(&self, net: &Net) -> Option<&VarRef> {
        self.inner.learning_rate_var(net)
    }

    #[track_caller]
    fn backward_from(&mut self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>> {
        let all: Vec<VarRef> = self.checkpoints.iter().chain(checkpoints).cloned().collect();
        if all.is_empty() {
            return Err(Error::new(Kind::Argument, "recomputation needs checkpoints, but has none")
                .help("name variables to keep, such as the output of every few layers"));
        }
        for checkpoint in &all {
            net.var(checkpoint)?;
        }
        self.inner.backward_from(net, loss, &all)
    }

    #[track_caller]
    fn apply_gradients(&mut self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<()> {
        self.inner.apply_gradients(net, pairs)
    }
}
