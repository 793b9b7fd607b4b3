//! CRC-32C as LevelDB stores it, and what the checksum can say about damage.
//!
//! Stored checksums are *masked* (rotated right by 15 bits, plus a constant), so that the checksum of bytes that hold
//! checksums is still worth something; `util/crc32c.h` of LevelDB. [`Running`] feeds one byte at a time, to try where a
//! block or a record of unknown length ends; [`single_byte_causes`] inverts the checksum to find which one damaged byte
//! would explain a mismatch. Neither repairs anything.

const MASK_DELTA: u32 = 0xa282_ead8;

/// The CRC-32C of `bytes`.
pub fn value(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The CRC-32C of the bytes that gave `crc`, followed by `bytes`.
pub fn extend(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// The stored form of a checksum.
///
/// ```
/// use larder_leveldb::crc;
/// assert_eq!(crc::unmask(crc::mask(crc::value(b"123456789"))), 0xe306_9283);
/// ```
pub fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

/// The checksum whose stored form is `masked`.
pub fn unmask(masked: u32) -> u32 {
    masked.wrapping_sub(MASK_DELTA).rotate_left(15)
}

/// Byte table of the reflected Castagnoli polynomial.
const TABLE: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0x82f6_3b78
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// The index of [`TABLE`] whose entry has a given top byte: top bytes are all different, which is what makes a step of the
/// checksum invertible.
const BY_TOP_BYTE: [u8; 256] = {
    let mut by_top = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        by_top[(TABLE[i] >> 24) as usize] = i as u8;
        i += 1;
    }
    by_top
};

/// A checksum fed byte by byte.
#[derive(Clone, Copy, Debug)]
pub struct Running(u32);

impl Running {
    /// The checksum of no bytes.
    pub fn new() -> Running {
        Running(!0)
    }

    /// The checksum of the bytes so far and `byte`.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.0 = (self.0 >> 8) ^ TABLE[usize::from(self.0 as u8 ^ byte)];
    }

    /// The checksum of the bytes so far.
    #[inline]
    pub fn value(self) -> u32 {
        !self.0
    }
}

impl Default for Running {
    fn default() -> Running {
        Running::new()
    }
}

/// All single damaged bytes that explain why `len` bytes have the checksum `computed` and not `stored`: position, and the
/// bits that differ there. At most `limit` of them. If exactly one byte was damaged, it is among them; a wrong candidate
/// turns up about once in `2^32 / (255 * len)` mismatches.
pub fn single_byte_causes(
    stored: u32,
    computed: u32,
    len: usize,
    limit: usize,
) -> Vec<(usize, u8)> {
    let mut causes = Vec::new();
    // A difference `v` in a byte followed by `m` bytes changes the checksum by TABLE[v] advanced over m zero bytes.
    let mut state = stored ^ computed;
    for followed_by in 0..len {
        let v = BY_TOP_BYTE[(state >> 24) as usize];
        if v != 0 && TABLE[usize::from(v)] == state {
            causes.push((len - 1 - followed_by, v));
            if causes.len() == limit {
                break;
            }
        }
        state = step_back(state);
    }
    causes
}

/// Undoes feeding one zero byte.
pub(crate) fn step_back(state: u32) -> u32 {
    let v = BY_TOP_BYTE[(state >> 24) as usize];
    ((state ^ TABLE[usize::from(v)]) << 8) | u32::from(v)
}

/// Feeds one byte to the state of a checksum.
pub(crate) fn feed(state: u32, byte: u8) -> u32 {
    (state >> 8) ^ TABLE[usize::from(state as u8 ^ byte)]
}

/// Product of two polynomials modulo the checksum's, bits reflected (the top bit is 1, the one below it x).
pub(crate) fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for i in (0..32).rev() {
        product ^= b & 0u32.wrapping_sub((a >> i) & 1);
        b = (b >> 1) ^ (0x82f6_3b78 & 0u32.wrapping_sub(b & 1));
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    #[test]
    fn the_check_values_of_rfc_3720_come_out() {
        assert_eq!(value(&[0; 32]), 0x8a91_36aa);
        assert_eq!(value(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(value(b"123456789"), 0xe306_9283);
    }

    quickcheck! {
        fn masking_is_undone_and_never_the_identity(crc: u32) -> bool {
            unmask(mask(crc)) == crc && mask(crc) != crc
        }

        fn the_running_form_agrees_with_the_fast_one(bytes: Vec<u8>, cut: usize) -> bool {
            let mut running = Running::new();
            for &byte in &bytes {
                running.push(byte);
            }
            let cut = cut % (bytes.len() + 1);
            running.value() == value(&bytes) && extend(value(&bytes[..cut]), &bytes[cut..]) == value(&bytes)
        }

        fn one_damaged_byte_is_always_among_the_causes(bytes: Vec<u8>, at: usize, bits: u8) -> bool {
            if bytes.is_empty() || bits == 0 {
                return true;
            }
            let at = at % bytes.len();
            let mut damaged = bytes.clone();
            damaged[at] ^= bits;
            single_byte_causes(value(&bytes), value(&damaged), bytes.len(), 16).contains(&(at, bits))
        }
    }

    #[test]
    fn equal_checksums_have_no_cause() {
        assert_eq!(single_byte_causes(7, 7, 1000, 16), []);
    }
}
