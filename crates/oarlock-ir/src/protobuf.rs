//! The encoding under the file format of programs: tagged fields of varints, fixed-size numbers and byte strings
//! (Protocol Buffers). It knows no message; `proto` does.
//!
//! Reading trusts nothing: every length is checked against what is left, and nothing is allocated ahead of the bytes
//! that justify it.

use crate::{Error, Kind};

/// A fault in the bytes, and where it is.
#[derive(Debug)]
pub(crate) struct Bad {
    what: String,
    at: usize,
    /// The messages around it, innermost first.
    path: Vec<String>,
}

/// Result of reading bytes.
pub(crate) type Read<T> = std::result::Result<T, Bad>;

impl Bad {
    /// A fault at an offset of the file.
    pub(crate) fn new(at: usize, what: impl Into<String>) -> Bad {
        Bad { what: what.into(), at, path: Vec::new() }
    }

    /// As users see it.
    pub(crate) fn into_error(self) -> Error {
        let mut place = format!("byte {}", self.at);
        for step in &self.path {
            place = format!("{step}, {place}");
        }
        Error::new(Kind::Format, format!("this is not a program: {}", self.what))
            .note(format!("at {place}"))
            .help("the file is damaged or is something else; copy it again, or save the program again")
    }
}

/// Names the message around an error.
pub(crate) trait Inside<T> {
    /// Adds one step outwards to the path of an error.
    fn inside(self, step: impl FnOnce() -> String) -> Read<T>;
}

impl<T> Inside<T> for Read<T> {
    fn inside(self, step: impl FnOnce() -> String) -> Read<T> {
        self.map_err(|mut bad| {
            bad.path.push(step());
            bad
        })
    }
}

/// The value of a field as it is encoded.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(&'a [u8]),
}

/// One field of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    /// Its number.
    pub(crate) number: u32,
    /// Where it starts in the file.
    pub(crate) at: usize,
    /// All of it, tag included.
    pub(crate) raw: &'a [u8],
    value: Value<'a>,
}

impl<'a> Field<'a> {
    /// An error about this field.
    pub(crate) fn bad<T>(&self, what: impl Into<String>) -> Read<T> {
        Err(Bad::new(self.at, what))
    }

    fn wrong<T>(&self, expected: &str) -> Read<T> {
        self.bad(format!("field {} should be {expected}", self.number))
    }

    /// A 64-bit integer.
    pub(crate) fn long(&self) -> Read<i64> {
        match self.value {
            Value::Varint(v) => Ok(v as i64),
            _ => self.wrong("an integer"),
        }
    }

    /// A 32-bit integer; as everywhere in this encoding, higher bits are dropped.
    pub(crate) fn int(&self) -> Read<i32> {
        Ok(self.long()? as i32)
    }

    /// A truth value.
    pub(crate) fn boolean(&self) -> Read<bool> {
        Ok(self.long()? != 0)
    }

    /// A 32-bit float.
    pub(crate) fn float(&self) -> Read<f32> {
        match self.value {
            Value::Fixed32(v) => Ok(f32::from_bits(v)),
            _ => self.wrong("a 32-bit number"),
        }
    }

    /// A 64-bit float.
    pub(crate) fn double(&self) -> Read<f64> {
        match self.value {
            Value::Fixed64(v) => Ok(f64::from_bits(v)),
            _ => self.wrong("a 64-bit number"),
        }
    }

    /// Bytes.
    pub(crate) fn bytes(&self) -> Read<&'a [u8]> {
        match self.value {
            Value::Bytes(b) => Ok(b),
            _ => self.wrong("a byte string"),
        }
    }

    /// Text.
    pub(crate) fn text(&self) -> Read<&'a str> {
        match std::str::from_utf8(self.bytes()?) {
            Ok(text) => Ok(text),
            Err(_) => self.bad(format!("the text in field {} is not UTF-8", self.number)),
        }
    }

    /// The fields of a message inside.
    pub(crate) fn message(&self) -> Read<Fields<'a>> {
        let bytes = self.bytes()?;
        Ok(Fields { bytes, pos: 0, base: self.at + self.raw.len() - bytes.len() })
    }

    /// Integers of a list: this field is one of them, or all of them packed.
    pub(crate) fn each_long(&self, mut f: impl FnMut(i64)) -> Read<()> {
        if !matches!(self.value, Value::Bytes(_)) {
            return self.long().map(f);
        }
        let mut packed = self.message()?;
        while packed.left() > 0 {
            f(packed.varint()? as i64);
        }
        Ok(())
    }

    /// 32-bit floats of a list, one or packed.
    pub(crate) fn each_float(&self, f: impl FnMut(f32)) -> Read<()> {
        match self.value {
            Value::Bytes(b) => self.each_chunk(b, f32::from_le_bytes, f),
            _ => self.float().map(f),
        }
    }

    /// 64-bit floats of a list, one or packed.
    pub(crate) fn each_double(&self, f: impl FnMut(f64)) -> Read<()> {
        match self.value {
            Value::Bytes(b) => self.each_chunk(b, f64::from_le_bytes, f),
            _ => self.double().map(f),
        }
    }

    fn each_chunk<T, const N: usize>(&self, bytes: &[u8], from: fn([u8; N]) -> T, f: impl FnMut(T)) -> Read<()> {
        let (chunks, rest) = bytes.as_chunks::<N>();
        if !rest.is_empty() {
            return self.bad(format!("{} bytes are not a list of {N}-byte numbers", bytes.len()));
        }
        chunks.iter().map(|c| from(*c)).for_each(f);
        Ok(())
    }
}

/// The fields of a message, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// Where `bytes` starts in the file.
    base: usize,
}

impl<'a> Fields<'a> {
    /// The fields of the message that is the whole file.
    pub(crate) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, pos: 0, base: 0 }
    }

    /// The offset in the file.
    fn at(&self) -> usize {
        self.base + self.pos
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.pos
    }

    fn take(&mut self, n: u64) -> Read<&'a [u8]> {
        let left = self.left();
        if n > left as u64 {
            return Err(Bad::new(self.at(), format!("{n} bytes should follow, but only {left} are left")));
        }
        let start = self.pos;
        self.pos += n as usize;
        Ok(&self.bytes[start..self.pos])
    }

    fn take_array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    fn varint(&mut self) -> Read<u64> {
        let start = self.at();
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take_array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Bad::new(start, "a number is longer than ten bytes"))
    }

    fn field(&mut self) -> Read<Field<'a>> {
        let (at, start) = (self.at(), self.pos);
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).unwrap_or(0);
        if number == 0 || number >= 1 << 29 {
            return Err(Bad::new(at, format!("{} is not the number of a field", tag >> 3)));
        }
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take_array()?)),
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(len)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take_array()?)),
            other => {
                return Err(Bad::new(at, format!("field {number} has encoding {other}, which programs do not use")));
            }
        };
        Ok(Field { number, at, raw: &self.bytes[start..self.pos], value })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Read<Field<'a>>;

    fn next(&mut self) -> Option<Read<Field<'a>>> {
        (self.left() > 0).then(|| self.field())
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_tag(out: &mut Vec<u8>, number: u32, encoding: u64) {
    put_varint(out, u64::from(number) << 3 | encoding);
}

/// Writes an integer field; negative ones take ten bytes.
pub(crate) fn put_long(out: &mut Vec<u8>, number: u32, value: i64) {
    put_tag(out, number, 0);
    put_varint(out, value as u64);
}

/// Writes a field that is an index.
pub(crate) fn put_index(out: &mut Vec<u8>, number: u32, value: usize) {
    put_long(out, number, value as i64);
}

/// Writes a truth value.
pub(crate) fn put_bool(out: &mut Vec<u8>, number: u32, value: bool) {
    put_long(out, number, i64::from(value));
}

/// Writes a 32-bit float.
pub(crate) fn put_float(out: &mut Vec<u8>, number: u32, value: f32) {
    put_tag(out, number, 5);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a 64-bit float.
pub(crate) fn put_double(out: &mut Vec<u8>, number: u32, value: f64) {
    put_tag(out, number, 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes text or bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, number: u32, value: impl AsRef<[u8]>) {
    let value = value.as_ref();
    put_tag(out, number, 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Writes a message that `fill` writes the fields of.
pub(crate) fn put_message(out: &mut Vec<u8>, number: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    put_bytes(out, number, inner);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: &[u8]) -> Field<'_> {
        Fields::new(bytes).next().unwrap().unwrap()
    }

    fn error(bytes: &[u8]) -> String {
        Fields::new(bytes).find_map(|f| f.err()).expect("an error").into_error().report().what.clone()
    }

    #[test]
    fn negative_numbers_take_ten_bytes() {
        let mut out = Vec::new();
        put_long(&mut out, 3, -1);
        assert_eq!(out, [0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        assert_eq!(one(&out).int().unwrap(), -1);
        assert_eq!(one(&out).long().unwrap(), -1);
    }

    #[test]
    fn lists_may_be_packed() {
        let mut out = Vec::new();
        put_bytes(&mut out, 6, [1, 2, 0xac, 2]);
        let mut seen = Vec::new();
        one(&out).each_long(|v| seen.push(v)).unwrap();
        assert_eq!(seen, [1, 2, 300]);

        let floats: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|f| f.to_le_bytes()).collect();
        let mut out = Vec::new();
        put_bytes(&mut out, 7, &floats);
        let mut seen = Vec::new();
        one(&out).each_float(|v| seen.push(v)).unwrap();
        assert_eq!(seen, [1.5, -2.0]);
    }

    #[test]
    fn broken_bytes_are_errors() {
        assert_eq!(error(&[0x0a, 5, 1]), "this is not a program: 5 bytes should follow, but only 1 are left");
        assert_eq!(error(&[0x0a]), "this is not a program: 1 bytes should follow, but only 0 are left");
        assert_eq!(error(&[0x00]), "this is not a program: 0 is not the number of a field");
        assert_eq!(error(&[0x0b]), "this is not a program: field 1 has encoding 3, which programs do not use");
        assert_eq!(
            error(&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
            "this is not a program: a number is longer than ten bytes"
        );
        let huge = [0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert!(error(&huge).contains("18446744073709551615 bytes should follow"));
    }
}
