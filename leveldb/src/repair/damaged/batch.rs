//! Makes out the entries of a write batch of which any byte may be wrong, or missing.
//!
//! Entries follow each other, each with its lengths. Where they do not, the next one is searched for: bytes that begin like a put of a key
//! that the caller accepts, with such an entry behind it or the batch's end.

use crate::varint::{decode_slice, fixed64};
use crate::write_batch::{HEADER_LEN, Operation};

/// For each byte of a batch, so many bytes of keys are looked at: this bounds what a hostile one costs.
const WORK_PER_BYTE: usize = 16;
/// And so many more.
const WORK_MIN: usize = 64 << 10;

struct Found<'a> {
    operation: Operation<'a>,
    /// Where the key ends, and the entry.
    key_end: usize,
    end: usize,
}

/// The entries that can be made out.
pub(super) struct DamagedBatch<'a, 'f> {
    bytes: &'a [u8],
    accepts: &'f dyn Fn(&[u8]) -> bool,
    /// Where to go on; `None` at the end.
    at: Option<usize>,
    work_left: usize,
}

impl<'a, 'f> DamagedBatch<'a, 'f> {
    /// `accepts`: whether something is a key of this store.
    pub(super) fn new(bytes: &'a [u8], accepts: &'f dyn Fn(&[u8]) -> bool) -> Self {
        let mut batch = DamagedBatch {
            bytes,
            accepts,
            at: Some(HEADER_LEN),
            work_left: bytes.len().saturating_mul(WORK_PER_BYTE) + WORK_MIN,
        };
        if batch.entry(HEADER_LEN).is_none() {
            batch.at = batch.search(0);
        }
        batch
    }

    /// The number of the first entry, if the header is as it was.
    pub(super) fn sequence(&self) -> Option<u64> {
        fixed64(self.bytes, 0)
    }

    /// An entry of an accepted key at a place.
    fn entry(&mut self, at: usize) -> Option<Found<'a>> {
        let (&tag, rest) = self.bytes.get(at..)?.split_first()?;
        if tag > 1 {
            return None;
        }
        let (key, rest) = decode_slice(rest)?;
        self.work_left = self.work_left.checked_sub(key.len() + 1)?;
        let key_end = self.bytes.len() - rest.len();
        let (operation, rest) = match tag {
            0 => (Operation::Delete(key), rest),
            _ => {
                let (value, rest) = decode_slice(rest)?;
                (Operation::Put(key, value), rest)
            }
        };
        (self.accepts)(key).then(|| Found {
            operation,
            key_end,
            end: self.bytes.len() - rest.len(),
        })
    }

    fn is_followed(&mut self, end: usize) -> bool {
        end == self.bytes.len() || self.entry(end).is_some()
    }

    /// The first place, from one on, where an entry begins.
    fn search(&mut self, from: usize) -> Option<usize> {
        for at in from..self.bytes.len() {
            let is_put = self.bytes.get(at) == Some(&1);
            if is_put
                && let Some(found) = self.entry(at)
                && self.is_followed(found.end)
            {
                return Some(at);
            }
            if self.work_left == 0 {
                return None;
            }
        }
        None
    }
}

impl<'a> Iterator for DamagedBatch<'a, '_> {
    type Item = Operation<'a>;

    fn next(&mut self) -> Option<Operation<'a>> {
        let at = self.at.take()?;
        let Some(found) = self.entry(at) else {
            let at = self.search(at)?;
            let found = self.entry(at)?;
            self.at = Some(found.end);
            return Some(found.operation);
        };
        self.at = match self.is_followed(found.end) {
            true => Some(found.end),
            // Its value's length may be wrong: then others lie within it.
            false => self.search(found.key_end),
        };
        Some(found.operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_batch::BatchWriter;
    use quickcheck::quickcheck;

    fn accepts(key: &[u8]) -> bool {
        key.len() == 4 && key.starts_with(b"k")
    }

    /// Keys `k000` to `k099`, each with its number and the top bit, forty times: no byte of them ends the length of a value.
    fn batch() -> Vec<u8> {
        let mut batch = BatchWriter::new();
        for i in 0..100_u8 {
            batch.put(format!("k{i:03}").as_bytes(), &[i | 0x80; 40]);
        }
        batch.finish(7).to_vec()
    }

    fn right(bytes: &[u8]) -> usize {
        let read = DamagedBatch::new(bytes, &accepts).filter(|operation| {
            let Operation::Put(key, value) = operation else {
                return false;
            };
            let number = std::str::from_utf8(&key[1..]).ok();
            let number = number.and_then(|number| number.parse::<u8>().ok());
            number.is_some_and(|number| *value == [number | 0x80; 40])
        });
        read.count()
    }

    #[test]
    fn a_damaged_stretch_costs_the_entries_that_it_touches() {
        let whole = batch();
        assert_eq!(right(&whole), 100);
        for len in [1, 30, 100] {
            for at in 0..whole.len() - len {
                for byte in [0, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[at..at + len].fill(byte);
                    let touched = len.div_ceil(47) + 1;
                    assert!(right(&bytes) >= 100 - touched, "{len} at {at} of {byte}");
                }
            }
        }
    }

    #[test]
    fn a_batch_that_begins_or_ends_anywhere_gives_the_rest() {
        let whole = batch();
        for at in (0..whole.len() - 200).step_by(13) {
            let behind = (whole.len() - at) / 47;
            assert!(right(&whole[at..]) + 1 >= behind, "from {at}");
            assert!(
                right(&whole[..at]) + 1 >= at.saturating_sub(12) / 47,
                "to {at}"
            );
        }
    }

    quickcheck! {
        fn any_bytes_come_to_an_end(bytes: Vec<u8>, repeat: u16) -> bool {
            let bytes = bytes.repeat(usize::from(repeat % 500));
            DamagedBatch::new(&bytes, &|_| true).count() <= bytes.len()
        }
    }
}
