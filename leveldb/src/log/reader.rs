//! Reads records, and says what is lost.

use super::fragment::{Block, Found, WORK_MAX, checksum};
use super::{BLOCK_LEN, HEADER_LEN};
use crate::storage::{RandomFile, read_exact_at};
use std::io;
use std::sync::Arc;

/// What comes next in a log.
#[derive(Debug)]
pub enum LogEvent {
    /// A record: [`LogReader::record`].
    Record,
    /// A record, whole, whose length field was damaged: its checksum is right for what [`LogReader::record`] gives.
    Recovered(Lost),
    /// Damage: at least one record is lost.
    Lost(Lost),
    /// Zeros up to the end of a block (space laid out in advance, or never written), with something after that block, or up to
    /// the end of the file.
    Zeros {
        /// Where they begin, in bytes.
        offset: u64,
    },
    /// The file ends within a record: what a crash leaves. Nothing comes after it.
    TornTail {
        /// Where the unfinished record begins, in bytes.
        offset: u64,
    },
    /// Nothing more.
    End,
}

/// A damaged stretch of a log.
#[derive(Debug, Default)]
pub struct Lost {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where reading goes on, in bytes.
    pub end: u64,
    /// Where the damaged piece of the record begins, in bytes: the record's beginning, or one further on.
    pub damaged_at: u64,
    /// Where that piece ends if the length in its header is right, in bytes.
    pub declared_end: u64,
    /// Whether that length is right, as far as can be seen: something whole is there.
    pub has_length: bool,
    /// What is wrong.
    pub what: &'static str,
    /// The cause, if the file could not be read.
    pub source: Option<io::Error>,
    /// What is there of the damaged record, if anything; damaged.
    pub bytes: Vec<u8>,
    /// Places in `bytes` any one of which, changed by these bits, may give what was written.
    pub corrections: Vec<(usize, u8)>,
    /// Whether a single damaged byte explains it: then `bytes`, or `bytes` with one of the corrections, is the whole record.
    pub single_byte: bool,
    /// From this byte of the file on the damaged piece's stored checksum is that of what it covers, if its length is right: its first
    /// bytes alone are wrong.
    pub checksum_right_from: Option<u64>,
}

/// Where a piece of a record lies in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    /// Where the piece begins in the record.
    pub(crate) record_at: usize,
    /// Where its header is in the file.
    pub(crate) offset: u64,
}

#[derive(Debug, Default)]
struct Assembly {
    bytes: Vec<u8>,
    fragments: Vec<Fragment>,
    /// Where the record begins in the file, while one is open.
    start: Option<u64>,
    damage: Option<Lost>,
    wrong_length: bool,
}

/// Reads a log from its beginning, as long as it was when this began.
#[derive(Debug)]
pub struct LogReader {
    file: Arc<dyn RandomFile>,
    len: u64,
    block: Vec<u8>,
    block_start: u64,
    at: usize,
    assembly: Assembly,
    record_is_done: bool,
    /// Fragments without a first one belong to what was reported last.
    after_loss: bool,
    zeros: Option<u64>,
    ended: bool,
    /// What is left of [`WORK_MAX`], for the present block.
    work_left: usize,
}

impl LogReader {
    /// Over a file. Fails if its length cannot be found out.
    pub fn new(file: Arc<dyn RandomFile>) -> io::Result<LogReader> {
        let len = file.len()?;
        Ok(LogReader {
            file,
            len,
            block: Vec::new(),
            block_start: 0,
            at: 0,
            assembly: Assembly::default(),
            record_is_done: false,
            after_loss: false,
            zeros: None,
            ended: false,
            work_left: WORK_MAX,
        })
    }

    /// How long the file is, in bytes.
    pub fn len_bytes(&self) -> u64 {
        self.len
    }

    /// The record that the last event announced.
    pub fn record(&self) -> &[u8] {
        &self.assembly.bytes
    }

    /// Where that record begins in the file.
    pub fn record_offset(&self) -> u64 {
        self.assembly.start.unwrap_or(0)
    }

    /// Where the record's pieces lie; empty if they cannot be found again by their headers.
    pub(crate) fn fragments(&self) -> &[Fragment] {
        if self.assembly.wrong_length {
            &[]
        } else {
            &self.assembly.fragments
        }
    }

    /// Reads on.
    pub fn next_event(&mut self) -> LogEvent {
        if self.record_is_done {
            self.clear_assembly();
            self.record_is_done = false;
        }
        loop {
            if self.ended {
                return LogEvent::End;
            }
            if self.at >= self.block.len() {
                if let Some(event) = self.next_block() {
                    return event;
                }
                continue;
            }
            if let Some(event) = self.next_fragment() {
                return event;
            }
        }
    }

    fn clear_assembly(&mut self) {
        let mut bytes = std::mem::take(&mut self.assembly.bytes);
        bytes.clear();
        // A huge record must not be held for ever.
        if bytes.capacity() > 1 << 20 {
            bytes = Vec::new();
        }
        self.assembly = Assembly {
            bytes,
            ..Assembly::default()
        };
    }

    fn next_block(&mut self) -> Option<LogEvent> {
        self.block_start += self.block.len() as u64;
        self.at = 0;
        self.work_left = WORK_MAX;
        let left = self.len.saturating_sub(self.block_start);
        self.block.resize(left.min(BLOCK_LEN as u64) as usize, 0);
        if left == 0 {
            return Some(self.end_of_file());
        }
        match read_exact_at(&*self.file, self.block_start, &mut self.block) {
            Ok(()) => None,
            // Cut while it was read: as if it had always been so long.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let now = self.file.len().unwrap_or(self.block_start);
                self.len = now.clamp(self.block_start, self.len - 1);
                self.block.clear();
                None
            }
            Err(error) => {
                self.at = self.block.len();
                let lost = Lost {
                    what: "cannot be read",
                    source: Some(error),
                    ..Lost::default()
                };
                Some(self.lose(self.block_start, lost))
            }
        }
    }

    fn end_of_file(&mut self) -> LogEvent {
        if self.assembly.start.is_none()
            && let Some(offset) = self.zeros.take()
        {
            return LogEvent::Zeros { offset };
        }
        self.ended = true;
        match self.assembly.start {
            Some(_) if self.assembly.damage.is_some() => self.lose(self.len, Lost::default()),
            Some(offset) => LogEvent::TornTail { offset },
            None => LogEvent::End,
        }
    }

    /// Ends the open record, if any, before its end, as lost, together with what was found wrong at `offset`.
    fn lose(&mut self, offset: u64, found: Lost) -> LogEvent {
        let mut lost = self.lose_whole(offset, found);
        // Something of it is missing.
        lost.single_byte = false;
        LogEvent::Lost(lost)
    }

    /// Ends the open record as lost; all of its pieces are there.
    fn lose_whole(&mut self, offset: u64, found: Lost) -> Lost {
        self.after_loss = true;
        let mut lost = match self.assembly.damage.take() {
            // Whether it is damage at all depends on the cause.
            Some(damage) => Lost {
                source: damage.source.or(found.source),
                ..damage
            },
            None => Lost {
                damaged_at: offset,
                ..found
            },
        };
        lost.offset = self.assembly.start.unwrap_or(offset);
        lost.end = self.block_start + self.at as u64;
        if lost.what.is_empty() {
            lost.what = "record is not finished";
        }
        let mut bytes = std::mem::take(&mut self.assembly.bytes);
        bytes.extend_from_slice(&lost.bytes);
        lost.bytes = bytes;
        self.clear_assembly();
        lost
    }

    fn next_fragment(&mut self) -> Option<LogEvent> {
        let is_cut = self.block.len() < BLOCK_LEN;
        let at = self.at;
        let offset = self.block_start + at as u64;
        let mut block = Block {
            bytes: &self.block,
            is_cut,
            work_left: self.work_left,
        };
        let found = block.look(at);
        self.work_left = block.work_left;
        if !matches!(found, Found::Zeros | Found::End)
            && let Some(offset) = self.zeros.take()
        {
            return Some(LogEvent::Zeros { offset });
        }
        match found {
            Found::Whole { kind, payload } => self.take(kind, offset, payload, |_, _| {}),
            Found::WrongLength { kind, payload } => {
                self.take(kind, offset, payload, |assembly, _| {
                    assembly.wrong_length = true
                })
            }
            Found::Damaged {
                kind,
                payload,
                cause,
            } => {
                let payload_len = payload.len();
                self.take(kind, offset, payload, |assembly, base| {
                    // Two damaged pieces are not one damaged byte.
                    let is_only = assembly.damage.is_none();
                    let damage = assembly.damage.get_or_insert_with(|| Lost {
                        damaged_at: offset,
                        declared_end: offset + (HEADER_LEN + payload_len) as u64,
                        has_length: true,
                        checksum_right_from: Some(offset + cause.checksum_right_from as u64),
                        ..Lost::default()
                    });
                    damage.what = "record does not have its checksum";
                    damage.single_byte = is_only && cause.single_byte;
                    let shift = |&(at, bits): &(usize, u8)| (base + at, bits);
                    damage
                        .corrections
                        .extend(cause.corrections.iter().map(shift));
                })
            }
            Found::Lost { next } => {
                self.at = next;
                let from = (at + HEADER_LEN).min(next);
                let bytes = self.block[from..next].to_vec();
                let what = "record does not have its checksum, and its length is not to be trusted";
                let payload_len = match self.block[at..] {
                    [_, _, _, _, low, high, ..] => u16::from_le_bytes([low, high]),
                    _ => 0,
                };
                let declared_end = offset + HEADER_LEN as u64 + u64::from(payload_len);
                Some(self.lose(
                    offset,
                    Lost {
                        declared_end,
                        what,
                        bytes,
                        ..Lost::default()
                    },
                ))
            }
            Found::Torn => {
                self.at = self.block.len();
                self.assembly.start.get_or_insert(offset);
                None
            }
            Found::Zeros => {
                self.at = self.block.len();
                if self.assembly.start.is_some() && self.block_start + (self.at as u64) < self.len {
                    return Some(self.lose(offset, Lost::default()));
                }
                self.zeros.get_or_insert(offset);
                None
            }
            Found::End => {
                self.at = self.block.len();
                None
            }
        }
    }

    /// Puts a fragment to its record. `note` sees the assembly and where in the record the fragment begins.
    fn take(
        &mut self,
        kind: u8,
        offset: u64,
        payload: std::ops::Range<usize>,
        note: impl FnOnce(&mut Assembly, usize),
    ) -> Option<LogEvent> {
        let is_open = self.assembly.start.is_some();
        let starts = matches!(kind, 1 | 2);
        if starts && is_open {
            // Early writers left an empty first fragment at a block's end and began again in the next.
            if self.assembly.bytes.is_empty() && self.assembly.damage.is_none() {
                self.clear_assembly();
            } else {
                return Some(self.lose(offset, Lost::default()));
            }
        }
        self.at = payload.end;
        if !starts && !is_open {
            if matches!(kind, 3 | 4) && self.after_loss {
                return None;
            }
            let what = if matches!(kind, 3 | 4) {
                "record has no beginning"
            } else {
                "record has an unknown type"
            };
            let bytes = self.block[payload].to_vec();
            return Some(self.lose(
                offset,
                Lost {
                    what,
                    bytes,
                    ..Lost::default()
                },
            ));
        }
        if !(1..=4).contains(&kind) {
            let what = "record has an unknown type";
            return Some(self.lose(
                offset,
                Lost {
                    what,
                    ..Lost::default()
                },
            ));
        }
        self.after_loss = false;
        let assembly = &mut self.assembly;
        assembly.start.get_or_insert(offset);
        let base = assembly.bytes.len();
        assembly.fragments.push(Fragment {
            record_at: base,
            offset,
        });
        assembly.bytes.extend_from_slice(&self.block[payload]);
        note(assembly, base);
        matches!(kind, 1 | 4).then(|| self.finish_record())
    }

    fn finish_record(&mut self) -> LogEvent {
        if self.assembly.damage.is_some() {
            return LogEvent::Lost(self.lose_whole(0, Lost::default()));
        }
        self.record_is_done = true;
        if !self.assembly.wrong_length {
            return LogEvent::Record;
        }
        LogEvent::Recovered(Lost {
            offset: self.record_offset(),
            end: self.block_start + self.at as u64,
            what: "record has a damaged length; it was found by its checksum",
            ..Lost::default()
        })
    }
}

/// Reads a stretch of a record again: `skip` bytes into the payload of the fragment whose header is at `offset`, and on
/// through the fragments after it. Fails with [`InvalidData`](io::ErrorKind::InvalidData) if it no longer has its checksum.
pub(crate) fn read_span(
    file: &dyn RandomFile,
    mut offset: u64,
    mut skip: usize,
    len: usize,
) -> io::Result<Vec<u8>> {
    let changed = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "log record no longer has its checksum",
        )
    };
    let (mut out, mut payload) = (Vec::with_capacity(len), Vec::new());
    while out.len() < len {
        let in_block = (offset % BLOCK_LEN as u64) as usize;
        if BLOCK_LEN - in_block < HEADER_LEN {
            offset = offset.next_multiple_of(BLOCK_LEN as u64);
        }
        let mut header = [0; HEADER_LEN];
        read_exact_at(file, offset, &mut header)?;
        let payload_len = usize::from(u16::from_le_bytes([header[4], header[5]]));
        payload.resize(payload_len, 0);
        read_exact_at(file, offset + HEADER_LEN as u64, &mut payload)?;
        if checksum(header[6], &payload).to_le_bytes() != header[..4] {
            return Err(changed());
        }
        let piece = payload.get(skip..).ok_or_else(changed)?;
        out.extend_from_slice(&piece[..piece.len().min(len - out.len())]);
        skip = 0;
        offset += (HEADER_LEN + payload_len) as u64;
    }
    Ok(out)
}
