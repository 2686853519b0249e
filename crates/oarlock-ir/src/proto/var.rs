//! `VarDesc` and the messages inside: what a variable is, its element type and its sizes.

use oarlock_tensor::DType;

use super::{RELEASE_2, attr, named};
use crate::protobuf::{Field, Inside, Read, put_bool, put_bytes, put_long, put_message};
use crate::{Attr, Dim, Explicit, Name, Shape, UnknownInside, Var, VarDType, VarKind, VarType};

/// Reads a variable.
pub(super) fn read(message: &Field) -> Read<Var> {
    let mut var = Var::new("", VarType::tensor(DType::F32, Shape::default()));
    var.explicit.add(Explicit::NO_TENSOR);
    let (mut has_name, mut has_type) = (false, false);
    for field in message.message()? {
        let field = field?;
        match field.number {
            1 => {
                has_name = true;
                var.name = Name::from(field.text()?);
            }
            2 => {
                has_type = true;
                read_type(&mut var, &field)?;
            }
            7 => read_attr(&mut var, &field)?,
            _ => read_flag(&mut var, &field)?,
        }
    }
    match has_name && has_type {
        true => Ok(var),
        false => message.bad("a variable does not say its name and its type"),
    }
}

fn read_flag(var: &mut Var, field: &Field) -> Read<()> {
    let (flag, explicit) = match field.number {
        3 => (&mut var.persistable, Explicit::PERSISTABLE),
        4 => (&mut var.need_check_feed, Explicit::NEED_CHECK_FEED),
        5 => (&mut var.meta.is_parameter, Explicit::IS_PARAMETER),
        6 => (&mut var.meta.stop_gradient, Explicit::STOP_GRADIENT),
        _ => {
            var.unknown.extend_from_slice(field.raw);
            return Ok(());
        }
    };
    *flag = field.boolean()?;
    var.explicit.add(explicit);
    Ok(())
}

fn read_attr(var: &mut Var, message: &Field) -> Read<()> {
    let position = var.attrs.len();
    let read = attr::read(message, attr::var_field, 0).inside(|| named(message, "attr", position))?;
    var.unknown_inside.add_named("attr", &read.name, &read.unknown);
    var.attrs.push((read.name, read.value));
    Ok(())
}

/// Which field of `VarType` describes the elements of a kind.
fn tensor_field(kind: VarKind) -> Option<u32> {
    match kind {
        VarKind::SelectedRows => Some(2),
        VarKind::Tensor => Some(3),
        VarKind::TensorArray => Some(4),
        _ => None,
    }
}

fn read_type(var: &mut Var, message: &Field) -> Read<()> {
    var.kind = read_kind(message)?;
    let home = tensor_field(var.kind);
    for field in message.message()? {
        let field = field?;
        match field.number {
            1 => {}
            n if home == Some(n) => read_elements(var, &field)?,
            5 if var.kind == VarKind::Reader => read_reader(var, &field)?,
            _ => var.unknown_type.extend_from_slice(field.raw),
        }
    }
    Ok(())
}

fn read_kind(message: &Field) -> Read<VarKind> {
    let mut kind = None;
    for field in message.message()? {
        let field = field?;
        if field.number == 1 {
            kind = Some(VarKind::from_proto(field.int()?));
        }
    }
    kind.map_or_else(|| message.bad("the type of a variable does not say its kind"), Ok)
}

fn read_elements(var: &mut Var, field: &Field) -> Read<()> {
    let mut elements = Elements::default();
    match var.kind {
        VarKind::SelectedRows => elements.read_tensor(field)?,
        _ => elements.read_lod_tensor(field)?,
    }
    let Some(dtype) = elements.dtype else { return field.bad("a variable does not say the type of its elements") };
    var.dtype = dtype;
    var.shape = Shape(elements.shape);
    var.lod_level = elements.lod_level;
    var.explicit.remove(Explicit::NO_TENSOR);
    if elements.has_lod_level {
        var.explicit.add(Explicit::LOD_LEVEL);
    }
    var.unknown_inside.add("tensor", &elements.unknown_tensor);
    var.unknown_inside.add("lod_tensor", &elements.unknown_lod_tensor);
    Ok(())
}

/// A reader of element types that we do not hold stays as bytes, for it could not be written back from `reads`.
fn read_reader(var: &mut Var, message: &Field) -> Read<()> {
    let mut reads = Vec::new();
    for field in message.message()? {
        let field = field?;
        let mut elements = Elements::default();
        if field.number == 1 {
            elements.read_lod_tensor(&field)?;
        }
        let Some(ty) = elements.known() else {
            var.unknown_type.extend_from_slice(message.raw);
            return Ok(());
        };
        reads.push(ty);
    }
    var.reads.extend(reads);
    Ok(())
}

/// `TensorDesc` and the `LoDTensorDesc` around it.
#[derive(Default)]
struct Elements {
    dtype: Option<VarDType>,
    shape: Vec<Dim>,
    lod_level: usize,
    has_lod_level: bool,
    unknown_tensor: Vec<u8>,
    unknown_lod_tensor: Vec<u8>,
}

impl Elements {
    fn read_lod_tensor(&mut self, message: &Field) -> Read<()> {
        for field in message.message()? {
            let field = field?;
            match field.number {
                1 => self.read_tensor(&field)?,
                2 => {
                    self.has_lod_level = true;
                    self.lod_level = match usize::try_from(field.int()?) {
                        Ok(level) => level,
                        Err(_) => return field.bad("the number of LoD levels is negative"),
                    };
                }
                _ => self.unknown_lod_tensor.extend_from_slice(field.raw),
            }
        }
        Ok(())
    }

    fn read_tensor(&mut self, message: &Field) -> Read<()> {
        for field in message.message()? {
            let field = field?;
            match field.number {
                1 => {
                    let number = field.int()?;
                    self.dtype = Some(DType::from_proto(number).map_or(VarDType::Other(number), VarDType::Is));
                }
                2 => field.each_long(|n| self.shape.push(Dim::from_i64(n)))?,
                _ => self.unknown_tensor.extend_from_slice(field.raw),
            }
        }
        Ok(())
    }

    /// As a type, if that says it all.
    fn known(self) -> Option<VarType> {
        match self.dtype {
            Some(VarDType::Is(dtype)) if self.unknown_tensor.is_empty() && self.unknown_lod_tensor.is_empty() => {
                Some(VarType::tensor(dtype, self.shape).with_lod(self.lod_level))
            }
            _ => None,
        }
    }
}

/// Writes a variable of a program of a release.
pub(super) fn write(out: &mut Vec<u8>, var: &Var, format_version: i64) {
    put_bytes(out, 1, var.name.as_str());
    put_message(out, 2, |out| write_type(out, var));
    write_flag(out, 3, var.persistable, var.explicit.has(Explicit::PERSISTABLE));
    write_flag(out, 4, var.need_check_feed, var.explicit.has(Explicit::NEED_CHECK_FEED));
    if format_version >= RELEASE_2 {
        write_flag(out, 5, var.meta.is_parameter, var.explicit.has(Explicit::IS_PARAMETER));
        write_flag(out, 6, var.meta.stop_gradient, var.explicit.has(Explicit::STOP_GRADIENT));
    }
    for (name, value) in &var.attrs {
        put_message(out, 7, |out| write_attr(out, var, name, value));
    }
    out.extend_from_slice(&var.unknown);
}

fn write_attr(out: &mut Vec<u8>, var: &Var, name: &Name, value: &Attr) {
    attr::write(out, name, value, attr::var_field);
    out.extend_from_slice(var.unknown_inside.at_named("attr", name));
}

fn write_flag(out: &mut Vec<u8>, number: u32, flag: bool, explicit: bool) {
    if flag || explicit {
        put_bool(out, number, flag);
    }
}

fn write_type(out: &mut Vec<u8>, var: &Var) {
    put_long(out, 1, i64::from(var.kind.proto()));
    if let Some(number) = tensor_field(var.kind).filter(|_| says_elements(var)) {
        put_message(out, number, |out| write_elements(out, var));
    }
    if !var.reads.is_empty() {
        put_message(out, 5, |out| {
            for ty in &var.reads {
                put_message(out, 1, |out| write_read(out, ty));
            }
        });
    }
    out.extend_from_slice(&var.unknown_type);
}

/// Does the variable say more about its elements than a file that said nothing?
fn says_elements(var: &Var) -> bool {
    let nothing = Var::new("", VarType::tensor(DType::F32, Shape::default()));
    let said = var.dtype != nothing.dtype || var.shape != nothing.shape || var.lod_level != nothing.lod_level;
    said || !var.explicit.has(Explicit::NO_TENSOR)
}

fn write_elements(out: &mut Vec<u8>, var: &Var) {
    let dtype = match var.dtype {
        VarDType::Is(dtype) => dtype.proto(),
        VarDType::Other(number) => number,
    };
    let unknown = &var.unknown_inside;
    if var.kind == VarKind::SelectedRows {
        return write_tensor(out, dtype, &var.shape, unknown);
    }
    put_message(out, 1, |out| write_tensor(out, dtype, &var.shape, unknown));
    if var.lod_level > 0 || var.explicit.has(Explicit::LOD_LEVEL) {
        put_long(out, 2, var.lod_level as i64);
    }
    out.extend_from_slice(unknown.at("lod_tensor"));
}

fn write_read(out: &mut Vec<u8>, ty: &VarType) {
    put_message(out, 1, |out| write_tensor(out, ty.dtype.proto(), &ty.shape, &UnknownInside::default()));
    put_long(out, 2, ty.lod_level as i64);
}

fn write_tensor(out: &mut Vec<u8>, dtype: i32, shape: &Shape, unknown: &UnknownInside) {
    put_long(out, 1, i64::from(dtype));
    for size in shape.to_i64() {
        put_long(out, 2, size);
    }
    out.extend_from_slice(unknown.at("tensor"));
}
