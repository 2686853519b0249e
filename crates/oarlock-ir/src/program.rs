//! Programs and blocks.

use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;

use crate::error::{Kind, Result};
use crate::{Explicit, Name, Op, UnknownInside, Var, fail};

/// A list of operators and the variables they use.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its index in the program.
    pub idx: usize,
    /// The block it stands in; `None` for block 0.
    pub parent: Option<usize>,
    /// For a block of gradients: the block whose gradients it computes.
    pub forward: Option<usize>,
    /// Its variables.
    pub vars: IndexMap<Name, Var>,
    /// Its operators, in order.
    pub ops: Vec<Op>,
    /// Fields of the file format that this version does not know, as bytes.
    pub unknown: Vec<u8>,
    /// Defaults that the file spelled out.
    pub explicit: Explicit,
}

impl Block {
    /// A block without operators.
    pub fn new(idx: usize, parent: Option<usize>) -> Block {
        Block {
            idx,
            parent,
            forward: None,
            vars: IndexMap::new(),
            ops: Vec::new(),
            unknown: Vec::new(),
            explicit: Explicit::default(),
        }
    }

    /// The variable of this block with a name.
    pub fn var(&self, name: &str) -> Option<&Var> {
        self.vars.get(name)
    }

    /// Adds or replaces a variable.
    pub fn set_var(&mut self, var: Var) -> &mut Var {
        let entry = self.vars.entry(var.name.clone());
        match entry {
            indexmap::map::Entry::Occupied(mut e) => {
                e.insert(var);
                e.into_mut()
            }
            indexmap::map::Entry::Vacant(e) => e.insert(var),
        }
    }
}

/// Which release's rules an operator of a saved program follows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpVersions {
    /// 1.x: the `op_compatible_map` message as bytes. Only carried along.
    pub compatible_map: Vec<u8>,
    /// 2.x: operator and version.
    pub map: Vec<(Name, i32)>,
}

/// A network: blocks of operators. Block 0 is where it starts.
///
/// Every program has an identity and a version that grows with each change, so that what was computed from it once
/// (a plan, say) can be kept as long as it holds.
#[derive(Debug)]
pub struct Program {
    blocks: Vec<Block>,
    /// Copied into random operators of a startup program; 0 means random.
    pub random_seed: i32,
    /// The release that wrote it (major * 1,000,000 + minor * 1,000 + patch).
    pub format_version: i64,
    /// Versions of operators.
    pub op_versions: OpVersions,
    /// How its memory is planned.
    pub memory: MemoryPlan,
    /// How many backward passes appended gradients to it; those of later passes have names of their own. Not in files.
    pub backward_passes: usize,
    /// Fields of the file format that this version does not know, as bytes.
    pub unknown: Vec<u8>,
    /// Unknown fields inside the messages about versions, by the place they stand at.
    pub unknown_inside: UnknownInside,
    /// Defaults that the file spelled out.
    pub explicit: Explicit,
    id: u64,
    version: u64,
}

/// How far a plan goes to save memory; set by `memory_optimize` and `release_memory`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryPlan {
    /// Variables of different sizes may share memory, and operators may write over their inputs.
    pub share: bool,
    /// Memory is given back after its last use, not kept for the next run.
    pub release: bool,
    /// Variables that keep memory of their own.
    pub keep: Vec<Name>,
}

/// The release whose files we write.
pub const FORMAT_VERSION: i64 = 1_008_005;

/// Ids only tell programs apart, so one counter for the process is enough.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Program {
    /// A program with an empty block 0.
    pub fn new() -> Program {
        Program::from_blocks(vec![Block::new(0, None)])
    }

    /// A program of these blocks.
    pub fn from_blocks(blocks: Vec<Block>) -> Program {
        Program {
            blocks,
            random_seed: 0,
            format_version: FORMAT_VERSION,
            op_versions: OpVersions::default(),
            memory: MemoryPlan::default(),
            backward_passes: 0,
            unknown: Vec::new(),
            unknown_inside: UnknownInside::default(),
            explicit: Explicit::default(),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            version: 0,
        }
    }

    /// Tells this program from every other of the process; a clone has an id of its own.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Grows whenever the program may have changed.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Says that the program changed.
    pub fn touch(&mut self) {
        self.version += 1;
    }

    /// All blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// All blocks, to change.
    pub fn blocks_mut(&mut self) -> &mut Vec<Block> {
        self.touch();
        &mut self.blocks
    }

    /// A block.
    ///
    /// # Panics
    /// If there is no such block. Indices from outside are checked by the verifier.
    pub fn block(&self, idx: usize) -> &Block {
        &self.blocks[idx]
    }

    /// A block, to change.
    ///
    /// # Panics
    /// As [`Program::block`].
    pub fn block_mut(&mut self, idx: usize) -> &mut Block {
        self.touch();
        &mut self.blocks[idx]
    }

    /// Block 0.
    pub fn global(&self) -> &Block {
        self.block(0)
    }

    /// Block 0, to change.
    pub fn global_mut(&mut self) -> &mut Block {
        self.block_mut(0)
    }

    /// Adds a block inside `parent`; returns its index.
    pub fn add_block(&mut self, parent: usize) -> usize {
        let idx = self.blocks.len();
        self.blocks.push(Block::new(idx, Some(parent)));
        self.touch();
        idx
    }

    /// The block in which `name`, as seen from `block`, is declared: the block itself, then (for a block of gradients)
    /// the block it differentiates, then outwards. The block around a block of gradients differentiates the block around
    /// the forward one, so a gradient of a loop in a loop finds the gradients of the outer loop before those outside.
    pub fn resolve(&self, block: usize, name: &str) -> Option<usize> {
        let mut at = Some(block);
        // A well-formed program ends at block 0; the bound keeps a malformed one from looping.
        for _ in 0..=self.blocks.len() {
            let b = self.blocks.get(at?)?;
            let forward = b.forward.and_then(|f| self.blocks.get(f));
            if let Some(home) = [Some(b), forward].into_iter().flatten().find(|b| b.vars.contains_key(name)) {
                return Some(home.idx);
            }
            at = b.parent;
        }
        None
    }

    /// The variable that `name` means in `block`.
    pub fn find_var(&self, block: usize, name: &str) -> Option<&Var> {
        self.resolve(block, name).and_then(|b| self.blocks[b].var(name))
    }

    /// The variable that `name` means in `block`, to change.
    pub fn find_var_mut(&mut self, block: usize, name: &str) -> Option<&mut Var> {
        let b = self.resolve(block, name)?;
        self.touch();
        self.blocks[b].vars.get_mut(name)
    }

    /// The variable that `name` means in `block`, or an error that says it does not exist.
    pub fn expect_var(&self, block: usize, name: &str) -> Result<&Var> {
        match self.find_var(block, name) {
            Some(v) => Ok(v),
            None => fail!(Kind::Unknown, "there is no variable `{name}` in block {block} or around it"),
        }
    }

    /// All variables of all blocks.
    pub fn vars(&self) -> impl Iterator<Item = &Var> {
        self.blocks.iter().flat_map(|b| b.vars.values())
    }

    /// The parameters, in the order they were made.
    pub fn parameters(&self) -> impl Iterator<Item = &Var> {
        self.global().vars.values().filter(|v| v.meta.is_parameter)
    }
}

impl Default for Program {
    fn default() -> Program {
        Program::new()
    }
}

impl Clone for Program {
    fn clone(&self) -> Program {
        Program {
            blocks: self.blocks.clone(),
            random_seed: self.random_seed,
            format_version: self.format_version,
            op_versions: self.op_versions.clone(),
            memory: self.memory.clone(),
            backward_passes: self.backward_passes,
            unknown: self.unknown.clone(),
            unknown_inside: self.unknown_inside.clone(),
            explicit: self.explicit,
            ..Program::new()
        }
    }
}

impl PartialEq for Program {
    /// The same contents; identities differ.
    fn eq(&self, other: &Program) -> bool {
        self.blocks == other.blocks
            && self.random_seed == other.random_seed
            && self.format_version == other.format_version
            && self.op_versions == other.op_versions
            && self.memory == other.memory
            && self.unknown == other.unknown
            && self.unknown_inside == other.unknown_inside
    }
}

#[test]
fn a_gradient_of_a_loop_in_a_loop_looks_inside_out() {
    use crate::{VarType, grad_name};
    let mut program = Program::new();
    let (outer, inner) = (program.add_block(0), program.add_block(1));
    let (outer_grad, inner_grad) = (program.add_block(0), program.add_block(3));
    program.block_mut(outer_grad).forward = Some(outer);
    program.block_mut(inner_grad).forward = Some(inner);
    let declare = |program: &mut Program, block: usize, name: Name| {
        program.block_mut(block).set_var(Var::new(name, VarType::tensor(oarlock_tensor::DType::F32, Vec::new())));
    };
    for block in [0, outer] {
        declare(&mut program, block, "x".into());
    }
    for block in [0, outer_grad] {
        declare(&mut program, block, grad_name("x"));
    }
    // Gradients and values of the outer loop stand nearer than those outside.
    assert_eq!(program.resolve(inner_grad, "x@GRAD"), Some(outer_grad));
    assert_eq!(program.resolve(inner_grad, "x"), Some(outer));
    assert_eq!(program.resolve(inner, "x@GRAD"), Some(0));
}
