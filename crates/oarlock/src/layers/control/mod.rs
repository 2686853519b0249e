//! Control flow: operators that run blocks.
//!
//! Each construct has `enter` and `leave`, between which layers build inside its block (for front ends with blocks of their own),
//! and a method that takes a closure.

mod cond;
mod dynamic_rnn;
mod if_else;
mod static_rnn;
mod switch;
mod while_block;

use std::collections::BTreeSet;

use oarlock_ir::{EMPTY, Kind, Name, Result, VarKind, fail};
use oarlock_tensor::DType;

pub use cond::{Branch, CondBlock};
pub use dynamic_rnn::{DynamicRnn, Memory};
pub use if_else::IfElse;
pub use static_rnn::{Boot, StaticRnn};
pub use switch::Switch;
pub use while_block::While;

use crate::network::opaque;
use crate::{Net, VarRef};

/// Variables that the operators of a block read before they are written there, and variables they write; sorted, so that programs repeat.
struct Flow {
    reads: BTreeSet<Name>,
    writes: BTreeSet<Name>,
}

impl Net {
    /// Builds in a new block inside the current one.
    fn open_block(&mut self) -> usize {
        let block = self.main.add_block(self.block());
        self.set_block(block);
        block
    }

    /// The block around the current one.
    fn parent_block(&self) -> usize {
        self.main.block(self.block()).parent.unwrap_or(0)
    }

    /// Builds in the block around the current one until the end of `build`.
    #[track_caller]
    pub(super) fn in_parent<T>(&mut self, build: impl FnOnce(&mut Net) -> T) -> T {
        let inner = self.block();
        self.set_block(self.parent_block());
        let result = self.located(build);
        self.set_block(inner);
        result
    }

    /// Builds inside a construct that was entered; leaves it also when building failed.
    fn inside<T>(&mut self, outer: usize, build: impl FnOnce(&mut Net) -> Result<T>) -> Result<T> {
        let result = build(self);
        if result.is_err() {
            self.set_block(outer);
        }
        result
    }

    /// The flow into and out of the current block; `written` counts as written from the start.
    fn flow(&self, written: &[&VarRef]) -> Flow {
        let mut flow = Flow { reads: BTreeSet::new(), writes: written.iter().map(|v| v.name().clone()).collect() };
        for op in &self.main.block(self.block()).ops {
            let new = op.inputs.args().filter(|n| !flow.writes.contains(*n)).cloned().collect::<Vec<_>>();
            flow.reads.extend(new);
            flow.writes.extend(op.outputs.args().cloned());
        }
        flow.reads.remove(EMPTY);
        flow
    }

    /// Those of `names` that the block around the current one knows.
    fn known_outside(&self, names: &BTreeSet<Name>) -> Vec<Name> {
        let parent = self.parent_block();
        names.iter().filter(|n| self.main.resolve(parent, n).is_some()).cloned().collect()
    }

    /// The scopes an operator keeps for its gradient.
    fn step_scopes(&mut self) -> VarRef {
        self.generated(opaque(VarKind::StepScopes))
    }

    /// A condition must be one bool.
    fn check_condition(&self, what: &str, cond: &VarRef) -> Result<()> {
        let ty = self.var(cond)?.ty();
        if ty.dtype != DType::Bool || ty.shape.numel().is_some_and(|n| n != 1) {
            fail!(Kind::Argument, "the condition of {what} must be one bool, but `{cond}` is {ty}");
        }
        Ok(())
    }
}
