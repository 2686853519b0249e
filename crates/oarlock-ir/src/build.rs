//! Appending operators to a program, with checks and shape inference.

use crate::error::Result;
use crate::infer::Infer;
use crate::registry::Registry;
use crate::{Op, Program, VarType};

/// Checks an operator against its signature and appends it to a block; sets the types of its outputs.
pub fn append_op(program: &mut Program, block: usize, op: Op, registry: &Registry) -> Result<()> {
    let at = program.block(block).ops.len();
    insert_op(program, block, at, op, registry)
}

/// Checks an operator against its signature and inserts it; sets the types of its outputs.
pub fn insert_op(program: &mut Program, block: usize, at: usize, op: Op, registry: &Registry) -> Result<()> {
    let types = infer(program, block, &op, registry).map_err(|e| e.at(|| op.place(block, at)))?;
    set_types(program, block, types);
    program.block_mut(block).ops.insert(at, op);
    Ok(())
}

/// The types of an operator's outputs, as they would be if it stood in `block`.
pub fn infer(program: &Program, block: usize, op: &Op, registry: &Registry) -> Result<Vec<(crate::Name, VarType)>> {
    let entry = registry.entry(&op.op_type)?;
    entry.sig.check(op)?;
    let mut cx = Infer::new(program, block, op, &entry.sig);
    entry.def.infer(&mut cx)?;
    Ok(cx.into_found())
}

/// Gives variables of `block`, or around it, the types that were inferred.
pub(crate) fn set_types(program: &mut Program, block: usize, types: Vec<(crate::Name, VarType)>) {
    for (name, ty) in types {
        if let Some(var) = program.find_var_mut(block, &name) {
            var.set_ty(ty);
        }
    }
}
