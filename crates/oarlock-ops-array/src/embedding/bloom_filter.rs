//! Bloom filters as Fluid stores them in tensors, by which `pyramid_hash` tells which terms count.
//!
//! The header is four numbers of 64 bits: a mark, the number of bits, the number of rounds, the number of keys. Bits follow.

/// A filter in the bytes of a tensor.
pub(crate) struct BloomFilter<'t> {
    bits: u64,
    rounds: u64,
    data: &'t [u8],
}

const MARK: u64 = 17_070_416;
const HEADER: usize = 32;

impl<'t> BloomFilter<'t> {
    /// The filter of these bytes; the error says what is wrong with them.
    pub(crate) fn new(bytes: &'t [u8]) -> Result<BloomFilter<'t>, String> {
        let number = |at: usize| {
            let bytes = bytes.get(at * 8..)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let (Some(mark), Some(bits), Some(rounds)) = (number(0), number(1), number(2)) else {
            return Err(format!("has {} bytes, too few for a filter", bytes.len()));
        };
        if mark != MARK {
            return Err(format!("holds no filter: it begins with {mark}, not {MARK}"));
        }
        let data = bytes.get(HEADER..).unwrap_or_default();
        if bits == 0 || bits.div_ceil(8) > data.len() as u64 {
            return Err(format!("holds a filter of {bits} bits, but {} bytes of them", data.len()));
        }
        Ok(BloomFilter { bits, rounds, data })
    }

    /// Was the key put in? A few that were not seem so.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let set = |bit: u64| self.data[(bit >> 3) as usize] & (0x80 >> (bit & 7)) != 0;
        (0..self.rounds).all(|round| murmur3(key, round as u32).iter().all(|hash| set(hash % self.bits)))
    }
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// MurmurHash3 for 64-bit machines, 128 bits, as its specification defines it.
fn murmur3(key: &[u8], seed: u32) -> [u64; 2] {
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));
    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let [k1, k2] = halves(block);
        h1 = (h1 ^ mix1(k1)).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ mix2(k2)).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    let [k1, k2] = halves(&last);
    h2 ^= mix2(k2);
    h1 ^= mix1(k1);
    let len = key.len() as u64;
    (h1, h2) = (h1 ^ len, h2 ^ len);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (finish(h1), finish(h2));
    h1 = h1.wrapping_add(h2);
    [h1, h2.wrapping_add(h1)]
}

fn halves(block: &[u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(*block);
    [whole as u64, (whole >> 64) as u64]
}

fn finish(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

/// A filter that holds these keys.
#[cfg(test)]
pub(crate) fn filter_of(keys: &[&[u8]], bits: u64, rounds: u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = [MARK, bits, rounds, keys.len() as u64].iter().flat_map(|n| n.to_le_bytes()).collect();
    bytes.resize(HEADER + bits.div_ceil(8) as usize, 0);
    for key in keys {
        for hash in (0..rounds).flat_map(|round| murmur3(key, round as u32)) {
            let bit = hash % bits;
            bytes[HEADER + (bit >> 3) as usize] |= 0x80 >> (bit & 7);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the reference implementation.
    #[test]
    fn known_hashes() {
        assert_eq!(murmur3(b"", 0), [0, 0]);
        assert_eq!(murmur3(b"hello", 0), [0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19]);
        assert_eq!(murmur3(b"hello, world", 0), [0x342f_ac62_3a5e_bc8e, 0x4cdc_bc07_9642_414d]);
    }

    #[test]
    fn keys_are_found_and_others_are_not() {
        let bytes = filter_of(&[b"one", b"two"], 1024, 3);
        let filter = BloomFilter::new(&bytes).expect("a filter");
        assert!(filter.contains(b"one") && filter.contains(b"two") && !filter.contains(b"three"));
    }

    #[test]
    fn bytes_without_a_filter_are_an_error() {
        assert_eq!(BloomFilter::new(&[0; 8]).err().as_deref(), Some("has 8 bytes, too few for a filter"));
        assert!(BloomFilter::new(&[1; 64]).err().is_some_and(|e| e.contains("holds no filter")));
        let cut = &filter_of(&[], 1024, 3)[..64];
        let e = BloomFilter::new(cut).err();
        assert_eq!(e.as_deref(), Some("holds a filter of 1024 bits, but 32 bytes of them"));
    }
}
