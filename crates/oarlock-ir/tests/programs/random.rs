//! Random programs survive as text and as bytes.

use indexmap::IndexMap;
use oarlock_ir::{
    Attr, Block, Clip, Decay, Dim, MemoryPlan, Name, Op, Program, Shape, Slots, Var, VarDType, VarKind, VarMeta,
    VarType,
};
use oarlock_tensor::DType;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Blocks of every random program; attributes refer to them.
const BLOCKS: usize = 3;

fn name() -> impl Strategy<Value = Name> {
    let odd =
        ["", "var", "block", "program", "a b", "\"quoted\"", "x@GRAD", "a\\b", "line\nline", "#", "名前", "[x]", "}"];
    prop_oneof!["[a-z]{1,4}(_[0-9])?(\\.w_0)?", select(odd.to_vec()).prop_map(str::to_string), "\\PC{0,6}"]
        .prop_map(Name::from)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,8}", ".{0,4}", Just("a\r\n\t\u{0}".to_string())]
}

fn float() -> impl Strategy<Value = f32> {
    prop_oneof![any::<f32>().prop_filter("NaN is not equal to itself", |v| !v.is_nan()), Just(0.1), Just(1.0)]
}

fn double() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("NaN is not equal to itself", |v| !v.is_nan())
}

fn small<S: Strategy>(item: S) -> impl Strategy<Value = Vec<S::Value>>
where
    S::Value: std::fmt::Debug,
{
    vec(item, 0..4)
}

fn attr() -> impl Strategy<Value = Attr> {
    let block = || 0..BLOCKS;
    let scalars = prop_oneof![
        any::<i32>().prop_map(Attr::Int),
        float().prop_map(Attr::Float),
        text().prop_map(Attr::String),
        any::<bool>().prop_map(Attr::Bool),
        block().prop_map(Attr::Block),
        any::<i64>().prop_map(Attr::Long),
        name().prop_map(Attr::Var),
        double().prop_map(Attr::Float64),
    ];
    let lists = prop_oneof![
        small(any::<i32>()).prop_map(Attr::Ints),
        small(float()).prop_map(Attr::Floats),
        small(text()).prop_map(Attr::Strings),
        small(any::<bool>()).prop_map(Attr::Bools),
        small(block()).prop_map(Attr::Blocks),
        small(any::<i64>()).prop_map(Attr::Longs),
        small(double()).prop_map(Attr::Float64s),
        small(name()).prop_map(Attr::Vars),
        // Type 16, and a scalar that is true.
        Just(Attr::Opaque(vec![0x10, 16, 0xa2, 1, 4, 8, 1, 16, 1])),
    ];
    prop_oneof![scalars, lists]
}

/// A field that no message has.
fn unknown() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![3 => Just(Vec::new()), 1 => any::<u8>().prop_map(|b| vec![0xf2, 0x3f, 1, b])]
}

fn slots() -> impl Strategy<Value = Slots> {
    small((name(), small(name()))).prop_map(Slots::from_iter)
}

fn op() -> impl Strategy<Value = Op> {
    let attrs = small((name(), attr()));
    let out = prop_oneof![slots(), name().prop_map(|n| Slots::from_iter([("Out", [n])]))];
    (name(), slots(), out, attrs, any::<bool>(), proptest::option::of(name()), unknown()).prop_map(
        |(op_type, inputs, outputs, attrs, is_target, site, unknown)| {
            let mut op = Op::new(op_type);
            (op.inputs, op.outputs, op.is_target, op.site, op.unknown) = (inputs, outputs, is_target, site, unknown);
            op.attrs = attrs.into_iter().collect();
            op
        },
    )
}

fn shape() -> impl Strategy<Value = Shape> {
    small(prop_oneof![Just(Dim::Any), (0..1_000_000usize).prop_map(Dim::Is)]).prop_map(Shape)
}

fn dtype() -> impl Strategy<Value = DType> {
    select(DType::ALL.to_vec())
}

/// A type with what a file can say of the kind.
fn typed(var: &mut Var, kind: VarKind, dtype: VarDType, shape: Shape, lod_level: usize, reads: Vec<VarType>) {
    var.kind = kind;
    match kind {
        VarKind::Tensor | VarKind::TensorArray => (var.dtype, var.shape, var.lod_level) = (dtype, shape, lod_level),
        VarKind::SelectedRows => (var.dtype, var.shape) = (dtype, shape),
        VarKind::Reader => var.reads = reads,
        _ => {}
    }
}

fn var() -> impl Strategy<Value = Var> {
    let kinds = (7..=40).map(VarKind::from_proto).collect::<Vec<_>>();
    let dtypes = prop_oneof![dtype().prop_map(VarDType::Is), (30..40).prop_map(VarDType::Other)];
    let kind = prop_oneof![Just(VarKind::Tensor), select(kinds)];
    let read = (dtype(), shape(), 0..3usize).prop_map(|(d, s, l)| VarType::tensor(d, s).with_lod(l));
    let attrs = small((name(), prop_oneof![any::<i32>().prop_map(Attr::Int), text().prop_map(Attr::String)]));
    let flags = (any::<bool>(), any::<bool>());
    (name(), kind, dtypes, shape(), 0..3usize, small(read), flags, meta(), attrs, (unknown(), unknown())).prop_map(
        |(name, kind, dtype, shape, lod_level, reads, flags, meta, attrs, unknown)| {
            let mut var = Var::new(name, VarType::tensor(DType::F32, Shape::default()));
            typed(&mut var, kind, dtype, shape, lod_level, reads);
            (var.persistable, var.need_check_feed) = flags;
            (var.unknown, var.unknown_type) = unknown;
            (var.meta, var.attrs) = (meta, attrs);
            var
        },
    )
}

fn meta() -> impl Strategy<Value = VarMeta> {
    let clip = prop_oneof![
        (float(), float()).prop_map(|(min, max)| Clip::Value { min, max }),
        float().prop_map(Clip::Norm),
        (float(), text()).prop_map(|(norm, group)| Clip::GlobalNorm { norm, group }),
    ];
    let decay = prop_oneof![float().prop_map(Decay::L1), float().prop_map(Decay::L2)];
    let flags = any::<[bool; 6]>();
    (flags, float(), proptest::option::of(decay), proptest::option::of(clip)).prop_map(
        |(flags, learning_rate, regularizer, grad_clip)| {
            let [is_parameter, trainable, stop_gradient, is_data, do_model_average, is_distributed] = flags;
            VarMeta {
                is_parameter,
                trainable,
                stop_gradient,
                is_data,
                learning_rate,
                regularizer,
                grad_clip,
                do_model_average,
                is_distributed,
            }
        },
    )
}

fn block(idx: usize) -> impl Strategy<Value = Block> {
    let before = 0..idx.max(1);
    (small(var()), small(op()), before.clone(), proptest::option::of(before), unknown()).prop_map(
        move |(vars, ops, parent, forward, unknown)| {
            let mut block = Block::new(idx, (idx > 0).then_some(parent));
            block.forward = forward.filter(|_| idx > 0);
            block.vars = vars.into_iter().map(|v| (v.name.clone(), v)).collect::<IndexMap<_, _>>();
            (block.ops, block.unknown) = (ops, unknown);
            block
        },
    )
}

fn program() -> impl Strategy<Value = Program> {
    let blocks = (block(0), block(1), block(2)).prop_map(|(a, b, c)| vec![a, b, c]);
    let memory = (any::<bool>(), any::<bool>(), small(name()));
    let versions = (select(vec![0, 1_008_005, 2_006_002]), small((name(), any::<i32>())));
    (blocks, any::<i32>(), memory, versions, unknown(), unknown()).prop_map(
        |(blocks, seed, (share, release, keep), (version, map), compatible, unknown)| {
            let mut program = Program::from_blocks(blocks);
            program.random_seed = seed;
            program.memory = MemoryPlan { share, release, keep };
            program.format_version = version;
            program.op_versions.map = map;
            program.op_versions.compatible_map = compatible;
            program.unknown = unknown;
            program
        },
    )
}

/// Without what files of the program's release do not hold.
fn as_in_files(mut program: Program) -> Program {
    let newer = program.format_version >= 2_000_000;
    (program.random_seed, program.memory) = (0, MemoryPlan::default());
    for block in program.blocks_mut() {
        block.ops.iter_mut().for_each(|op| op.site = None);
        for var in block.vars.values_mut() {
            let (is_parameter, stop_gradient) = (var.meta.is_parameter && newer, var.meta.stop_gradient && newer);
            var.meta = VarMeta { is_parameter, stop_gradient, ..VarMeta::default() };
        }
    }
    program
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_keeps_everything(program in program()) {
        let text = program.to_text();
        prop_assert_eq!(Program::from_text(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?, program);
    }

    #[test]
    fn bytes_keep_what_files_hold(program in program()) {
        let bytes = program.to_bytes();
        let read = Program::from_bytes(&bytes).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(read.to_bytes(), bytes);
        prop_assert_eq!(read, as_in_files(program));
    }
}
