//! `hash`: numbers of any size brought into a range.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_tensor::{DType, Element, MAX_RANK};

pub(crate) const OPS: &[&dyn OpDef] = &[&Hash];

struct Hash;

impl OpDef for Hash {
    sig! {
        "hash": "Out[..., k, 0] = XXH64(the bytes of X[..., :], seed k) % mod_by";
        in "X": "i32 or i64; the last dimension is hashed as a whole";
        out "Out": "like `X`, with num_hash by 1 in place of the last dimension; with its LoD";
        attr "num_hash" = 1, "how many hashes of each row, with seeds 0, 1, ...";
        attr "mod_by" = 100_000i64, "hashes are less than this";
        hints ["@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@"];
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.integer("X")?;
        let hashes = cx.attrs().count("num_hash")?;
        let Some((_, rows)) = x.shape.split_last() else {
            return Err(cx.shape_error(format!("needs at least one dimension, but has {}", cx.describe("X"))));
        };
        let mut dims = rows.to_vec();
        dims.extend([Dim::Is(hashes), Dim::Is(1)]);
        cx.set("Out", x.with_shape(dims));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        match p.dtype("X")? {
            DType::I32 => hash_kernel::<i32>(p),
            _ => hash_kernel::<i64>(p),
        }
    }
}

fn hash_kernel<T: Element>(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output("Out")?);
    let (hashes, mod_by) = (p.attrs().count("num_hash")?, p.attrs().int("mod_by")?);
    if mod_by <= 0 {
        fail!(Kind::Argument, "attribute `mod_by` of `hash` must be at least 1, but it is {mod_by}");
    }
    kernel(move |io| {
        let from = io.dense(x)?;
        io.data::<T>(x, &from)?;
        let mut dims = *from.dims();
        let (Some(&width), true) = (from.dims().last(), dims.rank() < MAX_RANK) else {
            return Err(io.error(Kind::Shape, x, format!("is {}, whose rows cannot be hashed", from.dims())));
        };
        let last = dims.rank() - 1;
        dims[last] = hashes;
        dims.push(1);
        let mut to = io.out_sized(out, T::DTYPE, dims)?;
        to.set_lod(from.lod().clone());
        let rows = from.bytes().chunks_exact((width * T::DTYPE.size()).max(1));
        for (row, to) in rows.zip(io.data_mut::<T>(out, &mut to)?.chunks_exact_mut(hashes.max(1))) {
            for (seed, to) in (0..).zip(to) {
                *to = T::from_i64((xxh64(row, seed) % mod_by as u64) as i64);
            }
        }
        Ok(())
    })
}

const PRIMES: [u64; 5] =
    [0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5];

/// XXH64, as its specification defines it.
fn xxh64(data: &[u8], seed: u64) -> u64 {
    let [p1, p2, p3, p4, p5] = PRIMES;
    let (stripes, rest) = data.as_chunks::<32>();
    let mut hash = if stripes.is_empty() {
        seed.wrapping_add(p5)
    } else {
        let mut lanes = [seed.wrapping_add(p1).wrapping_add(p2), seed.wrapping_add(p2), seed, seed.wrapping_sub(p1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let [a, b, c, d] = lanes;
        let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
        let sum = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
        lanes.iter().fold(sum, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(p1).wrapping_add(p4))
    };
    hash = hash.wrapping_add(data.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(p1).wrapping_add(p4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(p1);
        hash = hash.rotate_left(23).wrapping_mul(p2).wrapping_add(p3);
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(p5);
        hash = hash.rotate_left(11).wrapping_mul(p1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(p2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(p3);
    hash ^ (hash >> 32)
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIMES[1])).rotate_left(31).wrapping_mul(PRIMES[0])
}

#[cfg(test)]
mod tests {
    use super::xxh64;
    use crate::testing::{check, tensor_of, with_lod};

    /// Values of the reference implementation.
    #[test]
    fn known_hashes() {
        assert_eq!(xxh64(b"", 0), 0xEF46_DB37_51D8_E999);
        assert_eq!(xxh64(b"a", 0), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(xxh64(b"abc", 0), 0x44BC_2CF5_AD77_0999);
        assert_eq!(xxh64(b"xxhash", 20141025), 0xB559_B98D_844E_0635);
        assert_eq!(xxh64(b"Nobody inspects the spammish repetition", 0), 0xFBCE_A83C_8A37_8BF1);
    }

    /// As PaddlePaddle 1.8.5 hashes them.
    #[test]
    fn rows_are_hashed_as_a_whole() {
        check("hash")
            .input("X", with_lod(tensor_of([2, 2], &[1i32, 2, 3, 4]), &[&[0, 1, 2]]))
            .attr("num_hash", 2)
            .output("Out", with_lod(tensor_of([2, 2, 1], &[37722i32, 18407, 11603, 95590]), &[&[0, 1, 2]]))
            .run();
    }
}
