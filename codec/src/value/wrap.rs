//! Blink's treatment of large values: Snappy, then a blob in place of the bytes.
//!
//! The inverse of what [`Envelope`](super::Envelope) takes off. Source: Blink
//! `idb_value_wrapping.cc`. Storing the blob is the caller's work. Which of the two is done follows from the store's versions:
//! what Chromiums of these versions do themselves, and all of them read.

use crate::DataVersion;

/// Values of at least this many bytes are compressed, if that pays.
pub const COMPRESS_LEN_BYTES_MIN: usize = 65_536;
/// Values of more bytes, compressed or not, go into a blob.
pub const INLINE_LEN_BYTES_MAX: usize = 65_536;
/// The type of such a blob.
pub const WRAPPER_MIME_TYPE: &str = "application/vnd.blink-idb-value-wrapper";

/// V8's version from which on values are compressed: 16 is written by Chromium 150 and later. 131 to 149 compress under version
/// 15, but 110 to 126, which have the same version, read a compressed value as null.
const COMPRESS_V8_MIN: u32 = 16;
/// Blink's version from which on large values go into blobs: Chromium 83 and later.
const BLOB_BLINK_MIN: u32 = 20;

const SNAPPY_HEAD: [u8; 3] = [0xff, 0x11, 2];
const IN_BLOB_HEAD: [u8; 3] = [0xff, 0x11, 1];

/// A value ready to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapped {
    /// What stands in the record's row, behind the record's version.
    pub inline: Vec<u8>,
    /// What must be stored as the record's last blob, with the type [`WRAPPER_MIME_TYPE`].
    pub blob: Option<Vec<u8>>,
}

/// Compresses a value and moves it to a blob where Blink would in a store of these versions. `blob_index` is the place that the
/// blob would take in the record's list: the number of blobs and files that the value refers to.
///
/// The compressed bytes need not be those of Chromium, whose Snappy finds other matches; they
/// unpack to the same value.
///
/// ```
/// use larder_codec::DataVersion;
/// use larder_codec::value::wrap;
///
/// let [now, before, old] = [(16, 21), (15, 21), (13, 19)].map(|(v8, blink)| DataVersion { v8, blink });
/// let small = wrap(b"\xff\x15 and so on".to_vec(), 0, now);
/// assert_eq!((small.inline.len(), small.blob), (12, None));
/// // Zeros compress well: to some 12 KiB.
/// let zeros = wrap(vec![0; 256 * 1024], 0, now);
/// assert!(zeros.inline.starts_with(b"\xff\x11\x02") && zeros.blob.is_none());
/// assert_eq!(wrap(vec![0; 256 * 1024], 0, before).blob, Some(vec![0; 256 * 1024]));
/// assert_eq!(wrap(vec![0; 256 * 1024], 0, old).inline, vec![0; 256 * 1024]);
/// ```
#[must_use]
pub fn wrap(value: Vec<u8>, blob_index: u32, version: DataVersion) -> Wrapped {
    let value = match version.v8 >= COMPRESS_V8_MIN {
        true => compress(&value).unwrap_or(value),
        false => value,
    };
    if value.len() <= INLINE_LEN_BYTES_MAX || version.blink < BLOB_BLINK_MIN {
        return Wrapped {
            inline: value,
            blob: None,
        };
    }
    let mut inline = IN_BLOB_HEAD.to_vec();
    varint(value.len() as u64, &mut inline);
    varint(u64::from(blob_index), &mut inline);
    Wrapped {
        inline,
        blob: Some(value),
    }
}

/// The compressed form, if Blink would keep it.
fn compress(value: &[u8]) -> Option<Vec<u8>> {
    if value.len() < COMPRESS_LEN_BYTES_MIN {
        return None;
    }
    let head = SNAPPY_HEAD.len();
    let mut out = vec![0; head.checked_add(snap::raw::max_compress_len(value.len()))?];
    out[..head].copy_from_slice(&SNAPPY_HEAD);
    // Values of 4 GiB and more, which Snappy does not take, stay as they are.
    let len = snap::raw::Encoder::new()
        .compress(value, &mut out[head..])
        .ok()?;
    if !pays(value.len(), len) {
        return None;
    }
    out.truncate(head + len);
    Some(out)
}

/// Whether Blink keeps so many compressed bytes (without their head): 90 percent at most. Earlier
/// ones refused more than 256,000 bytes as well; Chromium 156 keeps 328,391 of a mebibyte.
const fn pays(len: usize, compressed_len: usize) -> bool {
    compressed_len as u64 * 10 <= len as u64 * 9
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Envelope;

    const NOW: DataVersion = DataVersion { v8: 16, blink: 21 };
    const HEAD: &[u8] = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f";

    /// Bytes in which Snappy finds nothing.
    fn noise(len: usize) -> Vec<u8> {
        let mut state: u32 = 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 8) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    fn value(rest: &[u8]) -> Vec<u8> {
        [HEAD, rest].concat()
    }

    #[test]
    fn values_below_the_threshold_stay_as_they_are() {
        let zeros = value(&[0; 65_535 - HEAD.len()]);
        assert_eq!(wrap(zeros.clone(), 3, NOW).inline, zeros);
        let longer = [&zeros[..], &[0]].concat();
        assert!(wrap(longer, 3, NOW).inline.starts_with(&SNAPPY_HEAD));
        // Exactly 65,536 bytes that do not compress are still inline.
        let dense = value(&noise(65_536 - HEAD.len()));
        assert_eq!(wrap(dense.clone(), 3, NOW).inline, dense);
    }

    #[test]
    fn what_is_too_long_goes_into_a_blob_as_it_is_or_compressed() {
        let dense = value(&noise(65_537 - HEAD.len()));
        let wrapped = wrap(dense.clone(), 300, NOW);
        assert_eq!(wrapped.inline, b"\xff\x11\x01\x81\x80\x04\xac\x02");
        assert_eq!(wrapped.blob.as_ref(), Some(&dense));
        // Half noise, half zeros: about 105 KiB compressed.
        let half = value(&[noise(100_000), vec![0; 100_000]].concat());
        let wrapped = wrap(half.clone(), 0, NOW);
        let blob = wrapped.blob.unwrap();
        assert!(blob.starts_with(&SNAPPY_HEAD) && blob.len() < 110_000);
        let mut buffer = Vec::new();
        let payload = Envelope::peel_blob(&blob, &mut buffer).unwrap();
        assert_eq!(payload.bytes(), half);
        let mut buffer = Vec::new();
        let told = Envelope::peel(&wrapped.inline, &mut buffer).unwrap();
        let size = blob.len() as u64;
        assert_eq!(told, Envelope::InBlob { size, index: 0 });
    }

    #[test]
    fn nothing_is_compressed_and_nothing_in_a_blob_where_older_browsers_read_neither() {
        let zeros = value(&[0; 100_000]);
        for (v8, blink, is_blob) in [
            (15, 21, true),
            (13, 20, true),
            (13, 19, false),
            (13, 17, false),
        ] {
            let wrapped = wrap(zeros.clone(), 0, DataVersion { v8, blink });
            match is_blob {
                true => assert_eq!(wrapped.blob.as_ref(), Some(&zeros)),
                false => assert_eq!((wrapped.inline, wrapped.blob), (zeros.clone(), None)),
            }
        }
    }

    #[test]
    fn compressed_bytes_are_kept_up_to_nine_tenths() {
        assert!(pays(100_000, 90_000) && !pays(100_000, 90_001));
        let dense = value(&[noise(95_000), vec![0; 5_000]].concat());
        assert_eq!(wrap(dense.clone(), 0, NOW).blob, Some(dense));
    }
}
