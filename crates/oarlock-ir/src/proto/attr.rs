//! `OpDesc.Attr` and `VarDesc.Attr`: a name, a type, and a value in the field that belongs to the type.

use crate::protobuf::{Field, Fields, Read, put_bool, put_bytes, put_double, put_float, put_index, put_long};
use crate::{Attr, Name};

/// An attribute as read.
pub(super) struct ReadAttr {
    pub(super) name: Name,
    pub(super) value: Attr,
    /// Fields that do not belong to its type.
    pub(super) unknown: Vec<u8>,
}

/// Which field of the message holds a value; `None` if the message has no field for it.
pub(super) type FieldOf = fn(&Attr) -> Option<u32>;

/// The number of an attribute's type, by which files name it.
fn type_number(value: &Attr) -> Option<i32> {
    Some(match value {
        Attr::Int(_) => 0,
        Attr::Float(_) => 1,
        Attr::String(_) => 2,
        Attr::Ints(_) => 3,
        Attr::Floats(_) => 4,
        Attr::Strings(_) => 5,
        Attr::Bool(_) => 6,
        Attr::Bools(_) => 7,
        Attr::Block(_) => 8,
        Attr::Long(_) => 9,
        Attr::Blocks(_) => 10,
        Attr::Longs(_) => 11,
        Attr::Float64s(_) => 12,
        Attr::Var(_) => 13,
        Attr::Vars(_) => 14,
        Attr::Float64(_) => 15,
        Attr::Opaque(_) => return None,
    })
}

/// Where an operator's attribute has its value.
pub(super) fn op_field(value: &Attr) -> Option<u32> {
    Some(match value {
        Attr::Int(_) => 3,
        Attr::Float(_) => 4,
        Attr::String(_) => 5,
        Attr::Ints(_) => 6,
        Attr::Floats(_) => 7,
        Attr::Strings(_) => 8,
        Attr::Bool(_) => 10,
        Attr::Bools(_) => 11,
        Attr::Block(_) => 12,
        Attr::Long(_) => 13,
        Attr::Blocks(_) => 14,
        Attr::Longs(_) => 15,
        Attr::Float64s(_) => 16,
        Attr::Var(_) => 17,
        Attr::Vars(_) => 18,
        Attr::Float64(_) => 19,
        Attr::Opaque(_) => return None,
    })
}

/// Where a variable's attribute has its value.
pub(super) fn var_field(value: &Attr) -> Option<u32> {
    match value {
        Attr::Int(_) => Some(3),
        Attr::String(_) => Some(4),
        Attr::Ints(_) => Some(5),
        _ => None,
    }
}

/// The value of a type before any field is read: zero or empty.
fn blank(number: i32) -> Option<Attr> {
    Some(match number {
        0 => Attr::Int(0),
        1 => Attr::Float(0.0),
        2 => Attr::String(String::new()),
        3 => Attr::Ints(Vec::new()),
        4 => Attr::Floats(Vec::new()),
        5 => Attr::Strings(Vec::new()),
        6 => Attr::Bool(false),
        7 => Attr::Bools(Vec::new()),
        8 => Attr::Block(0),
        9 => Attr::Long(0),
        10 => Attr::Blocks(Vec::new()),
        11 => Attr::Longs(Vec::new()),
        12 => Attr::Float64s(Vec::new()),
        13 => Attr::Var("".into()),
        14 => Attr::Vars(Vec::new()),
        15 => Attr::Float64(0.0),
        _ => return None,
    })
}

/// Reads an attribute of a program with `blocks` blocks.
pub(super) fn read(message: &Field, field_of: FieldOf, blocks: usize) -> Read<ReadAttr> {
    let (name, number) = read_header(message)?;
    let known = blank(number).and_then(|value| field_of(&value).map(|home| (value, home)));
    let Some((mut value, home)) = known else { return read_opaque(message, name) };
    if !is_utf8(message.message()?, &value, home) {
        return read_opaque(message, name);
    }
    let mut unknown = Vec::new();
    for field in message.message()? {
        let field = field?;
        match field.number {
            1 | 2 => {}
            n if n == home => fill(&mut value, &field, blocks)?,
            _ => unknown.extend_from_slice(field.raw),
        }
    }
    Ok(ReadAttr { name, value, unknown })
}

fn read_header(message: &Field) -> Read<(Name, i32)> {
    let (mut name, mut number) = (None, None);
    for field in message.message()? {
        let field = field?;
        match field.number {
            1 => name = Some(Name::from(field.text()?)),
            2 => number = Some(field.int()?),
            _ => {}
        }
    }
    match (name, number) {
        (Some(name), Some(number)) => Ok((name, number)),
        _ => message.bad("an attribute does not say its name and its type"),
    }
}

/// Keeps everything but the name as bytes.
fn read_opaque(message: &Field, name: Name) -> Read<ReadAttr> {
    let mut bytes = Vec::new();
    for field in message.message()? {
        let field = field?;
        if field.number != 1 {
            bytes.extend_from_slice(field.raw);
        }
    }
    Ok(ReadAttr { name, value: Attr::Opaque(bytes), unknown: Vec::new() })
}

/// Old scripts left source lines in other encodings in `op_callstack`. Such text is no reason to refuse a model.
fn is_utf8(fields: Fields, value: &Attr, home: u32) -> bool {
    let is_text = matches!(value, Attr::String(_) | Attr::Strings(_));
    !is_text || fields.flatten().all(|f| f.number != home || f.bytes().is_err() || f.text().is_ok())
}

fn fill(value: &mut Attr, field: &Field, blocks: usize) -> Read<()> {
    match value {
        Attr::Int(v) => *v = field.int()?,
        Attr::Float(v) => *v = field.float()?,
        Attr::String(v) => *v = field.text()?.into(),
        Attr::Ints(v) => field.each_long(|x| v.push(x as i32))?,
        Attr::Floats(v) => field.each_float(|x| v.push(x))?,
        Attr::Strings(v) => v.push(field.text()?.into()),
        Attr::Bool(v) => *v = field.boolean()?,
        Attr::Bools(v) => field.each_long(|x| v.push(x != 0))?,
        Attr::Block(v) => *v = block(field, field.long()?, blocks)?,
        Attr::Long(v) => *v = field.long()?,
        Attr::Blocks(v) => return fill_blocks(v, field, blocks),
        Attr::Longs(v) => field.each_long(|x| v.push(x))?,
        Attr::Float64s(v) => field.each_double(|x| v.push(x))?,
        Attr::Var(v) => *v = field.text()?.into(),
        Attr::Vars(v) => v.push(field.text()?.into()),
        Attr::Float64(v) => *v = field.double()?,
        // Opaque attributes are read whole, without this function.
        Attr::Opaque(_) => {}
    }
    Ok(())
}

fn fill_blocks(list: &mut Vec<usize>, field: &Field, blocks: usize) -> Read<()> {
    let mut numbers = Vec::new();
    field.each_long(|x| numbers.push(x))?;
    for number in numbers {
        list.push(block(field, number, blocks)?);
    }
    Ok(())
}

fn block(field: &Field, idx: i64, blocks: usize) -> Read<usize> {
    match usize::try_from(idx) {
        Ok(i) if i < blocks => Ok(i),
        _ => field.bad(format!("there is no block {idx}; the program has {blocks}")),
    }
}

/// Writes an attribute.
pub(super) fn write(out: &mut Vec<u8>, name: &Name, value: &Attr, field_of: FieldOf) {
    put_bytes(out, 1, name.as_str());
    if let Attr::Opaque(bytes) = value {
        return out.extend_from_slice(bytes);
    }
    // A value that the message has no field for cannot be written; the type alone keeps the attribute.
    if let Some(number) = type_number(value) {
        put_long(out, 2, i64::from(number));
    }
    if let Some(home) = field_of(value) {
        write_value(out, value, home);
    }
}

fn write_value(out: &mut Vec<u8>, value: &Attr, n: u32) {
    match value {
        Attr::Int(v) => put_long(out, n, i64::from(*v)),
        Attr::Float(v) => put_float(out, n, *v),
        Attr::String(v) => put_bytes(out, n, v),
        Attr::Ints(v) => v.iter().for_each(|x| put_long(out, n, i64::from(*x))),
        Attr::Floats(v) => v.iter().for_each(|x| put_float(out, n, *x)),
        Attr::Strings(v) => v.iter().for_each(|x| put_bytes(out, n, x)),
        Attr::Bool(v) => put_bool(out, n, *v),
        Attr::Bools(v) => v.iter().for_each(|x| put_bool(out, n, *x)),
        Attr::Block(v) => put_index(out, n, *v),
        Attr::Long(v) => put_long(out, n, *v),
        Attr::Blocks(v) => v.iter().for_each(|x| put_index(out, n, *x)),
        Attr::Longs(v) => v.iter().for_each(|x| put_long(out, n, *x)),
        Attr::Float64s(v) => v.iter().for_each(|x| put_double(out, n, *x)),
        Attr::Var(v) => put_bytes(out, n, v.as_str()),
        Attr::Vars(v) => v.iter().for_each(|x| put_bytes(out, n, x.as_str())),
        Attr::Float64(v) => put_double(out, n, *v),
        // Written whole, without this function.
        Attr::Opaque(_) => {}
    }
}
