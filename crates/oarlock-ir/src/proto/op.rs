//! `OpDesc`: one operator.

use super::{attr, named};
use crate::protobuf::{Field, Inside, Read, put_bool, put_bytes, put_message};
use crate::{Explicit, Name, Op, Slots, UnknownInside};

/// Reads an operator of a program with `blocks` blocks.
pub(super) fn read(message: &Field, blocks: usize) -> Read<Op> {
    let mut op = Op::new("");
    let mut has_type = false;
    for field in message.message()? {
        let field = field?;
        match field.number {
            1 => read_slot(&mut op.inputs, &mut op.unknown_inside, "in", &field)?,
            2 => read_slot(&mut op.outputs, &mut op.unknown_inside, "out", &field)?,
            3 => {
                has_type = true;
                op.op_type = field.text()?.into();
            }
            4 => read_attr(&mut op, &field, blocks)?,
            5 if field.boolean()? => op.is_target = true,
            5 => op.explicit.add(Explicit::IS_TARGET),
            _ => op.unknown.extend_from_slice(field.raw),
        }
    }
    match has_type {
        true => Ok(op),
        false => message.bad("an operator does not say its type"),
    }
}

fn read_slot(slots: &mut Slots, inside: &mut UnknownInside, kind: &str, message: &Field) -> Read<()> {
    let (mut slot, mut args, mut unknown) = (None, Vec::new(), Vec::new());
    for field in message.message()? {
        let field = field?;
        match field.number {
            1 => slot = Some(Name::from(field.text()?)),
            2 => args.push(Name::from(field.text()?)),
            _ => unknown.extend_from_slice(field.raw),
        }
    }
    let Some(slot) = slot else { return message.bad("a slot has no name") };
    if slots.has(&slot) {
        return message.bad(format!("slot `{slot}` is given twice"));
    }
    inside.add_named(kind, &slot, &unknown);
    slots.set(slot, args);
    Ok(())
}

fn read_attr(op: &mut Op, message: &Field, blocks: usize) -> Read<()> {
    let position = op.attrs.len();
    let read = attr::read(message, attr::op_field, blocks).inside(|| named(message, "attr", position))?;
    if op.attrs.get(&read.name).is_some() {
        return message.bad(format!("attribute `{}` is given twice", read.name));
    }
    op.unknown_inside.add_named("attr", &read.name, &read.unknown);
    op.attrs.set(read.name, read.value);
    Ok(())
}

/// Writes an operator.
pub(super) fn write(out: &mut Vec<u8>, op: &Op) {
    write_slots(out, 1, &op.inputs, &op.unknown_inside, "in");
    write_slots(out, 2, &op.outputs, &op.unknown_inside, "out");
    put_bytes(out, 3, op.op_type.as_str());
    for (name, value) in op.attrs.iter() {
        put_message(out, 4, |out| {
            attr::write(out, name, value, attr::op_field);
            out.extend_from_slice(op.unknown_inside.at_named("attr", name));
        });
    }
    if op.is_target || op.explicit.has(Explicit::IS_TARGET) {
        put_bool(out, 5, op.is_target);
    }
    out.extend_from_slice(&op.unknown);
}

fn write_slots(out: &mut Vec<u8>, number: u32, slots: &Slots, inside: &UnknownInside, kind: &str) {
    for (slot, args) in slots.iter() {
        put_message(out, number, |out| {
            put_bytes(out, 1, slot.as_str());
            for arg in args {
                put_bytes(out, 2, arg.as_str());
            }
            out.extend_from_slice(inside.at_named(kind, slot));
        });
    }
}
