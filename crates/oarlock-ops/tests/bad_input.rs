//! What users feed wrongly: one operator of each family names itself, the slot and the variable; batches without rows work.

use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Dim, Op, Program, Registry, Shape, Var, VarType, append_op};
use oarlock_tensor::{Element, Lod, Tensor};

fn tensor<T: Element, const N: usize>(dims: [usize; N], data: &[T]) -> Tensor {
    Tensor::from_slice(dims, data).expect("as many as the shape says")
}

fn zeros<const N: usize>(dims: [usize; N]) -> Tensor {
    tensor(dims, &vec![0.0f32; dims.iter().product()])
}

fn sequences(mut tensor: Tensor, offsets: &[usize]) -> Tensor {
    tensor.set_lod(Lod::new(vec![offsets.to_vec()]));
    tensor
}

/// Runs one operator. Its variables have the names of the slots in small letters; their first size is unknown, so that mistakes in
/// it are found only when it runs.
fn run(op: Op, inputs: &[(&str, Tensor)], outputs: &[&str]) -> Result<Vec<Tensor>, String> {
    let registry = Arc::new(Registry::new(oarlock_ops::ops(), []));
    let mut program = Program::new();
    let mut op = op;
    for (slot, tensor) in inputs {
        let mut shape = Shape::from(tensor.dims());
        if let Some(first) = shape.0.first_mut() {
            *first = Dim::Any;
        }
        let ty = VarType::tensor(tensor.dtype(), shape).with_lod(tensor.lod().len());
        program.global_mut().set_var(Var::new(slot.to_lowercase(), ty));
        op = op.input(slot, [slot.to_lowercase().as_str()]);
    }
    for slot in outputs {
        let ty = VarType::tensor(oarlock_tensor::DType::F32, Shape::default());
        program.global_mut().set_var(Var::new(format!("{}.out", slot.to_lowercase()), ty));
        op = op.output(slot, [format!("{}.out", slot.to_lowercase()).as_str()]);
    }
    append_op(&mut program, 0, op, &registry).map_err(|e| e.to_string())?;
    let options = ExecOptions { registry, threads: 1, fuse: false, without_fusions: Vec::new(), check_nan_inf: false };
    let names: Vec<String> = inputs.iter().map(|(slot, _)| slot.to_lowercase()).collect();
    let feeds: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(inputs.iter().map(|(_, t)| t)).collect();
    let fetches: Vec<String> = outputs.iter().map(|slot| format!("{}.out", slot.to_lowercase())).collect();
    let fetches: Vec<&str> = fetches.iter().map(String::as_str).collect();
    Executor::new(options).run_tensors(&program, &feeds, &fetches, &Scope::new()).map_err(|e| e.to_string())
}

/// The error names the operator, and all of these.
#[track_caller]
fn fails(op: Op, inputs: &[(&str, Tensor)], outputs: &[&str], words: &[&str]) {
    let op_type = format!("`{}`", op.op_type);
    let Err(text) = run(op, inputs, outputs) else { panic!("{op_type} must fail") };
    for word in words.iter().copied().chain([op_type.as_str()]) {
        assert!(text.contains(word), "no {word} in: {text}");
    }
}

#[test]
fn ids_out_of_range() {
    let ids = |id: i64| tensor([2, 1], &[0, id]);
    let table = || zeros([3, 2]);
    fails(Op::new("lookup_table"), &[("Ids", ids(3)), ("W", table())], &["Out"], &["`Ids`", "3"]);
    let flat = tensor([2], &[0i64, -1]);
    fails(Op::new("gather"), &[("X", table()), ("Index", flat.clone())], &["Out"], &["`Index`", "-1"]);
    fails(Op::new("cross_entropy"), &[("X", zeros([2, 3])), ("Label", ids(7))], &["Y"], &["`Label`", "7"]);
    fails(Op::new("one_hot").attr("depth", 3), &[("X", ids(5))], &["Out"], &["`X`", "5"]);
    let updates = [("X", table()), ("Ids", tensor([1], &[9i64])), ("Updates", zeros([1, 2]))];
    fails(Op::new("scatter"), &updates, &["Out"], &["`Ids`", "9"]);
}

#[test]
fn sequences_that_do_not_fit() {
    let pool = || Op::new("sequence_pool").attr("pooltype", "SUM");
    fails(pool(), &[("X", zeros([3, 2]))], &["Out"], &["`X`", "LoD"]);
    let (three, two) = (sequences(zeros([3, 2]), &[0, 1, 3]), sequences(zeros([2, 2]), &[0, 2]));
    let words = ["`X`", "sequences"];
    fails(Op::new("sequence_expand_as"), &[("X", zeros([2, 2])), ("Y", two)], &["Out"], &words[..1]);
    let lstm = [("Input", zeros([3, 8])), ("Weight", zeros([2, 8])), ("Bias", zeros([1, 8]))];
    let outputs = ["Hidden", "Cell", "BatchGate", "BatchCellPreAct"];
    fails(Op::new("lstm").attr("use_peepholes", false), &lstm, &outputs, &["`Input`", "LoD"]);
    let crf = [("Emission", three), ("Transition", zeros([4, 2])), ("Label", tensor([3, 1], &[0i64, 1, 0]))];
    let outputs = ["Alpha", "EmissionExps", "TransitionExps", "LogLikelihood"];
    fails(Op::new("linear_chain_crf"), &crf, &outputs, &["`Label`", "LoD"]);
}

#[test]
fn wrong_ranks() {
    let conv = [("Input", zeros([1, 3, 4])), ("Filter", zeros([2, 3, 1, 1]))];
    fails(Op::new("conv2d"), &conv, &["Output"], &["`Input` = input"]);
    fails(Op::new("pool2d").attr("ksize", vec![2, 2]), &[("X", zeros([2, 3]))], &["Out"], &["`X` = x"]);
    let norm = [
        ("X", zeros([4])),
        ("Scale", zeros([4])),
        ("Bias", zeros([4])),
        ("Mean", zeros([4])),
        ("Variance", zeros([4])),
    ];
    let outputs = ["Y", "MeanOut", "VarianceOut", "SavedMean", "SavedVariance"];
    fails(Op::new("batch_norm"), &norm, &outputs, &["`X` = x"]);
    fails(Op::new("mul"), &[("X", zeros([2])), ("Y", zeros([2, 2]))], &["Out"], &["`X` = x"]);
    fails(Op::new("transpose2").attr("axis", vec![1, 0]), &[("X", zeros([2]))], &["Out", "XShape"], &["`X` = x"]);
}

#[test]
fn batches_without_rows() {
    let rows = |op: Op, inputs: &[(&str, Tensor)], out: &str| {
        let op_type = op.op_type.clone();
        run(op, inputs, &[out]).unwrap_or_else(|e| panic!("{op_type}: {e}")).remove(0).dims()[0]
    };
    assert_eq!(rows(Op::new("relu"), &[("X", zeros([0, 3]))], "Out"), 0);
    assert_eq!(rows(Op::new("softmax"), &[("X", zeros([0, 3]))], "Out"), 0);
    assert_eq!(rows(Op::new("mul"), &[("X", zeros([0, 3])), ("Y", zeros([3, 2]))], "Out"), 0);
    assert_eq!(rows(Op::new("elementwise_add"), &[("X", zeros([0, 3])), ("Y", zeros([3]))], "Out"), 0);
    let ids = tensor::<i64, 2>([0, 1], &[]);
    assert_eq!(rows(Op::new("lookup_table"), &[("Ids", ids), ("W", zeros([3, 2]))], "Out"), 0);
    let conv = [("Input", zeros([0, 3, 4, 4])), ("Filter", zeros([2, 3, 1, 1]))];
    assert_eq!(rows(Op::new("conv2d"), &conv, "Output"), 0);
    let sum = Op::new("reduce_sum").attr("dim", vec![1]);
    assert_eq!(rows(sum, &[("X", zeros([0, 3]))], "Out"), 0);
}
