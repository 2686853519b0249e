//! Writing pickles of protocol 2, byte for byte as Python writes them.

use std::io::{self, Write};

use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::{DType, Tensor};

use super::op;
use crate::format::dtype_names;

/// Objects that Python writes once and refers to afterwards.
#[derive(Clone, Copy, PartialEq)]
enum Once {
    Global(&'static str),
    Text(&'static str),
    /// The bytes `b"b"` by which an array starts.
    Seed,
    DType(DType),
}

/// Dictionaries are filled this many items at a time.
const BATCH: usize = 1000;

/// Writes a dictionary from names to arrays. LoD is not kept: arrays have none.
pub fn write_pickle(items: &[(Name, &Tensor)], out: &mut dyn Write) -> io::Result<()> {
    let mut w = Writer { out, memo: Vec::new(), next: 0 };
    w.put(&[op::PROTO, 2, op::EMPTY_DICT])?;
    w.remember()?;
    for batch in items.chunks(BATCH) {
        let single = batch.len() == 1;
        if !single {
            w.put(&[op::MARK])?;
        }
        for (name, tensor) in batch {
            w.text(name)?;
            w.remember()?;
            w.array(tensor)?;
        }
        w.put(&[if single { op::SETITEM } else { op::SETITEMS }])?;
    }
    w.put(&[op::STOP])
}

/// Refuses tensors that a pickle of this protocol cannot hold; checked before anything is written.
pub(crate) fn check_pickle(name: &Name, tensor: &Tensor) -> Result<()> {
    let help = "save it with save_persistables, whose files hold any tensor";
    if dtype_names::numpy(tensor.dtype()).is_none() {
        let what = format!("variable `{name}` is of {}, which numpy arrays cannot be", tensor.dtype());
        return Err(Error::new(Kind::Unsupported, what).help(help));
    }
    if u32::try_from(utf8_len(tensor.bytes())).is_err() {
        let what = format!("variable `{name}` has {} bytes, more than a pickle holds", tensor.bytes().len());
        return Err(Error::new(Kind::Unsupported, what).help(help));
    }
    Ok(())
}

/// The length of bytes that are written as text, a character each.
fn utf8_len(bytes: &[u8]) -> usize {
    bytes.len() + bytes.iter().filter(|b| **b >= 0x80).count()
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    memo: Vec<(Once, u32)>,
    next: u32,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Numbers what was just made, as Python does with everything, used again or not.
    fn remember(&mut self) -> io::Result<()> {
        let n = self.next;
        self.next += 1;
        match u8::try_from(n) {
            Ok(n) => self.put(&[op::BINPUT, n]),
            Err(_) => {
                self.put(&[op::LONG_BINPUT])?;
                self.put(&n.to_le_bytes())
            }
        }
    }

    /// Makes an object the first time, and refers to it afterwards.
    fn once(&mut self, what: Once, make: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        if let Some((_, n)) = self.memo.iter().find(|(known, _)| *known == what) {
            let n = *n;
            return match u8::try_from(n) {
                Ok(n) => self.put(&[op::BINGET, n]),
                Err(_) => {
                    self.put(&[op::LONG_BINGET])?;
                    self.put(&n.to_le_bytes())
                }
            };
        }
        make(self)?;
        self.memo.push((what, self.next));
        self.remember()
    }

    fn global(&mut self, name: &'static str) -> io::Result<()> {
        self.once(Once::Global(name), |w| {
            w.put(&[op::GLOBAL])?;
            w.put(name.as_bytes())
        })
    }

    fn known_text(&mut self, text: &'static str) -> io::Result<()> {
        self.once(Once::Text(text), |w| w.text(text))
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.put(&[op::BINUNICODE])?;
        self.put(&(text.len() as u32).to_le_bytes())?;
        self.put(text.as_bytes())
    }

    fn int(&mut self, n: usize) -> io::Result<()> {
        if let Ok(n) = u8::try_from(n) {
            self.put(&[op::BININT1, n])
        } else if let Ok(n) = u16::try_from(n) {
            self.put(&[op::BININT2])?;
            self.put(&n.to_le_bytes())
        } else if let Ok(n) = i32::try_from(n) {
            self.put(&[op::BININT])?;
            self.put(&n.to_le_bytes())
        } else {
            self.long(n)
        }
    }

    /// A large number: its bytes without leading zeros, but with a sign bit.
    fn long(&mut self, n: usize) -> io::Result<()> {
        let mut bytes = n.to_le_bytes().to_vec();
        while bytes.last() == Some(&0) && bytes.len() > 1 && bytes[bytes.len() - 2] < 0x80 {
            bytes.pop();
        }
        if bytes.last().is_some_and(|b| *b >= 0x80) {
            bytes.push(0);
        }
        self.put(&[op::LONG1, bytes.len() as u8])?;
        self.put(&bytes)
    }

    /// `numpy.core.multiarray._reconstruct(numpy.ndarray, (0,), b"b")`, then its state.
    fn array(&mut self, tensor: &Tensor) -> io::Result<()> {
        self.global("numpy.core.multiarray\n_reconstruct\n")?;
        self.global("numpy\nndarray\n")?;
        self.put(&[op::BININT1, 0, op::TUPLE1])?;
        self.remember()?;
        self.once(Once::Seed, |w| w.bytes_call(|w| w.known_text("b")))?;
        self.put(&[op::TUPLE3])?;
        self.remember()?;
        self.put(&[op::REDUCE])?;
        self.remember()?;
        self.array_state(tensor)
    }

    /// `(1, shape, dtype, False, data)`
    fn array_state(&mut self, tensor: &Tensor) -> io::Result<()> {
        self.put(&[op::MARK, op::BININT1, 1])?;
        self.shape(tensor.dims())?;
        self.dtype(tensor.dtype())?;
        self.put(&[op::NEWFALSE])?;
        self.data(tensor.bytes())?;
        self.put(&[op::TUPLE])?;
        self.remember()?;
        self.put(&[op::BUILD])
    }

    fn shape(&mut self, sizes: &[usize]) -> io::Result<()> {
        if sizes.len() > 3 {
            self.put(&[op::MARK])?;
        }
        for &n in sizes {
            self.int(n)?;
        }
        let tuple = [op::EMPTY_TUPLE, op::TUPLE1, op::TUPLE2, op::TUPLE3].get(sizes.len()).copied();
        self.put(&[tuple.unwrap_or(op::TUPLE)])?;
        if sizes.is_empty() { Ok(()) } else { self.remember() }
    }

    /// `numpy.dtype("f4", False, True)`, then its state `(3, "<", None, None, None, -1, -1, 0)`.
    fn dtype(&mut self, dtype: DType) -> io::Result<()> {
        // `check_pickle` lets no other type pass.
        let name = dtype_names::numpy(dtype).unwrap_or("f4");
        let known = self.memo.iter().any(|(known, _)| *known == Once::DType(dtype));
        self.once(Once::DType(dtype), |w| {
            w.global("numpy\ndtype\n")?;
            w.known_text(name)?;
            w.put(&[op::NEWFALSE, op::NEWTRUE, op::TUPLE3])?;
            w.remember()?;
            w.put(&[op::REDUCE])
        })?;
        if known {
            return Ok(());
        }
        self.put(&[op::MARK, op::BININT1, 3])?;
        self.known_text(if dtype.size() == 1 { "|" } else { "<" })?;
        self.put(&[op::NONE; 3])?;
        for _ in 0..2 {
            self.put(&[op::BININT])?;
            self.put(&(-1i32).to_le_bytes())?;
        }
        self.put(&[op::BININT1, 0, op::TUPLE])?;
        self.remember()?;
        self.put(&[op::BUILD])
    }

    /// Bytes, which this protocol can only write as `_codecs.encode(text, "latin1")`.
    fn data(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes_call(|w| {
            w.put(&[op::BINUNICODE])?;
            w.put(&(utf8_len(bytes) as u32).to_le_bytes())?;
            w.latin1(bytes)?;
            w.remember()
        })?;
        self.remember()
    }

    fn bytes_call(&mut self, text: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.global("_codecs\nencode\n")?;
        text(self)?;
        self.known_text("latin1")?;
        self.put(&[op::TUPLE2])?;
        self.remember()?;
        self.put(&[op::REDUCE])
    }

    /// Bytes as UTF-8 text, a character each, a piece at a time.
    fn latin1(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut piece = Vec::with_capacity(1 << 14);
        for part in bytes.chunks(1 << 13) {
            piece.clear();
            for &b in part {
                match b {
                    0..0x80 => piece.push(b),
                    _ => piece.extend([0xc0 | b >> 6, 0x80 | b & 0x3f]),
                }
            }
            self.put(&piece)?;
        }
        Ok(())
    }
}
