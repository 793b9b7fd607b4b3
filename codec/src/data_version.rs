//! The data version row: which versions of V8's and Blink's value formats a store may hold
//! (`docs/FORMAT.md`, 6.2).

use crate::error::{Error, ErrorKind, Result};
use crate::primitive::int;

/// Versions of the serialised values. One Int: V8's version in the upper 32 bits, Blink's below.
///
/// Versions compare per component, so there is no order here: a reader can read a store if it supports both versions.
///
/// ```
/// use larder_codec::DataVersion;
/// let version = DataVersion { v8: 15, blink: 21 };
/// let mut bytes = Vec::new();
/// version.encode(&mut bytes);
/// assert_eq!(bytes, [0x15, 0, 0, 0, 0x0f]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataVersion {
    /// Version of V8's wire format; 0 in stores from before the two were separate. At most 2^31-1.
    pub v8: u32,
    /// Version of Blink's wire format.
    pub blink: u32,
}

impl DataVersion {
    /// Appends an Int.
    pub fn encode(&self, out: &mut Vec<u8>) {
        int::encode_unsigned(u64::from(self.v8) << 32 | u64::from(self.blink), out);
    }

    /// The data version that is the whole of `input`.
    ///
    /// # Errors
    /// On empty input and on more than eight bytes.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        let number = int::decode_unsigned(input)
            .map_err(|error| Error::new(error.kind().clone(), error.offset(), "data version"))?;
        let (Ok(v8), Ok(blink)) = (
            u32::try_from(number >> 32),
            u32::try_from(number & u64::from(u32::MAX)),
        ) else {
            let found = number;
            return Err(Error::new(ErrorKind::Invalid { found }, 0, "data version"));
        };
        Ok(Self { v8, blink })
    }

    /// The greater of each version.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        Self {
            v8: if self.v8 > other.v8 {
                self.v8
            } else {
                other.v8
            },
            blink: if self.blink > other.blink {
                self.blink
            } else {
                other.blink
            },
        }
    }

    /// The lesser of each version.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        Self {
            v8: if self.v8 < other.v8 {
                self.v8
            } else {
                other.v8
            },
            blink: if self.blink < other.blink {
                self.blink
            } else {
                other.blink
            },
        }
    }

    /// Whether a reader of these versions can read everything in a store of version `stored`.
    #[must_use]
    pub const fn is_at_least(&self, stored: Self) -> bool {
        self.v8 >= stored.v8 && self.blink >= stored.blink
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bytes_of, properties};

    #[test]
    fn the_two_versions_lie_in_one_int() {
        let version = DataVersion { v8: 16, blink: 21 };
        assert_eq!(bytes_of(|out| version.encode(out)), [21, 0, 0, 0, 16]);
        // An old store has Blink's version only.
        assert_eq!(
            DataVersion::decode_exact(&[9]),
            Ok(DataVersion { v8: 0, blink: 9 })
        );
        assert!(DataVersion::decode_exact(&[]).is_err());
    }

    #[test]
    fn a_newer_version_in_either_part_is_not_known() {
        let ours = DataVersion { v8: 16, blink: 21 };
        assert!(ours.is_at_least(ours));
        assert!(ours.is_at_least(DataVersion { v8: 13, blink: 19 }));
        assert!(!ours.is_at_least(DataVersion { v8: 17, blink: 1 }));
        assert!(!ours.is_at_least(DataVersion { v8: 1, blink: 22 }));
    }

    properties! {
        fn the_greater_and_the_lesser_are_of_each_part(v8: [u32; 2], blink: [u32; 2]) -> bool {
            let (a, b) = (DataVersion { v8: v8[0], blink: blink[0] }, DataVersion { v8: v8[1], blink: blink[1] });
            let (least, greatest) = (a.min(b), a.max(b));
            greatest.is_at_least(a) && greatest.is_at_least(b) && a.is_at_least(least) && b.is_at_least(least)
                && [a.v8, b.v8].contains(&least.v8) && [a.blink, b.blink].contains(&greatest.blink)
        }

        fn every_version_round_trips(v8: u32, blink: u32) -> bool {
            let version = DataVersion { v8, blink };
            DataVersion::decode_exact(&bytes_of(|out| version.encode(out))) == Ok(version)
        }
    }
}
