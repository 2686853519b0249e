use expect_test::expect;

use super::*;
use crate::{Block, Name, Op, Shape, Var, VarDType, VarType};
use oarlock_tensor::DType;

fn tensor(name: &str, sizes: &[i64]) -> Var {
    Var::new(name, VarType::tensor(DType::F32, Shape::from_i64(sizes)))
}

fn fit_a_line() -> Program {
    let mut b = Block::new(0, None);
    let mut w = tensor("fc_0.w_0", &[13, 1]);
    w.persistable = true;
    w.meta.is_parameter = true;
    b.set_var(w);
    b.set_var(tensor("x", &[-1, 13])).need_check_feed = true;
    b.set_var(tensor("fc_0.tmp_0", &[-1, 1]));
    b.set_var(tensor("a name", &[-1, 1])).lod_level = 1;
    let mul = Op::new("mul").input("X", ["x"]).input("Y", ["fc_0.w_0"]).output("Out", ["fc_0.tmp_0"]);
    b.ops.push(mul.attr("x_num_col_dims", 1).attr("op_role", 0).attr("op_callstack", vec!["a \"line\"\n".to_string()]));
    let dropout = Op::new("dropout").input("X", ["fc_0.tmp_0"]).input("Seed", [] as [Name; 0]);
    let mut dropout = dropout.output("Out", ["a name"]).output("Mask", ["@EMPTY@"]);
    dropout.attrs.set("p", 0.5f32);
    dropout.attrs.set("shape", Vec::<i64>::new());
    dropout.attrs.set("seed", 3i64);
    dropout.site = Some("train.py:4 in net".into());
    b.ops.push(dropout);
    b.ops.push(Op::new("send").input("X", ["x", "a name"]));
    Program::from_blocks(vec![b])
}

#[test]
fn reads_like_a_program() {
    expect![[r#"
        program 1008005
        block 0 {
          var fc_0.w_0: f32[13, 1] persistable parameter
          var x: f32[?, 13] need_check_feed
          var fc_0.tmp_0: f32[?, 1]
          var "a name": f32[?, 1] lod 1
          fc_0.tmp_0 = mul(X: x, Y: fc_0.w_0) {x_num_col_dims: 1, op_role: 0, op_callstack: ["a \"line\"\n"]}
          Mask: @EMPTY@, Out: "a name" = dropout(Seed: [], X: fc_0.tmp_0) {p: 0.5, shape: longs[], seed: 3L} at "train.py:4 in net"
          send(X: [x, "a name"])
        }
    "#]]
    .assert_eq(&fit_a_line().to_text());
}

#[test]
fn a_summary_leaves_out_who_made_it() {
    let summary = fit_a_line().summary();
    assert!(summary.contains("  fc_0.tmp_0 = mul(X: x, Y: fc_0.w_0) {x_num_col_dims: 1}\n"), "{summary}");
}

#[test]
fn every_kind_of_variable() {
    let kinds = (7..30).map(VarKind::from_proto);
    let mut program = Program::new();
    for kind in kinds {
        let mut var = tensor(&format!("v{}", kind.proto()), &[]);
        var.kind = kind;
        program.global_mut().set_var(var);
    }
    program.global_mut().set_var(tensor("size", &[2])).dtype = VarDType::Other(19);
    let text = program.to_text();
    assert!(text.contains("  var v8: rows f32[]\n  var v9: feed_list\n"), "{text}");
    assert!(text.contains("  var v29: kind29\n  var size: type19[2]\n"), "{text}");
    assert_eq!(Program::from_text(&text).unwrap(), program);
}

#[test]
fn nan_keeps_its_bits() {
    for bits in [0x7fc0_0000u32, 0xffc0_000d, 0x7f80_0001] {
        let text = Attr::Float(f32::from_bits(bits)).to_string();
        let program = Program::from_text(&format!("block 0 {{\n f() {{a: {text}}}\n}}")).unwrap();
        assert!(
            matches!(program.global().ops[0].attrs.get("a"), Some(Attr::Float(v)) if v.to_bits() == bits),
            "{text}"
        );
    }
    let text = Attr::Float64s(vec![f64::from_bits(0x7ff8_0000_0000_000d), f64::INFINITY]).to_string();
    assert_eq!(text, "[nan7ff800000000000dd, infd]");
    let program = Program::from_text(&format!("block 0 {{\n f() {{a: {text}}}\n}}")).unwrap();
    assert_eq!(program.global().ops[0].attrs.get("a").unwrap().to_string(), text);
}

#[test]
fn mistakes_have_a_line() {
    let error = |text: &str| Program::from_text(text).unwrap_err().to_string();
    expect![[r#"
        error[format]: `:` should stand here
          at line 3 of the program's text, before `f32[2]`
          help: `Program::to_text` writes what is read here; compare the line with its output"#]]
    .assert_eq(&error("program 1\nblock 0 {\nvar x f32[2]\n}"));
    let what = |text: &str| error(text).lines().next().unwrap_or("").to_string();
    let in_block = |line: &str| what(&format!("block 0 {{\n{line}\n}}"));
    assert_eq!(what(""), "error[format]: there is no `block 0 {`");
    assert_eq!(what("block 0 {"), "error[format]: the last block is not closed with `}`");
    assert_eq!(what("block 1 {"), "error[format]: blocks stand in order; the next one is 0");
    assert_eq!(in_block("var x: f33[]"), "error[format]: `f33` is not a type");
    assert_eq!(
        in_block("f() {a: [1, 2L]}"),
        "error[format]: the elements of a list should all be of one type; an empty one names it, as in `ints[]`"
    );
    assert_eq!(in_block("f() {a: oops}"), "error[format]: `oops` is not a value");
    assert_eq!(in_block("f() {a: 1, a: 2}"), "error[format]: attribute `a` is given twice");
    assert_eq!(in_block("f(X: a, X: b)"), "error[format]: slot `X` is given twice");
    assert_eq!(in_block("f() oops"), "error[format]: `oops` means nothing here");
    assert_eq!(in_block("f(X: \"a)"), "error[format]: the text is not closed with `\"`");
}
