//! Blink's treatment of large values: Snappy, then a blob in place of the bytes.
//!
//! The inverse of what [`Envelope`](super::Envelope) takes off. Source: Blink
//! `idb_value_wrapping.cc`. Storing the blob is the caller's work.

/// Values of at least this many bytes are compressed, if that pays.
pub const COMPRESS_LEN_BYTES_MIN: usize = 65_536;
/// Values of more bytes, compressed or not, go into a blob.
pub const INLINE_LEN_BYTES_MAX: usize = 65_536;
/// The type of such a blob.
pub const WRAPPER_MIME_TYPE: &str = "application/vnd.blink-idb-value-wrapper";

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

/// Compresses a value and moves it to a blob where Blink would. `blob_index` is the place that the
/// blob would take in the record's list: the number of blobs and files that the value refers to.
///
/// The compressed bytes need not be those of Chromium, whose Snappy finds other matches; they
/// unpack to the same value.
///
/// ```
/// use larder_codec::value::wrap;
///
/// let small = wrap(b"\xff\x15 and so on".to_vec(), 0);
/// assert_eq!((small.inline.len(), small.blob), (12, None));
/// // Zeros compress well: to some 12 KiB.
/// let zeros = wrap(vec![0; 256 * 1024], 0);
/// assert!(zeros.inline.starts_with(b"\xff\x11\x02") && zeros.blob.is_none());
/// ```
#[must_use]
pub fn wrap(value: Vec<u8>, blob_index: u32) -> Wrapped {
    let value = compress(&value).unwrap_or(value);
    if value.len() <= INLINE_LEN_BYTES_MAX {
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
        assert_eq!(wrap(zeros.clone(), 3).inline, zeros);
        let longer = [&zeros[..], &[0]].concat();
        assert!(wrap(longer, 3).inline.starts_with(&SNAPPY_HEAD));
        // Exactly 65,536 bytes that do not compress are still inline.
        let dense = value(&noise(65_536 - HEAD.len()));
        assert_eq!(wrap(dense.clone(), 3).inline, dense);
    }

    #[test]
    fn what_is_too_long_goes_into_a_blob_as_it_is_or_compressed() {
        let dense = value(&noise(65_537 - HEAD.len()));
        let wrapped = wrap(dense.clone(), 300);
        assert_eq!(wrapped.inline, b"\xff\x11\x01\x81\x80\x04\xac\x02");
        assert_eq!(wrapped.blob.as_ref(), Some(&dense));
        // Half noise, half zeros: about 105 KiB compressed.
        let half = value(&[noise(100_000), vec![0; 100_000]].concat());
        let wrapped = wrap(half.clone(), 0);
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
    fn compressed_bytes_are_kept_up_to_nine_tenths() {
        assert!(pays(100_000, 90_000) && !pays(100_000, 90_001));
        let dense = value(&[noise(95_000), vec![0; 5_000]].concat());
        assert_eq!(wrap(dense.clone(), 0).blob, Some(dense));
    }
}
