//! From a program to text.

use std::fmt::Write;

use oarlock_tensor::DType;

use super::{BOOKKEEPING, KINDS, is_bare};
use crate::{
    Attr, Block, Clip, Decay, Name, Op, Program, Shape, Slots, UnknownInside, Var, VarDType, VarKind, VarMeta, VarType,
};

/// Prints programs.
pub(super) struct Printer {
    /// Prints call stacks, roles and name scopes, too?
    pub(super) bookkeeping: bool,
}

impl Printer {
    pub(super) fn program(&self, p: &Program) -> String {
        let mut out = self.header(p);
        for b in p.blocks() {
            self.block(&mut out, b);
        }
        out
    }

    fn header(&self, p: &Program) -> String {
        let mut s = format!("program {}", p.format_version);
        if p.random_seed != 0 {
            s += &format!(" seed {}", p.random_seed);
        }
        s += if p.memory.share { " share" } else { "" };
        s += if p.memory.release { " release" } else { "" };
        if !p.memory.keep.is_empty() {
            s += &format!(" keep {}", list(&p.memory.keep, |n| name(n)));
        }
        if !p.op_versions.map.is_empty() {
            s += &format!(" versions {{{}}}", join(p.op_versions.map.iter().map(|(n, v)| format!("{}: {v}", name(n)))));
        }
        if self.bookkeeping && !p.op_versions.compatible_map.is_empty() {
            s += &format!(" compatible {}", hex(&p.op_versions.compatible_map));
        }
        s + &unknown(&p.unknown) + &unknown_inside(&p.unknown_inside) + "\n"
    }

    fn block(&self, out: &mut String, b: &Block) {
        *out += &format!("block {}", b.idx);
        if let Some(parent) = b.parent {
            *out += &format!(" in {parent}");
        }
        if let Some(forward) = b.forward {
            *out += &format!(" forward {forward}");
        }
        *out += &unknown(&b.unknown);
        out.push_str(" {\n");
        for v in b.vars.values() {
            *out += &format!("  var {}: {}\n", name(&v.name), var(v));
        }
        for op in &b.ops {
            *out += &format!("  {}\n", self.op(op));
        }
        out.push_str("}\n");
    }

    fn op(&self, op: &Op) -> String {
        let mut s = outputs(&op.outputs);
        s += &format!("{}({})", name(&op.op_type), slots(&op.inputs));
        s += &self.attrs(op);
        if op.is_target {
            s += " target";
        }
        if let Some(site) = op.site.as_ref().filter(|_| self.bookkeeping) {
            s += &format!(" at {}", quoted(site));
        }
        s + &unknown(&op.unknown) + &unknown_inside(&op.unknown_inside)
    }

    fn attrs(&self, op: &Op) -> String {
        let shown = |n: &Name| self.bookkeeping || !BOOKKEEPING.contains(&n.as_str());
        let attrs = op.attrs.iter().filter(|(n, _)| shown(n)).map(|(n, a)| attr(n, a));
        match join(attrs) {
            text if text.is_empty() => text,
            text => format!(" {{{text}}}"),
        }
    }
}

fn var(v: &Var) -> String {
    let mut s = var_type(v.kind, v.dtype, &v.shape, v.lod_level);
    s += if v.persistable { " persistable" } else { "" };
    s += if v.need_check_feed { " need_check_feed" } else { "" };
    s += &meta(&v.meta);
    if !v.reads.is_empty() {
        let ty = |t: &VarType| var_type(t.kind, VarDType::Is(t.dtype), &t.shape, t.lod_level);
        s += &format!(" reads ({})", join(v.reads.iter().map(ty)));
    }
    if !v.attrs.is_empty() {
        s += &format!(" {{{}}}", join(v.attrs.iter().map(|(n, a)| attr(n, a))));
    }
    if !v.unknown_type.is_empty() {
        s += &format!(" unknown_type {}", hex(&v.unknown_type));
    }
    s + &unknown(&v.unknown) + &unknown_inside(&v.unknown_inside)
}

fn var_type(kind: VarKind, dtype: VarDType, shape: &Shape, lod_level: usize) -> String {
    let elements = elements(dtype, shape, lod_level);
    let word = match kind {
        VarKind::Tensor => return elements,
        VarKind::Other(number) => format!("kind{number}"),
        // Every kind but these two is in the table.
        _ => KINDS.iter().find(|(_, k)| *k == kind).map_or_else(String::new, |(word, _)| (*word).into()),
    };
    let has_elements = matches!(kind, VarKind::SelectedRows | VarKind::TensorArray);
    let says_nothing = dtype == VarDType::Is(DType::F32) && shape.is_empty() && lod_level == 0;
    if says_nothing && !has_elements { word } else { format!("{word} {elements}") }
}

fn elements(dtype: VarDType, shape: &Shape, lod_level: usize) -> String {
    let mut s = match dtype {
        VarDType::Is(dtype) => format!("{dtype}{shape}"),
        VarDType::Other(number) => format!("type{number}{shape}"),
    };
    if lod_level > 0 {
        s += &format!(" lod {lod_level}");
    }
    s
}

fn meta(m: &VarMeta) -> String {
    let flags = [
        (m.is_parameter, " parameter"),
        (!m.trainable, " not_trainable"),
        (m.stop_gradient, " stop_gradient"),
        (m.is_data, " data"),
        (m.do_model_average, " average"),
        (m.is_distributed, " distributed"),
    ];
    let mut s: String = flags.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
    if m.learning_rate != 1.0 {
        s += &format!(" lr {}", float(m.learning_rate));
    }
    if let Some(decay) = m.regularizer {
        s += &match decay {
            Decay::L1(c) => format!(" l1 {}", float(c)),
            Decay::L2(c) => format!(" l2 {}", float(c)),
        };
    }
    if let Some(clip) = &m.grad_clip {
        s += &match clip {
            Clip::Value { min, max } => format!(" clip_value {} {}", float(*min), float(*max)),
            Clip::Norm(norm) => format!(" clip_norm {}", float(*norm)),
            Clip::GlobalNorm { norm, group } => format!(" clip_global_norm {} {}", float(*norm), quoted(group)),
        };
    }
    s
}

fn outputs(outputs: &Slots) -> String {
    let mut all = outputs.iter();
    match (all.next(), all.next()) {
        (None, _) => String::new(),
        (Some((slot, [only])), None) if slot == "Out" => format!("{} = ", name(only)),
        _ => format!("{} = ", slots(outputs)),
    }
}

fn slots(slots: &Slots) -> String {
    join(slots.iter().map(|(slot, args)| match args {
        [only] => format!("{}: {}", name(slot), name(only)),
        args => format!("{}: {}", name(slot), list(args, |n| name(n))),
    }))
}

fn attr(n: &Name, a: &Attr) -> String {
    format!("{}: {}", name(n), literal(a))
}

/// The literal of an attribute.
pub(super) fn literal(a: &Attr) -> String {
    match a {
        Attr::Int(v) => v.to_string(),
        Attr::Float(v) => float(*v),
        Attr::String(v) => quoted(v),
        Attr::Ints(v) => typed_list("ints", v, |x| x.to_string()),
        Attr::Floats(v) => typed_list("floats", v, |x| float(*x)),
        Attr::Strings(v) => typed_list("strings", v, |x| quoted(x)),
        Attr::Bool(v) => v.to_string(),
        Attr::Bools(v) => typed_list("bools", v, |x| x.to_string()),
        Attr::Block(v) => format!("block {v}"),
        Attr::Long(v) => format!("{v}L"),
        Attr::Blocks(v) => typed_list("blocks", v, |x| format!("block {x}")),
        Attr::Longs(v) => typed_list("longs", v, |x| format!("{x}L")),
        Attr::Float64s(v) => typed_list("doubles", v, |x| double(*x)),
        Attr::Var(v) => format!("var {}", name(v)),
        Attr::Vars(v) => typed_list("vars", v, |x| format!("var {}", name(x))),
        Attr::Float64(v) => double(*v),
        Attr::Opaque(v) => format!("opaque {}", hex(v)),
    }
}

/// The shortest text that reads back as the same number; a NaN with its bits.
fn float(v: f32) -> String {
    if v.is_nan() { format!("nan{:x}", v.to_bits()) } else { format!("{v:?}") }
}

fn double(v: f64) -> String {
    if v.is_nan() { format!("nan{:x}d", v.to_bits()) } else { format!("{v:?}d") }
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    format!("[{}]", join(items.iter().map(text)))
}

/// An empty list shows its type, since no element does.
fn typed_list<T>(kind: &str, items: &[T], text: impl Fn(&T) -> String) -> String {
    if items.is_empty() { format!("{kind}[]") } else { list(items, text) }
}

fn name(n: &str) -> String {
    if is_bare(n) { n.into() } else { quoted(n) }
}

fn quoted(text: &str) -> String {
    let mut s = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => s += "\\\"",
            '\\' => s += "\\\\",
            '\n' => s += "\\n",
            '\t' => s += "\\t",
            c if c.is_control() => s += &format!("\\u{{{:x}}}", c as u32),
            c => s.push(c),
        }
    }
    s + "\""
}

fn hex(bytes: &[u8]) -> String {
    let mut s = String::from("0x");
    for b in bytes {
        // Writing to a string cannot fail.
        let _ = write!(s, "{b:02x}");
    }
    s
}

fn unknown(bytes: &[u8]) -> String {
    if bytes.is_empty() { String::new() } else { format!(" unknown {}", hex(bytes)) }
}

fn unknown_inside(inside: &UnknownInside) -> String {
    inside.iter().map(|(place, bytes)| format!(" inside {} {}", quoted(place), hex(bytes))).collect()
}
