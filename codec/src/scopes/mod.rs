//! The values of the undo log: protocol buffers messages (`docs/FORMAT.md`, section 7).
//!
//! Their keys are [`crate::row_key::ScopesKey`]. Three ages of Chromium differ in the locks only:
//! see [`ScopeLock`]. Fields that are not known are passed over, as by every protocol buffers
//! reader, so they are lost when a message is written again; fields that stand twice, which no
//! writer makes, are refused.

mod locks;
mod tasks;
mod wire;

pub use locks::{LockKey, ScopeLock, ScopeMetadata};
pub use tasks::{CleanupTask, UndoTask};

use wire::Field;

use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// The format version that Chromium writes and reads.
pub const SCOPES_VERSION: i64 = 1;

/// The value of [`crate::row_key::ScopesKey::GlobalMetadata`]: field 1, the format's version.
///
/// ```
/// use larder_codec::scopes::ScopesMetadata;
/// assert_eq!(ScopesMetadata::decode_exact(&[8, 1])?.version, 1);
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopesMetadata {
    /// The version of the undo log's format.
    pub version: i64,
}

impl ScopesMetadata {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        wire::write_number(1, self.version, out);
    }

    /// The message that is the whole of `input`.
    ///
    /// # Errors
    /// On bytes that are no such message. The version is not judged.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(input);
        let mut version = None;
        while !reader.is_empty() {
            let at_field = reader;
            match wire::read_field(&mut reader)? {
                (1, Field::Varint(number)) => {
                    wire::set_once(&mut version, number, at_field, "scopes version")?;
                }
                (found @ 1, _) => {
                    return Err(at_field.error(ErrorKind::Invalid { found }, "scopes version"));
                }
                _ => {}
            }
        }
        Ok(Self {
            version: version.unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bytes_of, properties};

    #[test]
    fn fixed_width_fields_are_passed_over_and_groups_are_refused() {
        let version = |bytes: &[u8]| ScopesMetadata::decode_exact(bytes).map(|m| m.version);
        assert_eq!(version(&[]), Ok(0));
        assert_eq!(version(&[0x19, 1, 2, 3, 4, 5, 6, 7, 8, 8, 1]), Ok(1));
        assert_eq!(version(&[0x1d, 1, 2, 3, 4, 8, 1]), Ok(1));
        assert_eq!(version(&[0x12, 1, 0xff, 8, 1]), Ok(1));
        for bytes in [
            &[0x0b][..],
            &[0x0c],
            &[0x0f],
            &[0x00, 1],
            &[0x0a, 0],
            &[8],
            &[8, 1, 8, 1],
            &[0x12, 2, 0],
            &[0x1d, 1, 2, 3],
        ] {
            assert!(version(bytes).is_err(), "{bytes:?}");
        }
    }

    properties! {
        fn every_version_round_trips(version: i64) -> bool {
            let message = ScopesMetadata { version };
            ScopesMetadata::decode_exact(&bytes_of(|out| message.encode(out))) == Ok(message)
        }
    }
}
