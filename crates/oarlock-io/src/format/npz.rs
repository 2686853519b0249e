//! Arrays by name as numpy's `.npz` files hold them: a zip archive of `.npy` files, compressed or not.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use flate2::read::DeflateDecoder;
use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::{DType, Dims, Tensor};

use super::cursor::ByteCursor;
use super::dtype_names;

const NPY: &[u8] = b"\x93NUMPY";
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// The marks of an archive's entry that is stored as it is, or deflated.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// No array of a small file is larger: data shrinks a thousand times at most.
const MAX_RATIO: usize = 1100;

/// Reads the arrays of an archive; `origin` names it in messages.
pub fn read_npz(bytes: &[u8], origin: &str) -> Result<BTreeMap<String, Tensor>> {
    let mut arrays = BTreeMap::new();
    for entry in entries(bytes, origin)? {
        let Some(name) = entry.name.strip_suffix(".npy") else { continue };
        let content = entry.content(bytes, origin)?;
        let array = read_npy(&content, &format!("{origin}, array `{name}`"))?;
        arrays.insert(name.to_string(), array);
    }
    Ok(arrays)
}

/// A file of an archive, as its directory lists it.
struct ZipEntry {
    name: String,
    method: u16,
    crc32: u32,
    packed: usize,
    size: usize,
    at: usize,
}

/// The directory of an archive, which stands at its end.
fn entries(bytes: &[u8], origin: &str) -> Result<Vec<ZipEntry>> {
    let bad = |what: &str| {
        Error::new(Kind::Format, format!("{origin}: {what}")).help("it should be a file that `numpy.savez` wrote")
    };
    let mark = END.to_le_bytes();
    let tail = bytes.len().saturating_sub(66_000);
    let at = bytes[tail..].windows(4).rposition(|w| w == mark).ok_or_else(|| bad("not an archive of arrays"))?;
    let mut r = ByteCursor::new(&bytes[tail + at..], origin);
    r.skip(10, "the end of the archive")?;
    let count = u16::from_le_bytes(r.array("the number of files")?);
    r.skip(4, "the size of the directory")?;
    let start = r.u32("the place of the directory")? as usize;
    r.skip(2, "the end of the archive")?;
    let directory = bytes.get(start..).ok_or_else(|| bad("its directory is outside the file"))?;
    let mut r = ByteCursor::new(directory, origin);
    (0..count).map(|_| entry(&mut r)).collect()
}

fn entry<'a>(r: &mut ByteCursor<'a, &'a [u8]>) -> Result<ZipEntry> {
    let mark = r.u32("an entry of the directory")?;
    if mark != CENTRAL {
        return Err(r.error("an entry of the directory is malformed"));
    }
    r.skip(6, "an entry's version")?;
    let method = u16::from_le_bytes(r.array("an entry's method")?);
    r.skip(4, "an entry's time")?;
    let crc32 = r.u32("an entry's checksum")?;
    let (packed, size) = (r.u32("an entry's size")? as usize, r.u32("an entry's size")? as usize);
    let mut lengths = [0; 3];
    for n in &mut lengths {
        *n = usize::from(u16::from_le_bytes(r.array("an entry's lengths")?));
    }
    r.skip(8, "an entry's attributes")?;
    let at = r.u32("an entry's place")? as usize;
    let name = String::from_utf8_lossy(r.slice(lengths[0], "an entry's name")?).into_owned();
    r.skip(lengths[1] + lengths[2], "an entry's remarks")?;
    Ok(ZipEntry { name, method, crc32, packed, size, at })
}

impl ZipEntry {
    fn content(&self, bytes: &[u8], origin: &str) -> Result<Vec<u8>> {
        let mut r = ByteCursor::new(bytes.get(self.at..).unwrap_or_default(), origin);
        if r.u32("a file of the archive")? != LOCAL {
            return Err(r.error(format_args!("`{}` is not where the directory says", self.name)));
        }
        r.skip(22, "a file's head")?;
        let name = usize::from(u16::from_le_bytes(r.array("a file's name")?));
        let extra = usize::from(u16::from_le_bytes(r.array("a file's remarks")?));
        r.skip(name + extra, "a file's name")?;
        let packed = r.slice(self.packed, &self.name)?;
        let content = match self.method {
            STORED => packed.to_vec(),
            DEFLATED => self.inflate(packed, &r)?,
            other => {
                return Err(r.error(format_args!("`{}` is compressed by method {other}, which is unknown", self.name)));
            }
        };
        if content.len() != self.size || crc32fast::hash(&content) != self.crc32 {
            return Err(r.error(format_args!("`{}` is damaged: its checksum or size is wrong", self.name)));
        }
        Ok(content)
    }

    fn inflate(&self, packed: &[u8], r: &ByteCursor<'_, &[u8]>) -> Result<Vec<u8>> {
        if self.size > packed.len().saturating_mul(MAX_RATIO) {
            return Err(r.error(format_args!("`{}` says {} bytes, more than so few can hold", self.name, self.size)));
        }
        let mut content = Vec::new();
        let read = DeflateDecoder::new(packed).take(self.size as u64 + 1).read_to_end(&mut content);
        read.map_err(|e| r.error(format_args!("`{}` cannot be decompressed: {e}", self.name)))?;
        Ok(content)
    }
}

/// Reads one array.
pub fn read_npy(bytes: &[u8], origin: &str) -> Result<Tensor> {
    let mut r = ByteCursor::new(bytes, origin);
    if r.slice(NPY.len(), "the head")? != NPY {
        return Err(r.error("not an array of numpy"));
    }
    let version: [u8; 2] = r.array("the version")?;
    let len = match version[0] {
        1 => usize::from(u16::from_le_bytes(r.array("the length of the head")?)),
        _ => r.u32("the length of the head")? as usize,
    };
    let head = String::from_utf8_lossy(r.slice(len, "the head")?).into_owned();
    let (dtype, dims) = head_of(&head).map_err(|what| r.error(what))?;
    if Some(r.left()) != dims.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d)) {
        return Err(r.error(format_args!("{} bytes follow the head, which do not fit {dtype}{dims:?}", r.left())));
    }
    let dims = Dims::try_new(&dims).map_err(|e| r.error(e))?;
    let mut tensor = Tensor::new();
    tensor.resize(dtype, dims);
    r.fill(tensor.bytes_mut(), "the elements")?;
    Ok(tensor)
}

/// numpy's mark of the byte order: little-endian, or none for single bytes.
fn byte_order(dtype: DType) -> &'static str {
    if dtype.size() == 1 { "|" } else { "<" }
}

/// Element type and sizes of a head such as `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
fn head_of(head: &str) -> std::result::Result<(DType, Vec<usize>), String> {
    let after = |key: &str| head.split_once(key).map(|(_, rest)| rest.trim_start_matches([':', ' ']));
    let descr = after("'descr'").and_then(|d| d.strip_prefix('\'')?.split('\'').next());
    let Some(descr) = descr else { return Err(format!("the head does not name one element type: {head}")) };
    let (order, name) = descr.split_at_checked(1).unwrap_or_default();
    let dtype = dtype_names::of_numpy(name).filter(|dtype| byte_order(*dtype) == order);
    let Some(dtype) = dtype else {
        return Err(format!("elements of type `{descr}` are not supported"));
    };
    if !after("'fortran_order'").is_some_and(|o| o.starts_with("False")) {
        return Err("the array is stored column after column; save a copy made by numpy.ascontiguousarray".into());
    }
    let shape = after("'shape'").and_then(|s| s.strip_prefix('(')?.split(')').next());
    let sizes = shape.unwrap_or("?").split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::parse);
    match sizes.collect::<std::result::Result<Vec<usize>, _>>() {
        Ok(sizes) => Ok((dtype, sizes)),
        Err(_) => Err(format!("the head has no sizes: {head}")),
    }
}

/// Writes arrays as an archive.
pub fn write_npz(arrays: &[(Name, &Tensor)], out: &mut dyn Write) -> io::Result<()> {
    let (mut at, mut directory) = (0u32, Vec::new());
    for (name, tensor) in arrays {
        let (file, content) = (format!("{name}.npy"), npy(tensor)?);
        let size = u32::try_from(content.len()).map_err(|_| io::Error::other(format!("`{name}` is too large")))?;
        let mut common = Vec::new();
        common.extend([20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0]);
        common.extend(crc32fast::hash(&content).to_le_bytes());
        common.extend([size.to_le_bytes(), size.to_le_bytes()].concat());
        common.extend((file.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        directory.extend(CENTRAL.to_le_bytes());
        directory.extend([20, 0]);
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(file.as_bytes());
        let local = [&LOCAL.to_le_bytes()[..], &common, file.as_bytes()].concat();
        out.write_all(&local)?;
        out.write_all(&content)?;
        at = (local.len() as u32)
            .checked_add(size)
            .and_then(|n| at.checked_add(n))
            .ok_or_else(|| io::Error::other("the arrays are too large for one archive"))?;
    }
    out.write_all(&directory)?;
    let count = (arrays.len() as u16).to_le_bytes();
    let sizes = [(directory.len() as u32).to_le_bytes(), at.to_le_bytes()].concat();
    out.write_all(&[&END.to_le_bytes()[..], &[0; 4], &count, &count, &sizes, &[0, 0]].concat())
}

/// The bytes of one array.
fn npy(tensor: &Tensor) -> io::Result<Vec<u8>> {
    let Some(descr) = dtype_names::numpy(tensor.dtype()) else {
        return Err(io::Error::other(format!("numpy has no elements of type {}", tensor.dtype())));
    };
    let sizes: String = tensor.dims().iter().map(|d| format!("{d}, ")).collect();
    let sizes = if tensor.dims().rank() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let order = byte_order(tensor.dtype());
    let mut head = format!("{{'descr': '{order}{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The elements start at a multiple of 64 bytes.
    while !(NPY.len() + 4 + head.len() + 1).is_multiple_of(64) {
        head.push(' ');
    }
    head.push('\n');
    let len = (head.len() as u16).to_le_bytes();
    Ok([NPY, &[1, 0], &len, head.as_bytes(), tensor.bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let a = Tensor::from_slice([2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let b = Tensor::from_slice([2], &[-1i64, 7]).unwrap();
        let mut bytes = Vec::new();
        write_npz(&[("a".into(), &a), ("dir/b".into(), &b)], &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn arrays_come_back() {
        let arrays = read_npz(&sample(), "x.npz").unwrap();
        assert_eq!(arrays["a"].dims()[..], [2, 3]);
        assert_eq!(arrays["a"].data::<f32>().unwrap()[4], 5.0);
        assert_eq!(arrays["dir/b"].data::<i64>().unwrap(), [-1, 7]);
    }

    #[test]
    fn cut_and_changed_archives_are_refused() {
        let good = sample();
        for n in 0..good.len() {
            assert!(read_npz(&good[..n], "x").is_err(), "truncated at {n}");
        }
        let mut changed = good;
        let at = changed.windows(4).position(|w| w == 5.0f32.to_le_bytes()).unwrap();
        changed[at] ^= 1;
        let e = read_npz(&changed, "x").unwrap_err();
        assert!(e.report().what.contains("`a.npy` is damaged: its checksum or size is wrong"), "{e}");
    }

    #[test]
    fn unsupported_numpy_headers_are_named() {
        assert_eq!(
            head_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"),
            Ok((DType::F32, vec![2, 3]))
        );
        assert_eq!(head_of("{'descr': '|u1', 'fortran_order': False, 'shape': (), }"), Ok((DType::U8, vec![])));
        assert!(head_of("{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }").unwrap_err().contains("`<U3`"));
        assert!(head_of("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }").unwrap_err().contains("column"));
    }
}
