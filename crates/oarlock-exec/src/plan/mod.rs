//! Plans: a program compiled for one set of feeds and fetches.
//!
//! Passes and fusions rewrite a private copy of the program. Every variable gets a slot of one flat frame; temporaries that are never
//! alive together share a slot. The plan says which variables a run must lock, clear, check and be able to restore. `OpDef::prepare`
//! then parses attributes, resolves slots to indices and returns a kernel. A plan knows no sizes: they may change from run to run.

mod analysis;
mod compile;
mod memory;
mod passes;

use std::collections::HashMap;

use oarlock_ir::{Kernel, Layout, Name, Op, PassRun, Place, Program, Result, Var};

use crate::executor::ExecOptions;

pub(crate) use analysis::{Access, Key, accesses};
pub(crate) use compile::compile;
pub use passes::plan_passes;

/// A program compiled for one set of feeds and fetches.
pub(crate) struct Plan {
    /// The program after passes and fusions.
    pub(crate) program: Program,
    pub(crate) blocks: Vec<PlanBlock>,
    pub(crate) slots: usize,
    pub(crate) feeds: Vec<FeedSlot>,
    pub(crate) fetches: Vec<(Name, usize)>,
    pub(crate) bound: Vec<Bound>,
    /// From this operator of block 0 on, every kernel can be checked beforehand and then cannot fail.
    pub(crate) commit_from: usize,
    /// Variables that a startup program initialises: it is fed nothing and reads nothing of the scope.
    pub(crate) initializes: Vec<Name>,
    layout: SlotMap,
}

/// The operators of one block.
pub(crate) struct PlanBlock {
    pub(crate) ops: Vec<PlanOp>,
    /// Slots to empty before the block runs: what a run may or may not write.
    pub(crate) clear: Vec<usize>,
}

/// One operator of a plan.
pub(crate) struct PlanOp {
    pub(crate) op: Op,
    /// Its variables and their slots, for messages.
    pub(crate) names: Vec<(Name, usize)>,
    /// Outputs that are inputs too: (where the kernel writes, where the value belongs).
    pub(crate) swaps: Vec<(usize, usize)>,
    /// Slots it writes, sub-blocks included.
    pub(crate) writes: Vec<usize>,
    /// Positions in `Plan::bound` of what it writes, sub-blocks included.
    pub(crate) updates: Vec<usize>,
    /// Positions in `Plan::bound` of what it reads, and of whatever its sub-blocks touch: those may or may not write it.
    pub(crate) reads: Vec<usize>,
    /// It changes some rows of what it updates ([`Traits::by_rows`](oarlock_ir::Traits)).
    pub(crate) by_rows: bool,
    /// Slots unused after it; emptied if the program wants memory back.
    pub(crate) release: Vec<usize>,
}

/// A variable the user feeds.
pub(crate) struct FeedSlot {
    pub(crate) name: Name,
    /// `None` if no operator uses it.
    pub(crate) slot: Option<usize>,
    pub(crate) var: Var,
}

/// A variable of a scope.
pub(crate) struct Bound {
    pub(crate) name: Name,
    pub(crate) slot: usize,
    pub(crate) written: bool,
    /// Read by block 0 before anything writes it.
    pub(crate) required: bool,
    pub(crate) persistable: bool,
    pub(crate) is_data: bool,
    /// The operator of block 0, as its author wrote it, that reads it first.
    pub(crate) needed_by: Option<Place>,
}

/// Where each variable is, by the block that declares it and its name.
#[derive(Default)]
pub(crate) struct SlotMap {
    slots: HashMap<(usize, Name), usize>,
}

struct PlanLayout<'a> {
    program: &'a Program,
    map: &'a SlotMap,
}

impl Layout for PlanLayout<'_> {
    fn program(&self) -> &Program {
        self.program
    }

    fn slot(&self, block: usize, name: &str) -> Option<usize> {
        let home = self.program.resolve(block, name)?;
        self.map.slots.get(&(home, name.into())).copied()
    }

    fn var(&self, block: usize, name: &str) -> Option<&Var> {
        self.program.find_var(block, name)
    }

    fn locals(&self, block: usize) -> Vec<usize> {
        let own = self.program.block(block).vars.values().filter(|v| !v.persistable);
        own.filter_map(|v| self.map.slots.get(&(block, v.name.clone())).copied()).collect()
    }
}

impl Plan {
    /// Compiles a program. Fails if the program is malformed, an operator unknown, or a feed or fetch not part of it.
    pub(crate) fn compile(program: &Program, feeds: &[&str], fetches: &[&str], options: &ExecOptions) -> Result<Plan> {
        compile(program, feeds, fetches, &[], options, &mut PassRun::new(options.registry.verifies()))
    }

    /// Makes the kernels of all blocks. Each instance of a plan has its own, since kernels keep scratch memory. Those of one replica
    /// draw other random numbers than those of another.
    pub(crate) fn kernels(&self, options: &ExecOptions, replica: usize) -> Result<Vec<Vec<Box<dyn Kernel>>>> {
        let layout = PlanLayout { program: &self.program, map: &self.layout };
        compile::kernels(&self.blocks, &layout, options, replica)
    }
}
