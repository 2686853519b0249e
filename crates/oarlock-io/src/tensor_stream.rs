//! Tensors and selected rows as bytes: the layout of Fluid's parameter files.

use std::path::Path;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{DType, Dims, Lod, SelectedRows, Tensor};

use crate::reader::Reader;

/// Appends a tensor with its LoD.
pub fn encode_tensor(tensor: &Tensor, out: &mut Vec<u8>) {
    out.extend(0u32.to_le_bytes());
    out.extend((tensor.lod().len() as u64).to_le_bytes());
    for level in tensor.lod().levels() {
        out.extend((level.len() as u64 * 8).to_le_bytes());
        level.iter().for_each(|&offset| out.extend((offset as u64).to_le_bytes()));
    }
    encode_plain(tensor, out);
}

/// Appends selected rows.
pub fn encode_rows(rows: &SelectedRows, out: &mut Vec<u8>) {
    out.extend(0u32.to_le_bytes());
    out.extend((rows.rows.len() as u64).to_le_bytes());
    rows.rows.iter().for_each(|r| out.extend(r.to_le_bytes()));
    out.extend(rows.height.to_le_bytes());
    encode_plain(&rows.value, out);
}

/// The part of both without LoD: version, description, elements.
fn encode_plain(tensor: &Tensor, out: &mut Vec<u8>) {
    let mut desc = Vec::new();
    desc.push(0x08);
    varint(tensor.dtype().proto() as u64, &mut desc);
    for &d in tensor.dims().iter() {
        desc.push(0x10);
        varint(d as u64, &mut desc);
    }
    out.extend(0u32.to_le_bytes());
    out.extend((desc.len() as u32).to_le_bytes());
    out.extend(desc);
    out.extend_from_slice(tensor.bytes());
}

fn varint(mut v: u64, out: &mut Vec<u8>) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Reads one tensor from the start of `bytes`; returns it and how many bytes it took. `origin` names the source in messages.
pub fn decode_tensor(bytes: &[u8], origin: &str) -> Result<(Tensor, usize)> {
    let mut r = Reader::new(bytes, origin);
    version(&mut r, "the tensor")?;
    let levels = r.count(8, "the number of LoD levels")?;
    let mut lod = Vec::with_capacity(levels);
    for _ in 0..levels {
        let size = r.count(1, "the size of a LoD level")?;
        let offsets = r.take(size, "a LoD level")?;
        if size % 8 != 0 {
            return Err(r.error(format_args!("a LoD level of {size} bytes does not hold whole offsets")));
        }
        lod.push(
            offsets.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default()) as usize).collect(),
        );
    }
    let mut tensor = decode_plain(&mut r)?;
    let lod = Lod::new(lod);
    lod.check(tensor.rows()).map_err(|e| r.error(e))?;
    tensor.set_lod(lod);
    Ok((tensor, r.at()))
}

/// Reads selected rows from the start of `bytes`; returns them and how many bytes they took.
pub fn decode_rows(bytes: &[u8], origin: &str) -> Result<(SelectedRows, usize)> {
    let mut r = Reader::new(bytes, origin);
    version(&mut r, "selected rows")?;
    let n = r.count(8, "the number of rows")?;
    let rows = (0..n).map(|_| r.i64("a row")).collect::<Result<Vec<i64>>>()?;
    let height = r.i64("the height")?;
    let value = decode_plain(&mut r)?;
    if value.rows() != n {
        return Err(r.error(format_args!("{n} rows are named, but the values have {}", value.rows())));
    }
    Ok((SelectedRows { rows, height, value }, r.at()))
}

fn version(r: &mut Reader<'_>, what: &str) -> Result<()> {
    match r.u32("a version")? {
        0 => Ok(()),
        v => Err(r.error(format_args!("{what} has version {v}, but only version 0 is known"))),
    }
}

fn decode_plain(r: &mut Reader<'_>) -> Result<Tensor> {
    version(r, "the tensor")?;
    let len = r.u32("the length of the description")? as usize;
    let desc = r.take(len, "the description")?;
    let (dtype, sizes) = description(desc).ok_or_else(|| r.error("the description is malformed"))?;
    let dtype = DType::from_proto(dtype).ok_or_else(|| r.error(format_args!("element type {dtype} is unknown")))?;
    let dims = Dims::try_new(&sizes).map_err(|e| r.error(e))?;
    let bytes = sizes.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d));
    let Some(bytes) = bytes else { return Err(r.error(format_args!("sizes {dims} are too large"))) };
    let data = r.take(bytes, &format!("a tensor of {dtype}{dims}"))?;
    let mut tensor = Tensor::new();
    tensor.resize(dtype, dims);
    tensor.bytes_mut().copy_from_slice(data);
    Ok(tensor)
}

/// Element type and sizes of a `TensorDesc` message; unknown fields are skipped.
fn description(desc: &[u8]) -> Option<(i32, Vec<usize>)> {
    let mut at = 0;
    let number = |at: &mut usize| -> Option<u64> {
        let (mut v, mut shift) = (0u64, 0);
        loop {
            let byte = *desc.get(*at)?;
            *at += 1;
            v |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                return Some(v);
            }
        }
    };
    let (mut dtype, mut sizes) = (None, Vec::new());
    while at < desc.len() {
        let tag = number(&mut at)?;
        match (tag >> 3, tag & 7) {
            (1, 0) => dtype = Some(number(&mut at)? as i32),
            (2, 0) => sizes.push(usize::try_from(number(&mut at)? as i64).ok()?),
            (2, 2) => {
                let end = at.checked_add(number(&mut at)? as usize)?;
                let end = end.min(desc.len());
                while at < end {
                    sizes.push(usize::try_from(number(&mut at)? as i64).ok()?);
                }
            }
            (_, 0) => drop(number(&mut at)?),
            (_, 1) => at += 8,
            (_, 2) => at = at.checked_add(number(&mut at)? as usize)?,
            (_, 5) => at += 4,
            _ => return None,
        }
    }
    Some((dtype?, sizes))
}

/// Reads a file that holds one tensor and nothing else.
pub fn read_tensor_file(path: &Path) -> Result<Tensor> {
    let origin = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|e| io_error(&origin, "read", e))?;
    let (tensor, used) = decode_tensor(&bytes, &origin)?;
    if used != bytes.len() {
        let what = format!("{origin}: {} bytes are left over after the tensor", bytes.len() - used);
        return Err(Error::new(Kind::Format, what).help("a combined file holds several tensors; load it as such"));
    }
    Ok(tensor)
}

/// Writes a file that holds one tensor: to a temporary file first, so that no half-written one is ever seen under its name.
pub fn write_tensor_file(path: &Path, tensor: &Tensor) -> Result<()> {
    let origin = path.display().to_string();
    let mut bytes = Vec::new();
    encode_tensor(tensor, &mut bytes);
    let part =
        path.with_file_name(format!("{}.part", path.file_name().map(|n| n.to_string_lossy()).unwrap_or_default()));
    std::fs::write(&part, bytes).map_err(|e| io_error(&origin, "write", e))?;
    std::fs::rename(&part, path).map_err(|e| io_error(&origin, "write", e))
}

fn io_error(origin: &str, does: &str, e: std::io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot {does} {origin}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tensor {
        let mut t = Tensor::from_slice([3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        t.set_lod(Lod::new(vec![vec![0, 1, 3]]));
        t
    }

    #[test]
    fn a_tensor_comes_back() {
        let mut bytes = Vec::new();
        encode_tensor(&sample(), &mut bytes);
        assert_eq!(decode_tensor(&bytes, "w").unwrap(), (sample(), bytes.len()));
        let rows = SelectedRows {
            rows: vec![4, 1, 4],
            height: 9,
            value: {
                let mut t = sample();
                t.set_lod(Lod::NONE);
                t
            },
        };
        let mut bytes = Vec::new();
        encode_rows(&rows, &mut bytes);
        assert_eq!(decode_rows(&bytes, "g").unwrap(), (rows, bytes.len()));
    }

    #[test]
    fn every_cut_and_flip_is_an_error_or_a_tensor() {
        let mut bytes = Vec::new();
        encode_tensor(&sample(), &mut bytes);
        for n in 0..bytes.len() {
            assert!(decode_tensor(&bytes[..n], "w").is_err(), "cut at {n}");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[n] ^= 1 << bit;
                // Must not panic; what it returns depends on which byte was hit.
                drop(decode_tensor(&flipped, "w"));
            }
        }
    }

    #[test]
    fn the_message_says_where() {
        let mut bytes = Vec::new();
        encode_tensor(&sample(), &mut bytes);
        let e = decode_tensor(&bytes[..bytes.len() - 4], "fc_0.w_0").unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[format]: fc_0.w_0: a tensor of f32[3, 2] needs 24 bytes, but only 20 are left (at byte 58)\n  \
             help: the file is damaged, cut short, or not what it should be; restore it from a good copy"
        );
    }
}
