//! [`Needs`]: what a value asks of those that read it: versions of the formats (`docs/format/values.md`, part 6), and a depth.
//!
//! A Chromium reads values up to its own versions, and deletes a store whose data version is greater. So a value is written in
//! the store's versions if these have a form for it. What is listed here was tried with Chromium 64 to 156; where one version
//! stands for browsers of which only the newer ones read a form, that form needs the next version. What was read in a lesser one
//! was written by a browser of that version, and needs no greater one to be written again.

use std::fmt;

use super::tag::v8::VERSION;
use crate::DataVersion;

/// The least versions in which anything is written.
pub(super) const LEAST: DataVersion = DataVersion { v8: 13, blink: 17 };
/// The versions in which values are written unless others are asked for: Chromium 110 and later read them.
pub(super) const USUAL: DataVersion = DataVersion { v8: 15, blink: 21 };
/// The greatest versions that are known.
pub(super) const GREATEST: DataVersion = DataVersion { v8: 16, blink: 21 };

/// From here on Blink's header has a place for a trailer.
const TRAILER_BLINK_MIN: u32 = 21;
/// From here on views have flags.
pub(super) const VIEW_FLAGS_V8_MIN: u32 = 14;
/// The length of Blink's header with a place for a trailer, and of V8's behind it.
const LONG_HEADERS_LEN: usize = 17;

/// What a value asks of those that read it, as it was found while it was written.
///
/// ```
/// use larder_codec::DataVersion;
/// use larder_codec::value::Builder;
///
/// let mut bytes = Vec::new();
/// let mut builder = Builder::begin(&mut bytes);
/// builder.number(1.0);
/// let needs = builder.end();
/// assert_eq!(needs.version(), DataVersion { v8: 13, blink: 17 });
/// // What Chromium 92 writes for it.
/// assert!(needs.restate(DataVersion { v8: 13, blink: 20 }, &mut bytes));
/// assert_eq!(bytes, b"\xff\x14\xff\x0dI\x02");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    version: DataVersion,
    what: &'static str,
    views: bool,
    trailer: bool,
    wide_strings: bool,
    depth: usize,
}

impl Needs {
    pub(super) const fn new() -> Self {
        Self {
            version: LEAST,
            what: "a value",
            views: false,
            trailer: false,
            wide_strings: false,
            depth: 0,
        }
    }

    /// The least versions that have a form for the value.
    #[must_use]
    pub const fn version(&self) -> DataVersion {
        self.version
    }

    /// What in the value needs them: "a Float16Array".
    #[must_use]
    pub const fn what(&self) -> &'static str {
        self.what
    }

    /// How many containers are one inside the other. No decoder takes more than [`DEPTH_MAX`](super::DEPTH_MAX).
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the value can be written in these versions.
    #[must_use]
    pub const fn fit(&self, version: DataVersion) -> bool {
        version.is_at_least(self.version)
    }

    pub(super) const fn note(&mut self, version: DataVersion, what: &'static str) {
        if !self.version.is_at_least(version) {
            self.version = self.version.max(version);
            self.what = what;
        }
    }

    #[inline]
    pub(super) const fn note_depth(&mut self, depth: usize) {
        if depth > self.depth {
            self.depth = depth;
        }
    }

    pub(super) const fn note_view(&mut self) {
        self.views = true;
    }

    pub(super) const fn note_trailer(&mut self) {
        self.trailer = true;
    }

    pub(super) const fn note_wide_string(&mut self) {
        self.wide_strings = true;
    }

    /// Gives a value, whose bytes are those that were written, the headers of other versions, if nothing else in the bytes
    /// depends on them. Otherwise it is `false`, and the bytes stay: the value must be written anew.
    ///
    /// Wide strings stay at even places: there is a padding byte in front of the value then, which every V8 skips.
    #[must_use]
    pub fn restate(&self, version: DataVersion, bytes: &mut Vec<u8>) -> bool {
        let DataVersion { v8, blink } = version.min(GREATEST);
        let is_other_body = self.views && v8 < VIEW_FLAGS_V8_MIN;
        let headers = bytes.first_chunk_mut::<LONG_HEADERS_LEN>();
        let Some([VERSION, told_blink, .., VERSION, told_v8]) = headers else {
            return false;
        };
        if !self.fit(version) || is_other_body || u32::from(*told_blink) < TRAILER_BLINK_MIN {
            return false;
        }
        let [v8, blink] = [v8, blink].map(|version| version.to_le_bytes()[0]);
        if u32::from(blink) >= TRAILER_BLINK_MIN {
            (*told_blink, *told_v8) = (blink, v8);
            return true;
        }
        if self.trailer {
            return false;
        }
        let (short, padded) = (
            [VERSION, blink, VERSION, v8],
            [VERSION, blink, VERSION, v8, 0],
        );
        let headers: &[u8] = if self.wide_strings { &padded } else { &short };
        let start = LONG_HEADERS_LEN - headers.len();
        bytes[start..LONG_HEADERS_LEN].copy_from_slice(headers);
        bytes.drain(..start);
        true
    }
}

/// What needs which versions.
impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DataVersion { v8, blink } = self.version;
        write!(
            f,
            "{} needs version {v8} of V8's value format and {blink} of Blink's",
            self.what
        )
    }
}

impl std::error::Error for Needs {}
