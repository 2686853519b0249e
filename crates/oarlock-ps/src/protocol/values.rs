//! Variables in messages: `meta` has their names, types and sizes; their elements are sections.

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{DType, Dims, Lod, Tensor, Value};

use oarlock_net::codec::{Reader, Writer, damaged};
use oarlock_net::{Floats, Incoming};

const DENSE: u8 = 0;
const ROWS: u8 = 1;

/// A variable and its name.
pub(crate) type Named = (String, Value);

/// Tensors smaller than this are sent as they are: a learning rate must not be rounded, and there is nothing to save.
const ROUNDED_FROM: usize = 64;

/// The elements of variables that are sent rounded to 16 bits: one entry per variable, empty if it is sent as it is.
pub(crate) struct Rounded {
    floats: Floats,
    rooms: Vec<Vec<u16>>,
}

impl Rounded {
    /// Of the variables of a message.
    pub(crate) fn of<'a>(floats: Floats, vars: impl Iterator<Item = &'a Value>) -> Rounded {
        let round = |value: &Value| {
            let mut room = Vec::new();
            let elements = tensor_of(value).and_then(|t| t.data::<f32>().ok()).unwrap_or_default();
            if elements.len() >= ROUNDED_FROM {
                floats.encode(elements, &mut room);
            }
            room
        };
        let rooms = if floats == Floats::F32 { Vec::new() } else { vars.map(round).collect() };
        Rounded { floats, rooms }
    }

    /// How a variable is sent, and its elements if they are not its own.
    fn get(&self, var: usize) -> (Floats, Option<&[u8]>) {
        match self.rooms.get(var) {
            Some(room) if !room.is_empty() => (self.floats, Some(bytemuck::cast_slice(room))),
            _ => (Floats::F32, None),
        }
    }
}

fn tensor_of(value: &Value) -> Option<&Tensor> {
    match value {
        Value::Rows(rows) => Some(&rows.value),
        other => other.dense().ok(),
    }
}

/// Collects variables for a message.
#[derive(Default)]
pub(crate) struct ValueWriter<'a> {
    sections: Vec<&'a [u8]>,
}

impl<'a> ValueWriter<'a> {
    /// Only bytes, without variables.
    pub(crate) fn of_sections(sections: Vec<&'a [u8]>) -> ValueWriter<'a> {
        ValueWriter { sections }
    }

    /// Adds variables.
    pub(crate) fn write(
        &mut self,
        meta: &mut Writer,
        vars: impl ExactSizeIterator<Item = (&'a str, &'a Value)>,
        rounded: &'a Rounded,
    ) -> Result<()> {
        meta.u32(vars.len() as u32);
        for (at, (name, value)) in vars.enumerate() {
            let form = rounded.get(at);
            meta.str(name);
            match value {
                Value::Dense(tensor) => {
                    meta.u8(DENSE);
                    self.tensor(meta, tensor, form);
                }
                Value::Rows(rows) => {
                    meta.u8(ROWS);
                    meta.i64(rows.height);
                    self.sections.push(bytemuck::cast_slice(&rows.rows));
                    self.tensor(meta, &rows.value, form);
                }
                other => {
                    return Err(Error::new(
                        Kind::Argument,
                        format!("`{name}` is {}, which is never sent", other.kind()),
                    )
                    .help("only tensors and selected rows travel between trainers and servers"));
                }
            }
        }
        Ok(())
    }

    /// Adds bytes behind the variables.
    pub(crate) fn add_section(&mut self, bytes: &'a [u8]) {
        self.sections.push(bytes);
    }

    fn tensor(&mut self, meta: &mut Writer, tensor: &'a Tensor, (floats, rounded): (Floats, Option<&'a [u8]>)) {
        meta.u32(tensor.dtype().proto() as u32);
        floats.write(meta);
        write_sizes(meta, tensor.dims());
        meta.list(tensor.lod().levels(), |meta, level| write_sizes(meta, level));
        self.sections.push(rounded.unwrap_or(tensor.bytes()));
    }

    /// The elements, in order.
    pub(crate) fn sections(&self) -> &[&'a [u8]] {
        &self.sections
    }
}

/// Takes the variables of a message, one after the other.
pub(crate) struct ValueReader<'a> {
    frame: &'a Incoming,
    next: usize,
    left: u32,
    /// Elements stay where they are.
    borrow: bool,
}

impl<'a> ValueReader<'a> {
    /// Of a message whose `meta` is read up to its variables.
    pub(crate) fn new(frame: &'a Incoming, meta: &mut Reader<'_>) -> Result<ValueReader<'a>> {
        Ok(ValueReader { frame, next: 0, left: meta.u32()?, borrow: false })
    }

    /// The name of the next variable; `None` after the last.
    pub(crate) fn next<'m>(&mut self, meta: &mut Reader<'m>) -> Result<Option<&'m str>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        meta.str().map(Some)
    }

    /// The value of the variable whose name was read last. `into` keeps its memory.
    pub(crate) fn value(&mut self, meta: &mut Reader<'_>, into: &mut Value) -> Result<()> {
        match meta.u8()? {
            DENSE => self.tensor(meta, into.dense_mut()),
            ROWS => {
                let height = meta.i64()?;
                let ids = self.section()?;
                let rows = into.rows_mut();
                rows.height = height;
                rows.rows.clear();
                let ids: &[i64] = bytemuck::try_cast_slice(ids).map_err(|_| damaged("row numbers are truncated"))?;
                rows.rows.extend_from_slice(ids);
                self.tensor(meta, &mut rows.value)?;
                let of_value = if rows.value.dims().rank() == 0 { 0 } else { rows.value.rows() };
                if of_value != rows.rows.len() {
                    return Err(damaged(format!("{} row numbers for {of_value} rows", rows.rows.len())));
                }
                Ok(())
            }
            other => Err(damaged(format!("a variable of unknown form {other}"))),
        }
    }

    /// The same, but elements that were sent as they are stay in the frame's memory: to be dropped before its next frame comes.
    pub(crate) fn borrowed(&mut self, meta: &mut Reader<'_>, into: &mut Value) -> Result<()> {
        self.borrow = true;
        let done = self.value(meta, into);
        self.borrow = false;
        done
    }

    fn tensor(&mut self, meta: &mut Reader<'_>, into: &mut Tensor) -> Result<()> {
        let number = meta.u32()?;
        let dtype = DType::from_proto(number as i32).ok_or_else(|| damaged(format!("element type {number}")))?;
        let floats = Floats::read(meta)?;
        if floats != Floats::F32 && dtype != DType::F32 {
            return Err(damaged(format!("elements of {dtype}, rounded as only f32 is")));
        }
        let dims = Dims::try_new(&meta.list(size)?).map_err(|e| damaged(e.to_string()))?;
        let lod = meta.list(|meta| meta.list(size))?;
        let bytes = self.section()?;
        // Compared before anything is allocated: the sender claims sizes, bytes are here.
        let element = if floats == Floats::F32 { dtype.size() } else { floats.width() };
        let needed = dims.iter().try_fold(element, |all, size| all.checked_mul(*size));
        if needed != Some(bytes.len()) {
            return Err(damaged(format!("{} bytes for a tensor of {dtype}{dims}", bytes.len())));
        }
        let borrowed =
            if self.borrow && floats == Floats::F32 { self.frame.borrow_section(self.next - 1) } else { None };
        match borrowed {
            Some(memory) => *into = Tensor::from_foreign(dtype, dims, memory).map_err(|e| damaged(e.to_string()))?,
            None => {
                into.resize(dtype, dims);
                match into.data_mut::<f32>() {
                    Ok(elements) if floats != Floats::F32 => floats.decode(bytes, elements)?,
                    _ => into.bytes_mut().copy_from_slice(bytes),
                }
            }
        }
        let lod = Lod::new(lod);
        lod.check(into.rows()).map_err(|e| damaged(e.to_string()))?;
        into.set_lod(lod);
        Ok(())
    }

    /// The number of sections that the variables took.
    pub(crate) fn sections_read(&self) -> usize {
        self.next
    }

    fn section(&mut self) -> Result<&'a [u8]> {
        let section = self.frame.section(self.next).ok_or_else(|| damaged("a section is missing"))?;
        self.next += 1;
        Ok(section)
    }
}

fn write_sizes(meta: &mut Writer, sizes: &[usize]) {
    meta.list(sizes, |meta, size| {
        meta.u64(*size as u64);
    });
}

fn size(meta: &mut Reader<'_>) -> Result<usize> {
    usize::try_from(meta.u64()?).map_err(|_| damaged("a size beyond this machine"))
}
