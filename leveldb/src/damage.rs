//! The description of a damaged place in a store.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The sort of a [`Damage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DamageKind {
    /// Bytes do not have the checksum that is stored with them.
    Checksum,
    /// Bytes with the right checksum do not make sense.
    Structure,
    /// A file is shorter than it must be.
    Truncated,
    /// A file that must be there is not.
    Missing,
    /// The operating system could not read.
    Unreadable,
    /// A filter is of no use; nothing is lost by that.
    Filter,
    /// Sequence numbers are missing between two log records, without a damaged record there.
    SequenceGap,
}

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The file's name, without its directory.
    pub file: PathBuf,
    /// Where it begins, in bytes.
    pub offset: Option<u64>,
    /// How many bytes cannot be used.
    pub len_bytes: u64,
    /// The sort of damage.
    pub kind: DamageKind,
    /// What is wrong, in words.
    pub what: String,
    /// User keys between which entries are lost.
    pub key_range: Option<KeyRange>,
    /// Sequence numbers of lost log entries.
    pub lost_sequences: Option<RangeInclusive<u64>>,
    /// How often a row was not shown because what is lost here may have overwritten or deleted it.
    pub withheld: u64,
    /// Whether rows are shown that may be outdated or deleted, because it cannot be known which keys were lost here.
    pub outdated_possible: bool,
}

/// User keys from the lower to the upper, both included; `None` where an end is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lower end.
    pub low: Option<Vec<u8>>,
    /// The upper end.
    pub high: Option<Vec<u8>>,
}

impl Damage {
    /// A damage without any key or sequence number.
    pub fn new(
        file: impl Into<PathBuf>,
        offset: Option<u64>,
        kind: DamageKind,
        what: impl Into<String>,
    ) -> Damage {
        Damage {
            file: file.into(),
            offset,
            len_bytes: 0,
            kind,
            what: what.into(),
            key_range: None,
            lost_sequences: None,
            withheld: 0,
            outdated_possible: false,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.what)?;
        if self.len_bytes > 0 {
            write!(f, " ({} bytes)", self.len_bytes)?;
        }
        if let Some(KeyRange { low, high }) = &self.key_range {
            f.write_str(", keys ")?;
            hex(f, low.as_deref())?;
            f.write_str("..=")?;
            hex(f, high.as_deref())?;
        }
        if let Some(lost) = &self.lost_sequences {
            write!(
                f,
                ", lost sequence numbers {}..={}",
                lost.start(),
                lost.end()
            )?;
        }
        if self.withheld > 0 {
            let times = if self.withheld == 1 { "time" } else { "times" };
            write!(f, ", older rows withheld {} {times}", self.withheld)?;
        }
        if self.outdated_possible {
            f.write_str(", rows shown may be outdated or deleted")?;
        }
        Ok(())
    }
}

fn hex(f: &mut fmt::Formatter<'_>, key: Option<&[u8]>) -> fmt::Result {
    const SHOWN_LEN_MAX: usize = 32;
    let Some(key) = key else {
        return f.write_str("?");
    };
    for byte in key.iter().take(SHOWN_LEN_MAX) {
        write!(f, "{byte:02x}")?;
    }
    if key.len() > SHOWN_LEN_MAX {
        write!(f, "…[{} bytes]", key.len())
    } else {
        Ok(())
    }
}
