//! Variables in messages: what they are stands in `meta`, their elements are sections.

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{DType, Dims, Lod, Tensor, Value};

use crate::wire::Incoming;
use crate::wire::codec::{Reader, Writer};

const DENSE: u8 = 0;
const ROWS: u8 = 1;

/// A variable and its name.
pub(crate) type Named = (String, Value);

/// Collects variables for a message.
#[derive(Default)]
pub(crate) struct ValueWriter<'a> {
    sections: Vec<&'a [u8]>,
}

impl<'a> ValueWriter<'a> {
    /// Nothing but ids.
    pub(crate) fn of_ids(ids: &'a [i64]) -> ValueWriter<'a> {
        ValueWriter { sections: vec![bytemuck::cast_slice(ids)] }
    }

    /// Bytes that mean nothing here.
    pub(crate) fn of_sections(sections: Vec<&'a [u8]>) -> ValueWriter<'a> {
        ValueWriter { sections }
    }

    /// Adds variables.
    pub(crate) fn write(
        &mut self,
        meta: &mut Writer,
        vars: impl ExactSizeIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<()> {
        meta.u32(vars.len() as u32);
        for (name, value) in vars {
            meta.str(name);
            match value {
                Value::Dense(tensor) => {
                    meta.u8(DENSE);
                    self.tensor(meta, tensor);
                }
                Value::Rows(rows) => {
                    meta.u8(ROWS);
                    meta.i64(rows.height);
                    self.sections.push(bytemuck::cast_slice(&rows.rows));
                    self.tensor(meta, &rows.value);
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

    fn tensor(&mut self, meta: &mut Writer, tensor: &'a Tensor) {
        meta.u32(tensor.dtype().proto() as u32);
        write_sizes(meta, tensor.dims());
        meta.list(tensor.lod().levels(), |meta, level| write_sizes(meta, level));
        self.sections.push(tensor.bytes());
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
}

impl<'a> ValueReader<'a> {
    /// Of a message whose `meta` is read up to its variables.
    pub(crate) fn new(frame: &'a Incoming, meta: &mut Reader<'_>) -> Result<ValueReader<'a>> {
        Ok(ValueReader { frame, next: 0, left: meta.u32()? })
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
                let ids: &[i64] = bytemuck::try_cast_slice(ids).map_err(|_| damaged("row numbers are cut off"))?;
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

    fn tensor(&mut self, meta: &mut Reader<'_>, into: &mut Tensor) -> Result<()> {
        let number = meta.u32()?;
        let dtype = DType::from_proto(number as i32).ok_or_else(|| damaged(format!("element type {number}")))?;
        let dims = Dims::try_new(&meta.list(size)?).map_err(|e| damaged(e.to_string()))?;
        let lod = meta.list(|meta| meta.list(size))?;
        let bytes = self.section()?;
        // Compared before anything is allocated: sizes are the sender's word, bytes are here.
        let needed = dims.iter().try_fold(dtype.size(), |all, size| all.checked_mul(*size));
        if needed != Some(bytes.len()) {
            return Err(damaged(format!("{} bytes for a tensor of {dtype}{dims}", bytes.len())));
        }
        into.resize(dtype, dims);
        into.bytes_mut().copy_from_slice(bytes);
        let lod = Lod::new(lod);
        lod.check(into.rows()).map_err(|e| damaged(e.to_string()))?;
        into.set_lod(lod);
        Ok(())
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

/// A message that cannot be what its sender meant.
#[cold]
pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(Kind::Format, format!("a message is damaged: {what}"))
        .help("trainers and servers must be of one release of Oarlock")
}
