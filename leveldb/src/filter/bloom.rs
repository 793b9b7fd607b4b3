//! The Bloom filter of `leveldb.BuiltinBloomFilter2`.
//!
//! Bytes: a bit array, then one byte with the number of probes. A key sets bits `h, h + d, h + 2d, ...` (modulo the array's
//! bits) of its hash `h`, where `d` is `h` rotated right by 17. LevelDB's `util/bloom.cc` and `util/hash.cc`.

/// The name under which a table's metaindex lists it (after `filter.`).
pub const NAME: &str = "leveldb.BuiltinBloomFilter2";

/// More probes are not computed.
const PROBES_MAX: u8 = 30;

/// LevelDB's hash of a byte string (Murmur-like, 32 bits).
pub fn hash(bytes: &[u8], seed: u32) -> u32 {
    const M: u32 = 0xc6a4_a793;
    let mut h = seed ^ (bytes.len() as u32).wrapping_mul(M);
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        let w = word.try_into().map(u32::from_le_bytes).unwrap_or_default();
        h = h.wrapping_add(w).wrapping_mul(M);
        h ^= h >> 16;
    }
    let rest = words.remainder();
    for (i, &byte) in rest.iter().enumerate() {
        h = h.wrapping_add(u32::from(byte) << (8 * i));
    }
    if !rest.is_empty() {
        h = h.wrapping_mul(M);
        h ^= h >> 24;
    }
    h
}

/// The hash that a key is filtered by.
pub fn key_hash(key: &[u8]) -> u32 {
    hash(key, 0xbc9f_1d34)
}

/// Appends the filter of some keys' hashes.
pub fn encode(out: &mut Vec<u8>, hashes: &[u32], bits_per_key: usize) {
    // 0.69 is about ln 2, the best number of probes for a number of bits a key.
    let probes = ((bits_per_key as f64 * 0.69) as usize).clamp(1, usize::from(PROBES_MAX));
    let bytes = (hashes.len() * bits_per_key).max(64).div_ceil(8);
    let bits = bit_count(bytes).map(Divisor::new);
    let start = out.len();
    out.resize(start + bytes, 0);
    let array = &mut out[start..];
    for &h in hashes {
        let (mut h, delta) = (h, h.rotate_right(17));
        for _ in 0..probes {
            let bit = bits.map_or(h, |bits| bits.remainder(h));
            if let Some(byte) = array.get_mut((bit / 8) as usize) {
                *byte |= 1 << (bit % 8);
            }
            h = h.wrapping_add(delta);
        }
    }
    out.push(probes as u8);
}

/// A number that many are divided by: a division takes longer than the rest of a probe. Remainders are exact for all numbers of 32 bits
/// (Lemire, Kaser and Kurz, "Faster remainder by direct computation", 2019).
#[derive(Clone, Copy)]
struct Divisor {
    by: u32,
    /// 2^64 divided by it, rounded up.
    inverse: u64,
}

impl Divisor {
    /// `by` is not 0.
    fn new(by: u32) -> Divisor {
        let inverse = (u64::MAX / u64::from(by)).wrapping_add(1);
        Divisor { by, inverse }
    }

    /// The remainder of `number`.
    #[inline]
    fn remainder(self, number: u32) -> u32 {
        let fraction = self.inverse.wrapping_mul(u64::from(number));
        ((u128::from(fraction) * u128::from(self.by)) >> 64) as u32
    }
}

/// Appends a filter that every key passes: so many probes are kept for later encodings, and LevelDB takes them for a match.
pub fn encode_any(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, PROBES_MAX + 1]);
}

/// How many bits an array of so many bytes has: numbers of 32 bits are divided faster than those of 64. `None` if there are
/// more than there are hashes, each of which then is its own remainder.
fn bit_count(bytes: usize) -> Option<u32> {
    bytes
        .checked_mul(8)
        .and_then(|bits| u32::try_from(bits).ok())
}

/// Whether the key with this hash may be among those of `filter`. An empty filter holds no key; a number of probes above 30
/// is kept for later encodings and matches everything.
pub fn may_contain(filter: &[u8], hash: u32) -> bool {
    let Some((&probes, array)) = filter.split_last() else {
        return false;
    };
    if array.is_empty() {
        return false;
    }
    if probes > PROBES_MAX {
        return true;
    }
    let bits = bit_count(array.len());
    let (mut h, delta) = (hash, hash.rotate_right(17));
    for _ in 0..probes {
        let bit = bits.map_or(h, |bits| h % bits);
        if array[(bit / 8) as usize] & (1 << (bit % 8)) == 0 {
            return false;
        }
        h = h.wrapping_add(delta);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    #[test]
    fn the_hash_gives_leveldbs_values() {
        assert_eq!(hash(&[], 0xbc9f_1d34), 0xbc9f_1d34);
        assert_eq!(hash(&[0x62], 0xbc9f_1d34), 0xef13_45c4);
        assert_eq!(hash(&[0xc3, 0x97], 0xbc9f_1d34), 0x5b66_3814);
        assert_eq!(hash(&[0xe2, 0x99, 0xa5], 0xbc9f_1d34), 0x323c_078f);
        assert_eq!(hash(&[0xe1, 0x80, 0xb9, 0x32], 0xbc9f_1d34), 0xed21_633a);
    }

    quickcheck! {
        fn a_remainder_is_that_of_a_division(number: u32, by: u32, shift: u8) -> bool {
            let by = (by >> (shift % 32)).max(1);
            let numbers = [number, 0, by - 1, by, by.wrapping_mul(number), u32::MAX];
            numbers.iter().all(|&number| Divisor::new(by).remainder(number) == number % by)
        }

        fn a_filter_holds_its_keys(keys: Vec<Vec<u8>>) -> bool {
            let hashes: Vec<u32> = keys.iter().map(|key| key_hash(key)).collect();
            let mut filter = Vec::new();
            encode(&mut filter, &hashes, 10);
            hashes.iter().all(|&hash| may_contain(&filter, hash))
        }

        fn any_filter_answers_and_a_later_encoding_passes(filter: Vec<u8>, key: Vec<u8>) -> bool {
            let answer = may_contain(&filter, key_hash(&key));
            match filter.as_slice() {
                [] | [_] => !answer,
                [.., probes] => answer || *probes <= 30,
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn few_keys_that_were_not_put_in_pass() {
        let hashes: Vec<u32> = (0..10_000u32).map(|i| key_hash(&i.to_le_bytes())).collect();
        let mut filter = Vec::new();
        encode(&mut filter, &hashes, 10);
        let wrong = (0..10_000u32)
            .filter(|i| may_contain(&filter, key_hash(&(i + 1_000_000_000).to_le_bytes())))
            .count();
        assert!(wrong < 200, "{wrong} of 10000 pass");
    }
}
