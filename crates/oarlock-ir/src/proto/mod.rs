//! The file form of programs: the `ProgramDesc` message of `__model__`, `.pdmodel` and `.program` files.
//!
//! Written by hand rather than generated because a program must survive reading and writing with every field that a
//! newer release added: what this version does not know is kept as bytes, at the level where it was found.
//! One file per message: [`op`], [`attr`], [`var`].

mod attr;
mod op;
mod var;

use crate::protobuf::{Bad, Field, Fields, Inside, Read, put_bytes, put_index, put_long, put_message};
use crate::{Block, Explicit, Name, Program, Result};

/// The first release that writes `is_parameter` and `stop_gradient`.
const RELEASE_2: i64 = 2_000_000;

impl Program {
    /// Reads a program from the bytes of its file. Every reference between blocks is checked.
    pub fn from_bytes(bytes: &[u8]) -> Result<Program> {
        read_program(bytes).map_err(Bad::into_error)
    }

    /// The bytes of the program's file. Reading them gives an equal program, except for what files do not hold: the
    /// random seed, the memory plan, call sites and, in the format of 1.x, what [`crate::VarMeta`] says.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for block in self.blocks() {
            put_message(&mut out, 1, |out| write_block(out, block, self.format_version));
        }
        if !self.op_versions.compatible_map.is_empty() {
            put_bytes(&mut out, 3, &self.op_versions.compatible_map);
        }
        if self.format_version != 0 || self.explicit.has(Explicit::VERSION) {
            put_message(&mut out, 4, |out| {
                put_long(out, 1, self.format_version);
                out.extend_from_slice(self.unknown_inside.at("version"));
            });
        }
        let inside = self.unknown_inside.at("op_versions");
        if !self.op_versions.map.is_empty() || !inside.is_empty() {
            put_message(&mut out, 5, |out| write_op_versions(out, self));
        }
        out.extend_from_slice(&self.unknown);
        out
    }
}

fn read_program(bytes: &[u8]) -> Read<Program> {
    let mut program = Program::from_blocks(Vec::new());
    program.format_version = 0;
    let blocks = count_blocks(bytes)?;
    for field in Fields::new(bytes) {
        let field = field?;
        match field.number {
            1 => {
                let idx = program.blocks().len();
                let block = read_block(&field, idx, blocks).inside(|| format!("block {idx}"))?;
                program.blocks_mut().push(block);
            }
            3 => program.op_versions.compatible_map.extend_from_slice(field.bytes()?),
            4 => read_version(&mut program, &field).inside(|| "version".into())?,
            5 => read_op_versions(&mut program, &field).inside(|| "op_version_map".into())?,
            _ => program.unknown.extend_from_slice(field.raw),
        }
    }
    Ok(program)
}

/// How many blocks there are, so that a reference to a block can be checked where it stands.
fn count_blocks(bytes: &[u8]) -> Read<usize> {
    let mut count = 0;
    for field in Fields::new(bytes) {
        count += usize::from(field?.number == 1);
    }
    if count == 0 {
        return Err(Bad::new(0, "it has no block"));
    }
    Ok(count)
}

fn read_version(program: &mut Program, field: &Field) -> Read<()> {
    program.explicit.add(Explicit::VERSION);
    for field in field.message()? {
        let field = field?;
        match field.number {
            1 => program.format_version = field.long()?,
            _ => program.unknown_inside.add("version", field.raw),
        }
    }
    Ok(())
}

fn read_op_versions(program: &mut Program, field: &Field) -> Read<()> {
    for field in field.message()? {
        let field = field?;
        match field.number {
            1 => read_op_version(program, &field)?,
            _ => program.unknown_inside.add("op_versions", field.raw),
        }
    }
    Ok(())
}

fn read_op_version(program: &mut Program, pair: &Field) -> Read<()> {
    let (mut name, mut version) = (None, 0);
    let (mut unknown, mut unknown_version) = (Vec::new(), Vec::new());
    for field in pair.message()? {
        let field = field?;
        match field.number {
            1 => name = Some(Name::from(field.text()?)),
            2 => {
                for field in field.message()? {
                    let field = field?;
                    match field.number {
                        1 => version = field.int()?,
                        _ => unknown_version.extend_from_slice(field.raw),
                    }
                }
            }
            _ => unknown.extend_from_slice(field.raw),
        }
    }
    let Some(name) = name else { return pair.bad("an operator's version does not name the operator") };
    program.unknown_inside.add_named("op_version", &name, &unknown);
    program.unknown_inside.add_named("op_version_number", &name, &unknown_version);
    program.op_versions.map.push((name, version));
    Ok(())
}

fn write_op_versions(out: &mut Vec<u8>, program: &Program) {
    let inside = &program.unknown_inside;
    for (name, version) in &program.op_versions.map {
        put_message(out, 1, |out| {
            put_bytes(out, 1, name.as_str());
            put_message(out, 2, |out| {
                put_long(out, 1, i64::from(*version));
                out.extend_from_slice(inside.at_named("op_version_number", name));
            });
            out.extend_from_slice(inside.at_named("op_version", name));
        });
    }
    out.extend_from_slice(inside.at("op_versions"));
}

fn read_block(block: &Field, idx: usize, blocks: usize) -> Read<Block> {
    let mut b = Block::new(idx, None);
    let (mut has_idx, mut has_parent) = (false, false);
    for field in block.message()? {
        let field = field?;
        match field.number {
            1 => {
                has_idx = true;
                check_idx(&field, idx)?;
            }
            2 => {
                has_parent = true;
                b.parent = read_parent(&field, idx)?;
            }
            3 => read_var(&mut b, &field)?,
            4 => {
                let at = b.ops.len();
                b.ops.push(op::read(&field, blocks).inside(|| format!("op {at}"))?);
            }
            5 => read_forward(&mut b, &field)?,
            _ => b.unknown.extend_from_slice(field.raw),
        }
    }
    match has_idx && has_parent {
        true => Ok(b),
        false => block.bad("a block does not say its index and its parent"),
    }
}

fn check_idx(field: &Field, idx: usize) -> Read<()> {
    match field.int()? {
        i if i as usize == idx => Ok(()),
        i => field.bad(format!("the block says that its index is {i}, but it stands at {idx}")),
    }
}

/// The parent stands earlier: blocks are made from the outside inwards, and so no chain of parents can be a circle.
fn read_parent(field: &Field, idx: usize) -> Read<Option<usize>> {
    match field.int()? {
        -1 if idx == 0 => Ok(None),
        p if p >= 0 && (p as usize) < idx => Ok(Some(p as usize)),
        p => field.bad(format!("{p} cannot be the parent of block {idx}")),
    }
}

fn read_forward(block: &mut Block, field: &Field) -> Read<()> {
    match field.int()? {
        -1 => block.explicit.add(Explicit::FORWARD),
        f if f >= 0 && (f as usize) < block.idx => block.forward = Some(f as usize),
        f => return field.bad(format!("block {} cannot hold the gradients of block {f}", block.idx)),
    }
    Ok(())
}

fn read_var(block: &mut Block, field: &Field) -> Read<()> {
    let at = block.vars.len();
    let var = var::read(field).inside(|| named(field, "var", at))?;
    if block.vars.contains_key(&var.name) {
        return field.bad(format!("variable `{}` is declared twice", var.name));
    }
    block.vars.insert(var.name.clone(), var);
    Ok(())
}

fn write_block(out: &mut Vec<u8>, block: &Block, format_version: i64) {
    put_index(out, 1, block.idx);
    put_long(out, 2, block.parent.map_or(-1, |p| p as i64));
    for v in block.vars.values() {
        put_message(out, 3, |out| var::write(out, v, format_version));
    }
    for o in &block.ops {
        put_message(out, 4, |out| op::write(out, o));
    }
    match block.forward {
        Some(f) => put_index(out, 5, f),
        None if block.explicit.has(Explicit::FORWARD) => put_long(out, 5, -1),
        None => {}
    }
    out.extend_from_slice(&block.unknown);
}

/// Names a damaged message in an error: by its name if that can still be read, else by its position.
fn named(message: &Field, kind: &str, position: usize) -> String {
    let name = message.message().ok().and_then(|fields| {
        let name = fields.flatten().take_while(|f| f.number <= 1).find(|f| f.number == 1)?;
        name.text().ok()
    });
    match name {
        Some(name) => format!("{kind} {name:?}"),
        None => format!("{kind} {position}"),
    }
}

#[cfg(test)]
mod tests;
