//! Packing the weights of layers: each is put once into the order in which products read it.

use std::collections::{BTreeSet, HashSet};

use oarlock_exec::{Executor, Scope};
use oarlock_ir::{Attr, Dim, Name, Op, Program, Result, Var, VarType};
use oarlock_tensor::DType;
use oarlock_tensor::gemm::Packed;

/// The layers of a planned program read packed weights from now on; the scope gets them.
pub(super) fn pack_weights(executor: &Executor, mut program: Program, scope: &Scope) -> Result<Program> {
    let weights = packable(&program);
    let mut packing = Program::new();
    for weight in &weights {
        let Some(var) = program.global().var(weight).cloned() else { continue };
        let packed = packed_var(&var);
        packing.global_mut().ops.push(Op::new("pack_weights").input("X", [weight]).output("Out", [&packed.name]));
        packing.global_mut().set_var(var);
        packing.global_mut().set_var(packed.clone());
        program.global_mut().set_var(packed);
    }
    let layers = program.global().ops.iter().map(|op| packed_layer(&program, op, &weights)).collect::<Vec<_>>();
    for (op, layer) in program.global_mut().ops.iter_mut().zip(layers) {
        if let Some(layer) = layer {
            *op = layer;
        }
    }
    executor.run(&packing, &[], &[], scope)?;
    Ok(program)
}

/// The variable that holds the packed elements of a weight.
fn packed_var(weight: &Var) -> Var {
    let mut var = Var::new(format!("{}@PACKED", weight.name), VarType::tensor(weight.ty().dtype, vec![Dim::Any]));
    var.persistable = true;
    var
}

/// Weights of layers that nothing changes, and that are wide enough.
fn packable(program: &Program) -> BTreeSet<Name> {
    let ops = || program.blocks().iter().flat_map(|b| &b.ops);
    let written: HashSet<&Name> = ops().flat_map(|op| op.outputs.args()).collect();
    let weights = program.global().ops.iter().filter(|op| op.op_type == "fused_fc").flat_map(|op| op.inputs.get("Y"));
    weights.filter(|n| !written.contains(n) && columns(program, n).is_some()).cloned().collect()
}

/// The columns of a matrix of f32 that is worth packing.
fn columns(program: &Program, weight: &Name) -> Option<usize> {
    let var = program.global().var(weight).filter(|v| v.persistable && v.ty().dtype == DType::F32)?;
    match var.shape[..] {
        [Dim::Is(_), Dim::Is(columns)] if Packed::<f32>::is_worth_it(columns) => Some(columns),
        _ => None,
    }
}

/// The layer with packed weights in place of an operator, if it is one of those.
fn packed_layer(program: &Program, op: &Op, weights: &BTreeSet<Name>) -> Option<Op> {
    let weight = op.inputs.get("Y").first().filter(|n| op.op_type == "fused_fc" && weights.contains(*n))?;
    let columns = i32::try_from(columns(program, weight)?).ok()?;
    let copied = |name: &str, default: Attr| op.attrs.get(name).cloned().unwrap_or(default);
    let mut layer = Op::new("packed_fc")
        .input("X", op.inputs.get("X"))
        .input("W", [format!("{weight}@PACKED")])
        .input("Bias", op.inputs.get("Bias"))
        .output("Out", op.outputs.get("Out"))
        .attr("columns", columns)
        .attr("x_num_col_dims", copied("x_num_col_dims", Attr::Int(1)))
        .attr("activation", copied("activation", Attr::String(String::new())));
    layer.site = op.call_site();
    Some(layer)
}
