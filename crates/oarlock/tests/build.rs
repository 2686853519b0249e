//! The building context: call sites, names, scopes, errors.

use oarlock::prelude::*;
use oarlock::{CallSite, Error};
use oarlock_ir::{Attr, Op, Role};

fn sites(net: &Net) -> Vec<String> {
    let site = |op: &Op| op.call_site().map_or(String::new(), |s| s.to_string());
    net.main.global().ops.iter().map(site).collect()
}

#[test]
fn operators_carry_the_line_that_called_the_layer() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([4])).unwrap();
    let line = line!() + 1;
    let y = net.fc(&x, Fc::size(3).act("relu")).unwrap();
    net.mse_loss(&y, &y).unwrap();
    let file = file!();
    let [first, second] = [format!("{file}:{line}"), format!("{file}:{}", line + 1)];
    assert_eq!(sites(&net), [&first, &first, &first, &second, &second, &second].map(String::as_str));
    let stack = net.main.global().ops[0].attrs.get("op_callstack");
    assert_eq!(stack, Some(&Attr::Strings(vec![format!("  File \"{file}\", line {line}")])));
}

#[test]
fn a_schedule_and_an_optimizer_carry_the_line_that_called_them() {
    let mut net = Net::new();
    let line = line!() + 1;
    net.exponential_decay(0.1, 10.0, 0.5, true).unwrap();
    assert!(sites(&net).iter().all(|site| *site == format!("{}:{line}", file!())), "{:?}", sites(&net));
}

#[test]
fn a_front_end_says_where_its_user_is() {
    let mut net = Net::new();
    net.set_call_site(Some(CallSite { file: "train.py".into(), line: 41, function: Some("build_net".into()) }));
    let x = net.data("x", Data::shape([4])).unwrap();
    net.relu(&x).unwrap();
    assert_eq!(sites(&net), ["train.py:41 in build_net"]);
}

#[test]
fn names_and_scopes() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([4])).unwrap();
    let a = net.named("my").fc(&x, Fc::size(3)).unwrap();
    let b = net.named("my").fc(&x, Fc::size(3)).unwrap();
    assert_eq!([a.name().as_str(), b.name().as_str()], ["my.tmp_1", "my.tmp_3"]);
    let params: Vec<String> = net.main.parameters().map(|p| p.name.to_string()).collect();
    assert_eq!(params, ["my.w_0", "my.b_0", "my.w_1", "my.b_1"]);
    net.relu(&x).unwrap();
    let c = net.with_names(UniqueNames::new(), |net| net.relu(&x)).unwrap();
    assert_eq!(c.name().as_str(), "relu_0.tmp_0");
    net.name_scope("blk", |net| net.relu(&x)).unwrap();
    let scope = net.main.global().ops.last().unwrap().attrs.get("op_namescope").cloned();
    assert_eq!(scope, Some(Attr::String("/blk/".into())));
}

#[test]
fn a_shared_parameter_is_initialised_once() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([4])).unwrap();
    let shared = || Fc::size(3).param_attr("w").bias_attr(false);
    net.fc(&x, shared()).unwrap();
    net.fc(&x, shared()).unwrap();
    assert_eq!(net.startup.global().ops.len(), 1);
    let error = net.fc(&x, Fc::size(2).param_attr("w")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error[argument]: parameter `w` is shared, but it is f32[4, 3] there and f32[4, 2] here\n  \
         help: parameters of one name must have one shape and dtype"
    );
}

#[test]
fn a_parameter_of_no_layer_is_called_as_it_was_named() {
    let mut net = Net::new();
    let of = |attr: ParamAttr, net: &mut Net| net.create_parameter(&[2], DType::F32, &attr).unwrap().name().to_string();
    assert_eq!(of(ParamAttr::new(), net.named("w")), "w");
    assert_eq!(of(ParamAttr::name("v"), net.named("w")), "v");
    assert_eq!(of(ParamAttr::new(), &mut net), "create_parameter_0.w_0");
    assert_eq!(net.named("b").create_bias(&[2], DType::F32, &ParamAttr::new()).unwrap().name().as_str(), "b");
}

#[test]
fn data_that_is_declared_again_keeps_its_type() {
    let mut net = Net::new();
    net.data("x", Data::shape([4])).unwrap();
    net.data("x", Data::shape([4])).unwrap();
    let text = |made: Result<VarRef>| made.unwrap_err().to_string();
    assert_eq!(
        text(net.data("x", Data::shape([5]))),
        "error[argument]: variable `x` has been created before: it is f32[?, 4] there and f32[?, 5] here\n  \
         help: give it another name, or build in a program of its own (program_guard)"
    );
    for other in [Data::shape([4]).dtype(DType::I64), Data::shape([4]).lod_level(1)] {
        assert!(text(net.data("x", other)).contains("`x` has been created before"));
    }
    net.create_parameter(&[2], DType::F32, &ParamAttr::name("w")).unwrap();
    let again = net.checked_data("w", &[2], DType::F32, 0);
    assert!(text(again).contains("it is persistable there and not persistable here"));
}

#[test]
fn seeds_are_copied_into_random_operators() {
    let mut net = Net::new();
    net.seed(7);
    let x = net.data("x", Data::shape([4])).unwrap();
    let y = net.fc(&x, Fc::size(3).bias_attr(false)).unwrap();
    net.dropout(&y, Dropout::prob(0.5)).unwrap();
    assert_eq!(net.startup.global().ops[0].attrs.get("seed"), Some(&Attr::Int(7)));
    let dropout = net.main.global().ops.last().unwrap();
    assert_eq!(dropout.attrs.get("seed"), Some(&Attr::Int(7)));
    assert_eq!(dropout.attrs.get("fix_seed"), Some(&Attr::Bool(true)));
}

#[test]
fn a_failed_block_is_left() {
    let mut net = Net::new();
    let (a, b) = (net.zeros([1], DType::F32).unwrap(), net.zeros([1], DType::F32).unwrap());
    let cond = net.less_than(&a, &b, Compare::new()).unwrap();
    let failed = While::new(&mut net, &cond).unwrap().block(&mut net, |net| {
        let unknown = VarRef::new("missing", 0);
        net.relu(&unknown).map(|_| ())
    });
    assert_eq!(
        failed.unwrap_err().to_string(),
        "error[unknown]: there is no variable `missing` in block 0 or around it"
    );
    assert_eq!(net.block(), 0);
}

fn text<T>(result: Result<T>) -> String {
    result.err().map_or_else(|| "no error".into(), |e: Error| e.to_string())
}

#[test]
fn mistakes_are_named() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([4])).unwrap();
    let ids = net.data("ids", Data::shape([1]).dtype(DType::I64)).unwrap();
    assert_eq!(
        text(net.fc(&x, Fc::size(3).num_flatten_dims(2))),
        "error[argument]: num_flatten_dims is 2, but `x` has shape [?, 4]"
    );
    assert_eq!(
        text(net.embedding(&ids, Embedding::size(10, 4).padding_idx(Some(10)))),
        "error[range]: padding_idx is 10, but the table has 10 rows"
    );
    assert_eq!(
        text(net.conv2d(&x, Conv::new(6, 3))),
        "error[shape]: `conv2d` needs 4 dimensions, but `x` has shape [?, 4]\n  \
         help: reshape it to batch, channels and sizes"
    );
    assert_eq!(
        text(net.add(&ids, 0.5)),
        "error[dtype]: `ids` holds i64, so 0.5 cannot be combined with it; cast it to float32 first"
    );
    assert_eq!(
        text(net.piecewise_decay(&[1.0], &[0.1])),
        "error[argument]: `piecewise_decay` needs one value more than boundaries, but has 1 and 1"
    );
    let y = net.relu(&x).unwrap();
    assert_eq!(
        text(optimizer::sgd(0.1).minimize(&mut net, &y)),
        "error[shape]: a loss to minimize is one number, but `relu_0.tmp_0` is f32[?, 4]\n  \
         help: take the mean of it, as in mean(relu_0.tmp_0), and minimize that"
    );
}

#[test]
fn another_program_can_be_built_in_between() {
    let mut net = Net::new();
    let (mut main, mut startup) = (Program::new(), Program::new());
    net.with_programs(&mut main, &mut startup, |net| {
        let x = net.data("x", Data::shape([4]))?;
        net.fc(&x, Fc::size(3))
    })
    .unwrap();
    assert_eq!((main.global().ops.len(), startup.global().ops.len()), (2, 2));
    assert!(net.main.global().ops.is_empty() && net.startup.global().ops.is_empty());
}

#[test]
fn an_error_clip_follows_the_gradient() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([4])).unwrap();
    let hidden = net.fc(&x, Fc::size(3)).unwrap();
    net.set_error_clip(&hidden, -1.0, 1.0);
    let loss = net.mean(&hidden).unwrap();
    optimizer::sgd(0.1).backward(&mut net, &loss).unwrap();
    let ops: Vec<&Op> = net.main.global().ops.iter().filter(|op| op.role() == Role::BACKWARD).collect();
    let at = ops.iter().position(|op| op.op_type == "clip").expect("a clip");
    assert_eq!(ops[at - 1].op_type, "mean_grad");
    assert_eq!(ops[at].inputs.get("X"), ops[at].outputs.get("Out"));
}

#[test]
fn rows_are_merged_before_a_global_norm() {
    let mut net = Net::new();
    let ids = net.data("ids", Data::shape([1]).dtype(DType::I64)).unwrap();
    let rows = net.embedding(&ids, Embedding::size(10, 4).is_sparse(true)).unwrap();
    let loss = net.mean(&rows).unwrap();
    let clip = Clip::GlobalNorm { norm: 1.0, group: "default_group".into() };
    optimizer::sgd(0.1).grad_clip(clip).minimize(&mut net, &loss).unwrap();
    let ops: Vec<&str> = net.main.global().ops.iter().map(|op| op.op_type.as_str()).collect();
    assert_eq!(
        ops[5..],
        [
            "merge_selected_rows",
            "get_tensor_from_selected_rows",
            "square",
            "reduce_sum",
            "sum",
            "sqrt",
            "fill_constant",
            "elementwise_max",
            "elementwise_div",
            "elementwise_mul",
            "sgd"
        ]
    );
}

#[test]
fn a_parameter_without_a_clip_keeps_its_gradient() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([4])).unwrap();
    let y = net.fc(&x, Fc::size(3)).unwrap();
    let loss = net.mean(&y).unwrap();
    net.set_gradient_clip(&Clip::Norm(1.0), Some(&[&VarRef::new("fc_0.w_0", 0)])).unwrap();
    optimizer::sgd(0.1).minimize(&mut net, &loss).unwrap();
    let grads: Vec<String> = net
        .main
        .global()
        .ops
        .iter()
        .filter(|op| op.op_type == "sgd")
        .map(|op| op.inputs.get("Grad")[0].to_string())
        .collect();
    assert_eq!(grads, ["fc_0.b_0@GRAD", "clip_by_norm_0.tmp_0"]);
}

#[test]
fn gradients_by_inputs() {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([4]).stop_gradient(false)).unwrap();
    let other = net.data("other", Data::shape([4]).stop_gradient(false)).unwrap();
    let y = net.square(&x).unwrap();
    let found = net.gradients(&[&y], &[&x, &other], None, &Default::default()).unwrap();
    assert_eq!(found, [Some(VarRef::new("x@GRAD", 0)), None]);
}

#[test]
fn branches_and_loops_carry_the_line_that_called_them() {
    let mut net = Net::new();
    let a = net.zeros([1], DType::F32).unwrap();
    let pred = net.less_than(&a, &a, Compare::new()).unwrap();
    let line = line!() + 1;
    net.cond(&pred, |_| Ok(vec![a.clone()]), |_| Ok(vec![a.clone()])).unwrap();
    let ops = net.main.blocks().iter().skip(1).flat_map(|b| &b.ops);
    let sites: Vec<String> = ops.map(|op| op.call_site().unwrap().to_string()).collect();
    assert_eq!(sites, vec![format!("{}:{line}", file!()); 2]);
}
