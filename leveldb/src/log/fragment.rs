//! One fragment of a log block: whole, damaged in a way that can be made out, or lost.

use super::HEADER_LEN;
use crate::crc;
use crate::varint::fixed32;
use std::ops::Range;

/// How many bytes may be run through a checksum to find out what happened in one block. A block has 32 KiB; this bounds what
/// a hostile one can cost.
pub(super) const WORK_MAX: usize = 4 << 20;

/// The most corrections looked at: more than a few mean that no single byte explains the damage.
const CORRECTIONS_MAX: usize = 8;

/// What is found at a place in a block. Ranges are in the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A fragment with its checksum.
    Whole { kind: u8, payload: Range<usize> },
    /// A fragment whose length field is damaged: the checksum fits another length.
    WrongLength { kind: u8, payload: Range<usize> },
    /// A fragment without its checksum, whose length can be trusted because something whole follows it.
    Damaged {
        kind: u8,
        payload: Range<usize>,
        cause: Cause,
    },
    /// Nothing that can be trusted up to `next`, where a whole fragment begins or the block ends.
    Lost { next: usize },
    /// A fragment that the end of the file cuts off.
    Torn,
    /// Zeros up to the block's end.
    Zeros,
    /// The block ends.
    End,
}

/// What may explain a wrong checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// Bytes of the payload any one of which, changed by these bits, gives the stored checksum.
    pub(super) corrections: Vec<(usize, u8)>,
    /// Whether a single damaged byte, of payload, type or checksum, explains it.
    pub(super) single_byte: bool,
    /// From this byte on, by its place, the stored checksum is that of the rest: 4 if its last byte is not.
    pub(super) checksum_right_from: usize,
}

/// Looks into one block.
pub(super) struct Block<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether the file ends with this block, before the block's full length.
    pub(super) is_cut: bool,
    /// What is left of [`WORK_MAX`] for this block.
    pub(super) work_left: usize,
}

struct Header {
    sum: u32,
    len: usize,
    kind: u8,
}

impl<'a> Block<'a> {
    fn header(&self, at: usize) -> Option<Header> {
        let sum = fixed32(self.bytes, at)?;
        let rest: [u8; 3] = self.bytes.get(at + 4..at + HEADER_LEN)?.try_into().ok()?;
        Some(Header {
            sum,
            len: usize::from(u16::from_le_bytes([rest[0], rest[1]])),
            kind: rest[2],
        })
    }

    /// What is at `at`.
    pub(super) fn look(&mut self, at: usize) -> Found {
        let Some(header) = self.header(at) else {
            return self.at_end(at);
        };
        let from = at + HEADER_LEN;
        let payload = from..from + header.len;
        if let Some(bytes) = self.bytes.get(payload.clone())
            && checksum(header.kind, bytes) == header.sum
        {
            return Found::Whole {
                kind: header.kind,
                payload,
            };
        }
        if header.sum == 0
            && header.len == 0
            && header.kind == 0
            && self.bytes[at..].iter().all(|&byte| byte == 0)
        {
            return Found::Zeros;
        }
        if let Some(payload) = self.other_length(at, &header) {
            return Found::WrongLength {
                kind: header.kind,
                payload,
            };
        }
        if payload.end <= self.bytes.len() && self.something_whole_at(payload.end) {
            return self.damaged(&header, payload);
        }
        match self.resync(at + 1) {
            None if self.is_cut && payload.end > self.bytes.len() => Found::Torn,
            next => Found::Lost {
                next: next.unwrap_or(self.bytes.len()),
            },
        }
    }

    fn at_end(&self, at: usize) -> Found {
        let rest = self.bytes.get(at..).unwrap_or_default();
        if self.is_cut && rest.iter().any(|&byte| byte != 0) {
            Found::Torn
        } else {
            Found::End
        }
    }

    fn damaged(&self, header: &Header, payload: Range<usize>) -> Found {
        let bytes = &self.bytes[payload.clone()];
        let computed = crc::extend(crc::value(&[header.kind]), bytes);
        let stored = crc::unmask(header.sum);
        let causes = crc::single_byte_causes(stored, computed, bytes.len() + 1, CORRECTIONS_MAX);
        let difference = (crc::mask(computed) ^ header.sum).to_le_bytes();
        let in_checksum = difference.iter().filter(|&&byte| byte != 0).count() == 1;
        let checksum_right_from = (difference.iter())
            .rposition(|&byte| byte != 0)
            .map_or(0, |at| at + 1);
        let single_byte = in_checksum || !causes.is_empty();
        // The type is the first byte under the checksum.
        let kind = causes
            .iter()
            .find(|(at, _)| *at == 0)
            .map_or(header.kind, |(_, bits)| header.kind ^ bits);
        let corrections = causes
            .iter()
            .filter_map(|&(at, bits)| Some((at.checked_sub(1)?, bits)))
            .collect();
        Found::Damaged {
            kind,
            payload,
            cause: Cause {
                corrections,
                single_byte,
                checksum_right_from,
            },
        }
    }

    /// Another payload length for which the checksum is right, with something whole after it.
    fn other_length(&mut self, at: usize, header: &Header) -> Option<Range<usize>> {
        let from = at + HEADER_LEN;
        let payload = &self.bytes[from..];
        let mut running = crc::Running::new();
        running.push(header.kind);
        for len in 0..=payload.len() {
            if crc::mask(running.value()) == header.sum && self.something_whole_at(from + len) {
                return Some(from..from + len);
            }
            self.work_left = self.work_left.checked_sub(1)?;
            running.push(*payload.get(len)?);
        }
        None
    }

    /// Whether a fragment with its checksum is at `at`, or the block's end, or the end of what was written.
    fn something_whole_at(&mut self, at: usize) -> bool {
        if self.bytes.len() - at.min(self.bytes.len()) < HEADER_LEN {
            // In a cut block the file ends here; a few more bytes are the next fragment's torn header.
            return at <= self.bytes.len();
        }
        self.is_whole_at(at) || self.bytes[at..].iter().all(|&byte| byte == 0)
    }

    fn is_whole_at(&mut self, at: usize) -> bool {
        let Some(header) = self.header(at) else {
            return false;
        };
        if !(1..=4).contains(&header.kind) {
            return false;
        }
        let from = at + HEADER_LEN;
        let Some(payload) = self.bytes.get(from..from + header.len) else {
            return false;
        };
        let Some(left) = self.work_left.checked_sub(header.len) else {
            return false;
        };
        self.work_left = left;
        checksum(header.kind, payload) == header.sum
    }

    /// The next place from `from` on where a whole fragment begins that is itself followed by something whole: payloads may
    /// hold what looks like a fragment.
    fn resync(&mut self, from: usize) -> Option<usize> {
        let last = self.bytes.len().checked_sub(HEADER_LEN)?;
        (from..=last).find(|&at| {
            let len = self.header(at).map_or(0, |header| header.len);
            (len > 0 || at == last)
                && self.is_whole_at(at)
                && self.something_whole_at(at + HEADER_LEN + len)
        })
    }
}

/// The stored checksum of a fragment.
pub(super) fn checksum(kind: u8, payload: &[u8]) -> u32 {
    crc::mask(crc::extend(crc::value(&[kind]), payload))
}
