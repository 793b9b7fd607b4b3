//! Undo tasks and clean-up tasks of a scope (`docs/FORMAT.md`, 7.3 and 7.4).

use super::wire::{self, Field};
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// Takes back one change. The value of a [`crate::row_key::ScopesKey::Task`] of kind `Undo`.
///
/// ```
/// use larder_codec::scopes::UndoTask;
/// let task = UndoTask::decode_exact(&[0x12, 3, 0x0a, 1, 0x6b])?;
/// assert_eq!(task, UndoTask::Delete { key: b"k" });
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoTask<'a> {
    /// Field 1: put this row back.
    Put {
        /// The stored key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// Field 2: delete this row.
    Delete {
        /// The stored key.
        key: &'a [u8],
    },
    /// Field 3: delete these rows.
    DeleteRange {
        /// First key.
        begin: &'a [u8],
        /// End, excluded.
        end: &'a [u8],
    },
}

/// Is done after a scope committed. The value of a [`crate::row_key::ScopesKey::Task`] of kind
/// `Cleanup`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanupTask<'a> {
    /// Field 1: delete these rows.
    DeleteRange {
        /// First key.
        begin: &'a [u8],
        /// End, excluded.
        end: &'a [u8],
    },
    /// Field 2: delete these rows and compact the range.
    DeleteRangeAndCompact {
        /// First key.
        begin: &'a [u8],
        /// End, excluded.
        end: &'a [u8],
    },
}

impl<'a> UndoTask<'a> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (field, first, second) = match *self {
            Self::Put { key, value } => (1, key, value),
            Self::Delete { key } => (2, key, &[][..]),
            Self::DeleteRange { begin, end } => (3, begin, end),
        };
        write_operation(field, first, second, out);
    }

    /// The task that is the whole of `input`.
    ///
    /// # Errors
    /// On bytes that are no such message, and on a message without an operation or with two.
    pub fn decode_exact(input: &'a [u8]) -> Result<Self> {
        let operation = read_operation(input, 3, "undo task")?;
        Ok(match operation.field {
            1 => Self::Put {
                key: operation.first,
                value: operation.second,
            },
            2 => Self::Delete {
                key: operation.first,
            },
            _ => Self::DeleteRange {
                begin: operation.first,
                end: operation.second,
            },
        })
    }
}

impl<'a> CleanupTask<'a> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (field, begin, end) = match *self {
            Self::DeleteRange { begin, end } => (1, begin, end),
            Self::DeleteRangeAndCompact { begin, end } => (2, begin, end),
        };
        write_operation(field, begin, end, out);
    }

    /// The task that is the whole of `input`.
    ///
    /// # Errors
    /// On bytes that are no such message, and on a message without an operation or with two.
    pub fn decode_exact(input: &'a [u8]) -> Result<Self> {
        let operation = read_operation(input, 2, "clean-up task")?;
        let (begin, end) = (operation.first, operation.second);
        Ok(match operation.field {
            1 => Self::DeleteRange { begin, end },
            _ => Self::DeleteRangeAndCompact { begin, end },
        })
    }
}

/// The one operation of a task: each is a message with byte fields 1 and 2.
struct Operation<'a> {
    field: u64,
    first: &'a [u8],
    second: &'a [u8],
}

fn write_operation(field: u8, first: &[u8], second: &[u8], out: &mut Vec<u8>) {
    let write = |out: &mut Vec<u8>| {
        wire::write_bytes_unless_empty(1, first, out);
        wire::write_bytes_unless_empty(2, second, out);
    };
    wire::write_message(field, write, out);
}

fn read_operation<'a>(
    input: &'a [u8],
    field_max: u64,
    what: &'static str,
) -> Result<Operation<'a>> {
    let mut reader = Reader::new(input);
    let mut operation = None;
    while !reader.is_empty() {
        let at_field = reader;
        match wire::read_field(&mut reader)? {
            (field, Field::Bytes(message)) if field <= field_max => {
                let base = reader.offset().saturating_sub(message.len());
                let (first, second) = wire::read_two_bytes_fields(message, what)
                    .map_err(|error| error.shifted(base))?;
                let read = Operation {
                    field,
                    first: first.unwrap_or_default(),
                    second: second.unwrap_or_default(),
                };
                wire::set_once(&mut operation, read, at_field, what)?;
            }
            (found, _) if found <= field_max => {
                return Err(at_field.error(ErrorKind::Invalid { found }, what));
            }
            _ => {}
        }
    }
    operation.ok_or_else(|| reader.error(ErrorKind::Truncated { missing: 1 }, what))
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen};

    use super::*;
    use crate::testing::{below, bytes_of, damage, properties};

    fn undo(kind: u8, first: &'static [u8], second: &'static [u8]) -> UndoTask<'static> {
        match kind {
            0 => UndoTask::Put {
                key: first,
                value: second,
            },
            1 => UndoTask::Delete { key: first },
            _ => UndoTask::DeleteRange {
                begin: first,
                end: second,
            },
        }
    }

    #[test]
    fn each_task_has_its_bytes() {
        for (task, bytes) in [
            (undo(0, b"k", b"v"), &b"\x0a\x06\x0a\x01k\x12\x01v"[..]),
            (undo(0, b"k", b""), b"\x0a\x03\x0a\x01k"),
            (undo(1, b"k", b""), b"\x12\x03\x0a\x01k"),
            (undo(2, b"a", b"b"), b"\x1a\x06\x0a\x01a\x12\x01b"),
        ] {
            assert_eq!(bytes_of(|out| task.encode(out)), bytes);
            assert_eq!(UndoTask::decode_exact(bytes), Ok(task));
        }
        let (begin, end) = (&b"a"[..], &b"b"[..]);
        for (task, bytes) in [
            (
                CleanupTask::DeleteRange { begin, end },
                b"\x0a\x06\x0a\x01a\x12\x01b",
            ),
            (
                CleanupTask::DeleteRangeAndCompact { begin, end },
                b"\x12\x06\x0a\x01a\x12\x01b",
            ),
        ] {
            assert_eq!(bytes_of(|out| task.encode(out)), bytes);
            assert_eq!(CleanupTask::decode_exact(bytes), Ok(task));
        }
    }

    #[test]
    fn no_operation_and_two_operations_are_refused() {
        for bytes in [
            &b""[..],
            b"\x22\x00",
            b"\x0a\x03\x0a\x01k\x12\x03\x0a\x01k",
            b"\x08\x01",
            b"\x0a\x02\x08\x01",
            b"\x0a\x06\x0a\x01k\x0a\x01k",
            b"\x0a\x04\x0a\x01k",
        ] {
            assert!(UndoTask::decode_exact(bytes).is_err(), "{bytes:?}");
            assert!(CleanupTask::decode_exact(bytes).is_err(), "{bytes:?}");
        }
        assert!(CleanupTask::decode_exact(b"\x1a\x00").is_err());
        let inside = UndoTask::decode_exact(b"\x0a\x02\x08\x01").unwrap_err();
        assert_eq!(inside.offset(), 2);
    }

    #[derive(Debug, Clone)]
    struct NearlyTask(Vec<u8>);

    impl Arbitrary for NearlyTask {
        fn arbitrary(g: &mut Gen) -> Self {
            let task = undo(below(g, 3) as u8, b"first", b"second");
            Self(damage(g, bytes_of(|out| task.encode(out))))
        }
    }

    properties! {
        fn every_task_round_trips(first: Vec<u8>, second: Vec<u8>) -> bool {
            let (begin, end) = (&first[..], &second[..]);
            let undo = [
                UndoTask::Put { key: begin, value: end },
                UndoTask::Delete { key: begin },
                UndoTask::DeleteRange { begin, end },
            ];
            let cleanup = [
                CleanupTask::DeleteRange { begin, end },
                CleanupTask::DeleteRangeAndCompact { begin, end },
            ];
            undo.iter().all(|task| UndoTask::decode_exact(&bytes_of(|out| task.encode(out))) == Ok(*task))
                && cleanup.iter().all(|task| CleanupTask::decode_exact(&bytes_of(|out| task.encode(out))) == Ok(*task))
        }

        fn any_input_decodes_to_what_its_encoding_decodes_to_or_errs(input: NearlyTask) -> bool {
            let NearlyTask(input) = input;
            let undo = match UndoTask::decode_exact(&input) {
                Ok(task) => UndoTask::decode_exact(&bytes_of(|out| task.encode(out))) == Ok(task),
                Err(error) => error.offset() <= input.len(),
            };
            let cleanup = match CleanupTask::decode_exact(&input) {
                Ok(task) => CleanupTask::decode_exact(&bytes_of(|out| task.encode(out))) == Ok(task),
                Err(error) => error.offset() <= input.len(),
            };
            undo && cleanup
        }
    }
}
