//! From text to a program.

use oarlock_tensor::DType;

use super::{KINDS, is_word};
use crate::{
    Attr, Block, Clip, Decay, Dim, Error, Kind, Name, Op, Program, Result, Shape, Slots, UnknownInside, Var, VarDType,
    VarKind, VarType,
};

/// Reads the text form of a program.
pub(super) fn program(text: &str) -> Result<Program> {
    let mut program = Program::from_blocks(Vec::new());
    let mut open = None;
    let mut end = Line::new(0, "");
    for (i, line) in text.lines().enumerate() {
        let mut line = Line::new(i + 1, line);
        end = Line::new(i + 1, "");
        if line.is_blank() {
            continue;
        }
        match open.take() {
            None => open = outside(&mut program, &mut line)?,
            Some(block) if line.eat("}") => program.blocks_mut().push(block),
            Some(mut block) => {
                inside(&mut block, &mut line)?;
                open = Some(block);
            }
        }
        line.end()?;
    }
    match open {
        Some(_) => Err(end.error("the last block is not closed with `}`")),
        None if program.blocks().is_empty() => Err(end.error("there is no `block 0 {`")),
        None => Ok(program),
    }
}

/// A line outside of blocks; returns the block that it opens.
fn outside(program: &mut Program, line: &mut Line) -> Result<Option<Block>> {
    match line.word()? {
        "program" => header(program, line).map(|()| None),
        "block" => block(program.blocks().len(), line).map(Some),
        other => Err(line.error(format!("`program` or `block` should start the line, not `{other}`"))),
    }
}

fn header(program: &mut Program, line: &mut Line) -> Result<()> {
    program.format_version = line.number()?;
    while !line.at_end() {
        match line.word()? {
            "seed" => program.random_seed = line.number()?,
            "share" => program.memory.share = true,
            "release" => program.memory.release = true,
            "keep" => program.memory.keep = line.list('[', ']', Line::name)?,
            "versions" => program.op_versions.map = line.list('{', '}', |l| l.pair(Line::number))?,
            "compatible" => program.op_versions.compatible_map = line.hex()?,
            other => unknown(other, line, &mut program.unknown, &mut program.unknown_inside)?,
        }
    }
    Ok(())
}

fn block(idx: usize, line: &mut Line) -> Result<Block> {
    let mut block = Block::new(idx, None);
    if line.number::<usize>()? != idx {
        return Err(line.error(format!("blocks stand in order; the next one is {idx}")));
    }
    while !line.eat("{") {
        match line.word()? {
            "in" => block.parent = Some(line.number()?),
            "forward" => block.forward = Some(line.number()?),
            "unknown" => block.unknown = line.hex()?,
            other => return Err(line.error(format!("`{other}` means nothing here"))),
        }
    }
    Ok(block)
}

/// A line inside of a block: a variable or an operator.
fn inside(block: &mut Block, line: &mut Line) -> Result<()> {
    if !line.eat_word("var") {
        block.ops.push(op(line)?);
        return Ok(());
    }
    let var = var(line)?;
    if block.vars.contains_key(&var.name) {
        return Err(line.error(format!("variable `{}` is declared twice", var.name)));
    }
    block.vars.insert(var.name.clone(), var);
    Ok(())
}

fn var(line: &mut Line) -> Result<Var> {
    let name = line.name()?;
    line.expect(":")?;
    let (ty, dtype) = var_type(line)?;
    let mut var = Var::new(name, ty);
    var.dtype = dtype;
    while !line.at_end() {
        if line.peek("{") {
            var.attrs = line.list('{', '}', |l| l.pair(attr))?;
            continue;
        }
        match line.word()? {
            "persistable" => var.persistable = true,
            "need_check_feed" => var.need_check_feed = true,
            "reads" => var.reads = line.list('(', ')', |l| var_type(l).map(|(ty, _)| ty))?,
            "unknown_type" => var.unknown_type = line.hex()?,
            other => var_meta(other, line, &mut var)?,
        }
    }
    Ok(var)
}

fn var_meta(word: &str, line: &mut Line, var: &mut Var) -> Result<()> {
    let meta = &mut var.meta;
    match word {
        "parameter" => meta.is_parameter = true,
        "not_trainable" => meta.trainable = false,
        "stop_gradient" => meta.stop_gradient = true,
        "data" => meta.is_data = true,
        "average" => meta.do_model_average = true,
        "distributed" => meta.is_distributed = true,
        "lr" => meta.learning_rate = line.float()?,
        "l1" => meta.regularizer = Some(Decay::L1(line.float()?)),
        "l2" => meta.regularizer = Some(Decay::L2(line.float()?)),
        "clip_value" => meta.grad_clip = Some(Clip::Value { min: line.float()?, max: line.float()? }),
        "clip_norm" => meta.grad_clip = Some(Clip::Norm(line.float()?)),
        "clip_global_norm" => {
            meta.grad_clip = Some(Clip::GlobalNorm { norm: line.float()?, group: line.string()? });
        }
        other => return unknown(other, line, &mut var.unknown, &mut var.unknown_inside),
    }
    Ok(())
}

/// The bytes of fields that this version does not know.
fn unknown(word: &str, line: &mut Line, here: &mut Vec<u8>, inside: &mut UnknownInside) -> Result<()> {
    match word {
        "unknown" => *here = line.hex()?,
        "inside" => {
            let place = line.string()?;
            inside.add(&place, &line.hex()?);
        }
        other => return Err(line.error(format!("`{other}` means nothing here"))),
    }
    Ok(())
}

/// A type; the element type once more by itself, because a [`VarType`] has only those that we hold.
fn var_type(line: &mut Line) -> Result<(VarType, VarDType)> {
    let mut ty = VarType::tensor(DType::F32, Shape::default());
    let mut dtype = VarDType::Is(DType::F32);
    let mut word = line.word()?;
    if let Some(kind) = kind(word) {
        ty.kind = kind;
        if !line.elements_follow() {
            return Ok((ty, dtype));
        }
        word = line.word()?;
    }
    match element_type(word) {
        Some(found) => dtype = found,
        None => return Err(line.error(format!("`{word}` is not a type"))),
    }
    if let VarDType::Is(d) = dtype {
        ty.dtype = d;
    }
    ty.shape = Shape(line.list('[', ']', dim)?);
    if line.eat_word("lod") {
        ty.lod_level = line.number()?;
    }
    Ok((ty, dtype))
}

fn kind(word: &str) -> Option<VarKind> {
    let known = KINDS.iter().find(|(w, _)| *w == word).map(|(_, kind)| *kind);
    known.or_else(|| Some(VarKind::Other(word.strip_prefix("kind")?.parse().ok()?)))
}

fn element_type(word: &str) -> Option<VarDType> {
    let known = DType::ALL.into_iter().find(|d| d.short() == word).map(VarDType::Is);
    known.or_else(|| Some(VarDType::Other(word.strip_prefix("type")?.parse().ok()?)))
}

fn dim(line: &mut Line) -> Result<Dim> {
    if line.eat("?") { Ok(Dim::Any) } else { line.number().map(Dim::Is) }
}

fn op(line: &mut Line) -> Result<Op> {
    let mut op = Op::new("");
    let first = line.name()?;
    if line.peek("(") {
        op.op_type = first;
    } else {
        outputs(&mut op.outputs, first, line)?;
        op.op_type = line.name()?;
    }
    for (slot, args) in line.list('(', ')', |l| l.pair(args))? {
        set_slot(&mut op.inputs, slot, args, line)?;
    }
    if line.peek("{") {
        for (name, value) in line.list('{', '}', |l| l.pair(attr))? {
            set_attr(&mut op, name, value, line)?;
        }
    }
    while !line.at_end() {
        match line.word()? {
            "target" => op.is_target = true,
            "at" => op.site = Some(line.string()?.into()),
            other => unknown(other, line, &mut op.unknown, &mut op.unknown_inside)?,
        }
    }
    Ok(op)
}

/// The part before `=`, of which the first name is read: one variable, or slots.
fn outputs(outputs: &mut Slots, first: Name, line: &mut Line) -> Result<()> {
    if line.eat("=") {
        outputs.set("Out", vec![first]);
        return Ok(());
    }
    line.expect(":")?;
    let mut slot = first;
    loop {
        let args = args(line)?;
        set_slot(outputs, slot, args, line)?;
        if !line.eat(",") {
            return line.expect("=");
        }
        slot = line.name()?;
        line.expect(":")?;
    }
}

fn args(line: &mut Line) -> Result<Vec<Name>> {
    if line.peek("[") { line.list('[', ']', Line::name) } else { line.name().map(|n| vec![n]) }
}

fn set_slot(slots: &mut Slots, slot: Name, args: Vec<Name>, line: &Line) -> Result<()> {
    if slots.has(&slot) {
        return Err(line.error(format!("slot `{slot}` is given twice")));
    }
    slots.set(slot, args);
    Ok(())
}

fn set_attr(op: &mut Op, name: Name, value: Attr, line: &Line) -> Result<()> {
    if op.attrs.get(&name).is_some() {
        return Err(line.error(format!("attribute `{name}` is given twice")));
    }
    op.attrs.set(name, value);
    Ok(())
}

fn attr(line: &mut Line) -> Result<Attr> {
    if line.peek("[") {
        let items = line.list('[', ']', scalar)?;
        return list_of(items).ok_or_else(|| {
            line.error("the elements of a list should all be of one type; an empty one names it, as in `ints[]`")
        });
    }
    scalar(line)
}

fn scalar(line: &mut Line) -> Result<Attr> {
    if line.peek("\"") {
        return line.string().map(Attr::String);
    }
    let word = line.word()?;
    Ok(match word {
        "true" => Attr::Bool(true),
        "false" => Attr::Bool(false),
        "block" => Attr::Block(line.number()?),
        "var" => Attr::Var(line.name()?),
        "opaque" => Attr::Opaque(line.hex()?),
        word => {
            let value = if line.eat("[]") { empty_list(word) } else { number(word) };
            return value.ok_or_else(|| line.error(format!("`{word}` is not a value")));
        }
    })
}

fn empty_list(kind: &str) -> Option<Attr> {
    Some(match kind {
        "ints" => Attr::Ints(Vec::new()),
        "floats" => Attr::Floats(Vec::new()),
        "strings" => Attr::Strings(Vec::new()),
        "bools" => Attr::Bools(Vec::new()),
        "blocks" => Attr::Blocks(Vec::new()),
        "longs" => Attr::Longs(Vec::new()),
        "doubles" => Attr::Float64s(Vec::new()),
        "vars" => Attr::Vars(Vec::new()),
        _ => return None,
    })
}

/// `1` is an int, `1L` a long, `1.0` a float, `1.0d` a double.
fn number(word: &str) -> Option<Attr> {
    if let Ok(v) = word.parse() {
        return Some(Attr::Int(v));
    }
    if let Some(v) = word.strip_suffix('L').and_then(|w| w.parse().ok()) {
        return Some(Attr::Long(v));
    }
    // The bits of a NaN may end in `d`; only a double has more than eight digits.
    match word.strip_suffix('d').filter(|w| !w.starts_with("nan") || w.len() > "nan".len() + 8) {
        Some(w) => double(w).map(Attr::Float64),
        None => float(word).map(Attr::Float),
    }
}

fn float(word: &str) -> Option<f32> {
    match word.strip_prefix("nan") {
        Some(bits) => u32::from_str_radix(bits, 16).ok().map(f32::from_bits),
        None => word.parse().ok(),
    }
}

fn double(word: &str) -> Option<f64> {
    match word.strip_prefix("nan") {
        Some(bits) => u64::from_str_radix(bits, 16).ok().map(f64::from_bits),
        None => word.parse().ok(),
    }
}

/// The list of scalars that are all of one type.
fn list_of(items: Vec<Attr>) -> Option<Attr> {
    macro_rules! all {
        ($one:ident => $many:ident) => {
            Attr::$many(
                items.into_iter().map(|a| if let Attr::$one(v) = a { Some(v) } else { None }).collect::<Option<_>>()?,
            )
        };
    }
    Some(match items.first()? {
        Attr::Int(_) => all!(Int => Ints),
        Attr::Float(_) => all!(Float => Floats),
        Attr::String(_) => all!(String => Strings),
        Attr::Bool(_) => all!(Bool => Bools),
        Attr::Block(_) => all!(Block => Blocks),
        Attr::Long(_) => all!(Long => Longs),
        Attr::Float64(_) => all!(Float64 => Float64s),
        Attr::Var(_) => all!(Var => Vars),
        _ => return None,
    })
}

/// One line, read from left to right. Blanks between words and signs mean nothing.
struct Line<'a> {
    number: usize,
    rest: &'a str,
}

impl<'a> Line<'a> {
    fn new(number: usize, text: &'a str) -> Line<'a> {
        Line { number, rest: text.trim() }
    }

    fn error(&self, what: impl Into<String>) -> Error {
        let before = if self.rest.is_empty() { "the end of the line".into() } else { format!("`{}`", self.rest) };
        Error::new(Kind::Format, what)
            .note(format!("at line {} of the program's text, before {before}", self.number))
            .help("`Program::to_text` writes what is read here; compare the line with its output")
    }

    fn is_blank(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with('#')
    }

    fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn end(&self) -> Result<()> {
        if self.at_end() { Ok(()) } else { Err(self.error("the line should end here")) }
    }

    fn peek(&self, sign: &str) -> bool {
        self.rest.starts_with(sign)
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.peek(sign);
        if found {
            self.skip(sign.len());
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign) { Ok(()) } else { Err(self.error(format!("`{sign}` should stand here"))) }
    }

    fn peek_word(&self) -> &'a str {
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        &self.rest[..end]
    }

    fn word(&mut self) -> Result<&'a str> {
        let word = self.peek_word();
        if word.is_empty() {
            return Err(self.error("a word should stand here"));
        }
        self.skip(word.len());
        Ok(word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        if found {
            self.skip(word.len());
        }
        found
    }

    /// Does a word with a bracket follow, as in `f32[2]`?
    fn elements_follow(&self) -> bool {
        let word = self.peek_word();
        !word.is_empty() && self.rest[word.len()..].starts_with('[')
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let word = self.word()?;
        word.parse().map_err(|_| self.error(format!("`{word}` should be a whole number that fits")))
    }

    fn float(&mut self) -> Result<f32> {
        let word = self.word()?;
        float(word).ok_or_else(|| self.error(format!("`{word}` should be a number")))
    }

    fn name(&mut self) -> Result<Name> {
        if self.peek("\"") { self.string().map(Name::from) } else { self.word().map(Name::from) }
    }

    fn hex(&mut self) -> Result<Vec<u8>> {
        let word = self.word()?;
        let digits = word.strip_prefix("0x").filter(|d| d.len() % 2 == 0 && d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            return Err(self.error(format!("`{word}` should be bytes, as in `0x0a1b`")));
        };
        // All are hexadecimal digits, so every pair is a byte.
        Ok((0..digits.len()).step_by(2).filter_map(|i| u8::from_str_radix(&digits[i..i + 2], 16).ok()).collect())
    }

    fn string(&mut self) -> Result<String> {
        // Not `expect`: blanks after the quote belong to the text.
        let Some(rest) = self.rest.strip_prefix('"') else {
            return Err(self.error("a text in quotes should stand here"));
        };
        self.rest = rest;
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.skip(i + 1);
                    return Ok(text);
                }
                '\\' => {
                    let c = escape(&mut chars);
                    text.push(c.ok_or_else(|| self.error("`\\` should be followed by `\"`, `\\`, n, t or u{...}"))?);
                }
                c => text.push(c),
            }
        }
        Err(self.error("the text is not closed with `\"`"))
    }

    /// `name: value`
    fn pair<T>(&mut self, value: impl FnOnce(&mut Self) -> Result<T>) -> Result<(Name, T)> {
        let name = self.name()?;
        self.expect(":")?;
        Ok((name, value(self)?))
    }

    fn list<T>(&mut self, open: char, close: char, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let (open, close) = (open.to_string(), close.to_string());
        self.expect(&open)?;
        let mut items = Vec::new();
        while !self.eat(&close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }
}

/// The character that an escape in a text stands for.
fn escape(chars: &mut std::str::CharIndices) -> Option<char> {
    match chars.next()?.1 {
        'n' => Some('\n'),
        't' => Some('\t'),
        'u' => {
            let digits = chars.as_str().strip_prefix('{')?.split('}').next()?;
            chars.nth(digits.len() + 1);
            char::from_u32(u32::from_str_radix(digits, 16).ok()?)
        }
        c @ ('"' | '\\') => Some(c),
        _ => None,
    }
}
