//! Tensors and selected rows as bytes: the layout of Fluid's parameter files.

use std::io::{self, Read, Write};

use oarlock_ir::Result;
use oarlock_tensor::{DType, Dims, Lod, SelectedRows, Tensor};

use crate::format::cursor::ByteCursor;

/// Writes a tensor with its LoD. The elements go out straight from the tensor's memory.
pub fn write_tensor(tensor: &Tensor, out: &mut dyn Write) -> io::Result<()> {
    let mut head = 0u32.to_le_bytes().to_vec();
    head.extend((tensor.lod().len() as u64).to_le_bytes());
    for level in tensor.lod().levels() {
        head.extend((level.len() as u64 * 8).to_le_bytes());
        level.iter().for_each(|&offset| head.extend((offset as u64).to_le_bytes()));
    }
    out.write_all(&head)?;
    write_plain(tensor, out)
}

/// Appends a tensor with its LoD to bytes in memory.
pub fn encode_tensor(tensor: &Tensor, out: &mut Vec<u8>) {
    // A vector takes everything: there is no error to pass on.
    write_tensor(tensor, out).unwrap_or_default();
}

/// Writes selected rows.
pub fn write_rows(rows: &SelectedRows, out: &mut dyn Write) -> io::Result<()> {
    let mut head = 0u32.to_le_bytes().to_vec();
    head.extend((rows.rows.len() as u64).to_le_bytes());
    rows.rows.iter().for_each(|r| head.extend(r.to_le_bytes()));
    head.extend(rows.height.to_le_bytes());
    out.write_all(&head)?;
    write_plain(&rows.value, out)
}

/// The part of both without LoD: version, description, elements.
fn write_plain(tensor: &Tensor, out: &mut dyn Write) -> io::Result<()> {
    let mut desc = Vec::new();
    desc.push(0x08);
    varint(tensor.dtype().proto() as u64, &mut desc);
    for &d in tensor.dims().iter() {
        desc.push(0x10);
        varint(d as u64, &mut desc);
    }
    out.write_all(&0u32.to_le_bytes())?;
    out.write_all(&(desc.len() as u32).to_le_bytes())?;
    out.write_all(&desc)?;
    out.write_all(tensor.bytes())
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
    let mut r = ByteCursor::new(bytes, origin);
    let tensor = read_tensor(&mut r)?;
    Ok((tensor, r.at()))
}

/// Reads selected rows from the start of `bytes`; returns them and how many bytes they took.
pub fn decode_rows(bytes: &[u8], origin: &str) -> Result<(SelectedRows, usize)> {
    let mut r = ByteCursor::new(bytes, origin);
    let rows = read_rows(&mut r)?;
    Ok((rows, r.at()))
}

/// Reads one tensor.
pub(crate) fn read_tensor<R: Read>(r: &mut ByteCursor<'_, R>) -> Result<Tensor> {
    version(r, "the tensor")?;
    let levels = r.count(8, "the number of LoD levels")?;
    let lod = (0..levels).map(|_| read_lod_level(r)).collect::<Result<Vec<_>>>()?;
    let mut tensor = read_plain(r)?;
    let lod = Lod::new(lod);
    lod.check(tensor.rows()).map_err(|e| r.error(e))?;
    tensor.set_lod(lod);
    Ok(tensor)
}

fn read_lod_level<R: Read>(r: &mut ByteCursor<'_, R>) -> Result<Vec<usize>> {
    let size = r.count(1, "the size of a LoD level")?;
    let offsets = r.take(size, "a LoD level")?;
    let (offsets, rest) = offsets.as_chunks();
    if !rest.is_empty() {
        return Err(r.error(format_args!("a LoD level of {size} bytes does not hold whole offsets")));
    }
    Ok(offsets.iter().map(|&offset| u64::from_le_bytes(offset) as usize).collect())
}

/// Reads selected rows.
pub(crate) fn read_rows<R: Read>(r: &mut ByteCursor<'_, R>) -> Result<SelectedRows> {
    version(r, "selected rows")?;
    let n = r.count(8, "the number of rows")?;
    let rows = (0..n).map(|_| r.i64("a row")).collect::<Result<Vec<i64>>>()?;
    let height = r.i64("the height")?;
    let value = read_plain(r)?;
    if value.rows() != n {
        return Err(r.error(format_args!("{n} rows are named, but the values have {}", value.rows())));
    }
    Ok(SelectedRows { rows, height, value })
}

/// Reads a part of one tensor: `dims` many elements after the first `seek`. Such files have no LoD.
pub(crate) fn read_part<R: Read>(r: &mut ByteCursor<'_, R>, seek: usize, dims: Dims) -> Result<Tensor> {
    version(r, "the tensor")?;
    let levels = r.u64("the number of LoD levels")?;
    if levels != 0 {
        return Err(r.error(format_args!("a part was asked for, but the tensor has {levels} LoD levels")));
    }
    let (dtype, whole) = read_description(r)?;
    let last = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).and_then(|n| n.checked_add(seek));
    if last.is_none_or(|last| last > whole.numel()) {
        let what = format_args!("the file holds {dtype}{whole}, but {dims} was asked for from element {seek} on");
        return Err(r.error(what));
    }
    r.skip(seek * dtype.size(), "the elements before")?;
    let part = read_elements(r, dtype, dims)?;
    r.skip((whole.numel() - seek - dims.numel()) * dtype.size(), "the elements after")?;
    Ok(part)
}

fn version<R: Read>(r: &mut ByteCursor<'_, R>, what: &str) -> Result<()> {
    match r.u32("a version")? {
        0 => Ok(()),
        v => Err(r.error(format_args!("{what} has version {v}, but only version 0 is known"))),
    }
}

fn read_plain<R: Read>(r: &mut ByteCursor<'_, R>) -> Result<Tensor> {
    let (dtype, dims) = read_description(r)?;
    read_elements(r, dtype, dims)
}

/// Element type and sizes, which the rest of the file can hold.
fn read_description<R: Read>(r: &mut ByteCursor<'_, R>) -> Result<(DType, Dims)> {
    version(r, "the tensor")?;
    let len = r.u32("the length of the description")? as usize;
    let desc = r.take(len, "the description")?;
    let (dtype, sizes) = description(&desc).ok_or_else(|| r.error("the description is malformed"))?;
    let dtype = DType::from_proto(dtype).ok_or_else(|| r.error(format_args!("element type {dtype} is unknown")))?;
    let dims = Dims::try_new(&sizes).map_err(|e| r.error(e))?;
    let bytes = sizes.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d));
    let Some(bytes) = bytes else { return Err(r.error(format_args!("sizes {dims} are too large"))) };
    if bytes > r.left() {
        let left = r.left();
        return Err(r.error(format_args!("a tensor of {dtype}{dims} needs {bytes} bytes, but only {left} are left")));
    }
    Ok((dtype, dims))
}

fn read_elements<R: Read>(r: &mut ByteCursor<'_, R>, dtype: DType, dims: Dims) -> Result<Tensor> {
    let mut tensor = Tensor::new();
    tensor.resize(dtype, dims);
    r.fill(tensor.bytes_mut(), "the elements")?;
    Ok(tensor)
}

/// Element type and sizes of a `TensorDesc` message; unknown fields are skipped.
fn description(mut desc: &[u8]) -> Option<(i32, Vec<usize>)> {
    let (mut dtype, mut sizes) = (None, Vec::new());
    while !desc.is_empty() {
        let tag = number(&mut desc)?;
        match (tag >> 3, tag & 7) {
            (1, 0) => dtype = Some(number(&mut desc)? as i32),
            (2, 0) => sizes.push(size(&mut desc)?),
            (2, 2) => {
                let n = number(&mut desc)?;
                let mut packed = desc.split_off(..usize::try_from(n).ok()?)?;
                while !packed.is_empty() {
                    sizes.push(size(&mut packed)?);
                }
            }
            (_, 0) => drop(number(&mut desc)?),
            (_, 1) => drop(desc.split_off(..8)?),
            (_, 2) => {
                let n = number(&mut desc)?;
                desc.split_off(..usize::try_from(n).ok()?)?;
            }
            (_, 5) => drop(desc.split_off(..4)?),
            _ => return None,
        }
    }
    Some((dtype?, sizes))
}

/// A variable-length number at the start, which is truncated.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut v, mut shift) = (0u64, 0);
    loop {
        let byte = *bytes.split_off_first()?;
        v |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte < 0x80 {
            return Some(v);
        }
    }
}

/// A size at the start: a number that is not negative.
fn size(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(number(bytes)? as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tensor {
        let mut t = Tensor::from_slice([3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        t.set_lod(Lod::new(vec![vec![0, 1, 3]]));
        t
    }

    fn encoded(tensor: &Tensor) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_tensor(tensor, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_tensor_comes_back() {
        let bytes = encoded(&sample());
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
        write_rows(&rows, &mut bytes).unwrap();
        assert_eq!(decode_rows(&bytes, "g").unwrap(), (rows, bytes.len()));
    }

    #[test]
    fn every_truncation_and_bit_flip_is_an_error_or_a_tensor() {
        let bytes = encoded(&sample());
        for n in 0..bytes.len() {
            assert!(decode_tensor(&bytes[..n], "w").is_err(), "truncated at {n}");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[n] ^= 1 << bit;
                // Must not panic; what it returns depends on which byte was hit.
                drop(decode_tensor(&flipped, "w"));
            }
        }
    }

    #[test]
    fn a_malformed_tensor_is_reported_with_its_byte() {
        let bytes = encoded(&sample());
        let e = decode_tensor(&bytes[..bytes.len() - 4], "fc_0.w_0").unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[format]: fc_0.w_0: a tensor of f32[3, 2] needs 24 bytes, but only 20 are left (at byte 58)\n  \
             help: the file is damaged, truncated, or not what it should be; restore it from a good copy"
        );
    }

    #[test]
    fn a_part_is_what_the_whole_holds_there() {
        let mut whole = sample();
        whole.set_lod(Lod::NONE);
        let bytes = encoded(&whole);
        let part = read_part(&mut ByteCursor::new(&bytes, "w"), 2, Dims::from([1, 2])).unwrap();
        assert_eq!(part, Tensor::from_slice([1, 2], &[3.0f32, 4.0]).unwrap());
        let e = read_part(&mut ByteCursor::new(&bytes, "w"), 4, Dims::from([2, 2])).unwrap_err();
        assert_eq!(
            e.report().what,
            "w: the file holds f32[3, 2], but [2, 2] was asked for from element 4 on (at byte 26)"
        );
    }

    #[test]
    fn packed_sizes_and_unknown_fields_are_read() {
        // dtype 5; an unknown text of 2 bytes; sizes 300 and 2, packed.
        let desc = [0x08, 5, 0x1a, 2, b'h', b'i', 0x12, 3, 0xac, 0x02, 2];
        assert_eq!(description(&desc), Some((5, vec![300, 2])));
        assert_eq!(description(&desc[..desc.len() - 1]), None);
    }
}
