//! The end of a log or MANIFEST that a crash has left incomplete.

use std::fmt;
use std::path::PathBuf;

/// Why a file is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TailKind {
    /// It ends within a record.
    Cut,
    /// It ends in zeros, where nothing was written or a power cut has left nothing of it.
    Zeros,
    /// Something is missing from a record, as a power cut leaves it, and there may be whole records after it.
    Holes,
    /// It goes on from something that is missing from the log before.
    AfterLoss,
}

/// A log or MANIFEST that is read only up to a place, because a crash, mostly a power cut, has destroyed something that no sync had
/// covered. What comes after the place was never acknowledged as durable. Writes that were acknowledged without being durable may
/// be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TornTail {
    /// The file's name.
    pub file: String,
    /// Up to where it was read, in bytes: where the first record begins that is not whole.
    pub offset: u64,
    /// How many bytes there are from there to the file's end.
    pub len_bytes: u64,
    /// Why it was read no further.
    pub kind: TailKind,
    /// Where those bytes are now, in the store's directory, if opening the store for writing has put them there. Without room they
    /// are in the file until there is some, and then go to `lost/NAME.OFFSET`.
    pub set_aside: Option<PathBuf>,
}

impl TornTail {
    pub(crate) fn new(file: &str, offset: u64, end: u64, kind: TailKind) -> TornTail {
        TornTail {
            file: file.to_owned(),
            offset,
            len_bytes: end.saturating_sub(offset),
            kind,
            set_aside: None,
        }
    }
}

impl fmt::Display for TornTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TornTail {
            file,
            offset,
            len_bytes,
            ..
        } = self;
        let why = match self.kind {
            TailKind::Cut => "it ends within a record",
            TailKind::Zeros => "there are only zeros from there on",
            TailKind::Holes => "zeros are in place of what was written there",
            TailKind::AfterLoss => "it goes on from writes that the log before has lost",
        };
        write!(
            f,
            "{file} was read up to byte {offset}: {why}, as a crash or a power cut leaves it. Of the last {len_bytes} bytes \
             nothing was acknowledged as durable; what was written without that may be missing"
        )?;
        match &self.set_aside {
            Some(path) => write!(f, ". They were set aside in {}", path.display()),
            None => Ok(()),
        }
    }
}
