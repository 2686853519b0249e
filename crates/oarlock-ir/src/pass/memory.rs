//! `memory_optimize` and `release_memory`: how far plans of a program go to save memory.
//!
//! Fluid's passes renamed variables so that several used one. Ours leave every name alone and tell the plan what it may do,
//! so that any variable can still be fetched, sent or saved by its name.

use crate::{Attr, Name, Program, Role};

/// The variables that `memory_optimize` leaves alone.
#[derive(Debug, Clone, Default)]
pub struct MemoryOptions {
    /// Variables that keep memory of their own.
    pub skip: Vec<Name>,
    /// Gradients keep memory of their own, as a trainer that sends them needs.
    pub skip_grads: bool,
}

/// Lets variables of any size share memory, and operators overwrite values that are not needed any more. Returns warnings.
pub fn memory_optimize(program: &mut Program, options: &MemoryOptions) -> Vec<String> {
    if serves_parameters(program) {
        return vec![
            "memory_optimize does nothing on a pserver program: its variables belong to the trainers; \
             call it on the trainer's program before transpile"
                .into(),
        ];
    }
    let mut warnings = Vec::new();
    if communicates(program) {
        warnings.push(
            "memory_optimize after transpile: call it before transpile, so that both roles are made from one program"
                .into(),
        );
        if !options.skip_grads {
            warnings
                .push("memory_optimize of a trainer program: pass skip_grads=True, since gradients are sent".into());
        }
    }
    program.memory.share = true;
    keep(program, options);
    warnings
}

/// Gives memory back after its last use in a run, instead of keeping it for the next run. Slower, smaller. Returns warnings.
pub fn release_memory(program: &mut Program, options: &MemoryOptions) -> Vec<String> {
    if serves_parameters(program) {
        return vec!["release_memory does nothing on a pserver program: its variables belong to the trainers".into()];
    }
    program.memory.release = true;
    keep(program, options);
    Vec::new()
}

fn keep(program: &mut Program, options: &MemoryOptions) {
    let mut kept = options.skip.clone();
    if options.skip_grads {
        kept.extend(program.vars().filter(|v| v.name.contains(crate::GRAD)).map(|v| v.name.clone()));
    }
    for name in kept {
        if !program.memory.keep.contains(&name) {
            program.memory.keep.push(name);
        }
    }
    program.touch();
}

/// Does it communicate with other machines?
fn communicates(program: &Program) -> bool {
    program.blocks().iter().flat_map(|b| &b.ops).any(|op| op.role() != Role::UNSPECIFIED && op.role().has(Role::RPC))
}

/// Does it run blocks for other machines? Only a server's operator has a list of them.
fn serves_parameters(program: &Program) -> bool {
    let has_list = |op: &crate::Op| op.attrs.iter().any(|(_, attr)| matches!(attr, Attr::Blocks(_)));
    program.global().ops.iter().any(has_list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, Var, VarType};
    use oarlock_tensor::DType;

    fn with_op(mut op: Op, role: Role) -> Program {
        let mut p = Program::new();
        op.set_role(role);
        p.global_mut().ops.push(op);
        p.global_mut().set_var(Var::new("w@GRAD", VarType::tensor(DType::F32, vec![])));
        p
    }

    #[test]
    fn a_pserver_program_is_left_alone() {
        let mut p = with_op(Op::new("listen_and_serv").attr("optimize_blocks", Attr::Blocks(vec![1])), Role::FORWARD);
        let before = p.clone();
        assert_eq!(memory_optimize(&mut p, &MemoryOptions::default()).len(), 1);
        assert_eq!(p, before);
    }

    #[test]
    fn a_transpiled_trainer_is_warned_and_keeps_gradients() {
        let mut p = with_op(Op::new("send"), Role::RPC);
        assert_eq!(memory_optimize(&mut p, &MemoryOptions::default()).len(), 2);
        let options = MemoryOptions { skip_grads: true, ..MemoryOptions::default() };
        assert_eq!(memory_optimize(&mut p, &options).len(), 1);
        assert_eq!(p.memory.keep, ["w@GRAD"]);
        assert!(p.global().var("w@GRAD").is_some());
    }

    #[test]
    fn a_local_program_is_optimized_quietly() {
        let mut p = with_op(Op::new("relu"), Role::FORWARD);
        assert!(memory_optimize(&mut p, &MemoryOptions::default()).is_empty());
        assert!(release_memory(&mut p, &MemoryOptions::default()).is_empty());
        assert!(p.memory.share && p.memory.release);
    }
}
