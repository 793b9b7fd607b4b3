//! What every value encoder writes through: the counterpart of [`reader`](super::reader).
//!
//! Numbers and strings as V8 and Blink write them inside values, and the headers and the trailer around them
//! (`docs/format/values.md`, part 1). It has the tags of numbers and strings only and keeps no structure; nothing here
//! can fail.

use super::bigint::BigInt;
use super::js_str::JsStr;
use super::needs::{GREATEST, LEAST, Needs, USUAL, VIEW_FLAGS_V8_MIN};
use super::number::as_smi;
use super::tag::v8 as tag;
use crate::DataVersion;

/// Blink's envelope 21 without a trailer, then V8's version 15. Chromium 110 and later read it.
const HEADER: [u8; 17] = [0xff, 21, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 15];
/// Blink's envelope has a place for a trailer from here on.
const TRAILER_BLINK_MIN: u32 = 21;
const TRAILER_TAG: u8 = 0xa0;

/// Appends one value to a vector.
#[derive(Debug)]
pub(super) struct Writer<'o> {
    out: &'o mut Vec<u8>,
    /// Where the value's envelope starts; V8 aligns and Blink counts from there.
    start: usize,
    /// Tags of the host objects met, each once, in the order of their first appearance.
    interfaces: Vec<u8>,
    /// The versions that it is written in.
    version: DataVersion,
    /// What it asks of them.
    needs: Needs,
    /// The versions in which what is being written was read, if it was: it needs no greater ones.
    read_in: Option<DataVersion>,
    /// Whether strings are written as narrow as they can be, however they are kept.
    narrow: bool,
}

impl<'o> Writer<'o> {
    /// Begins a value with its headers, in the usual versions: where they are not enough, [`end`](Self::end) puts greater ones.
    pub(super) fn begin(out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&HEADER);
        Self::resume(out, start)
    }

    /// Begins a value in these versions, or the nearest ones in which anything is written.
    pub(super) fn begin_in(version: DataVersion, out: &'o mut Vec<u8>) -> Self {
        let version = version.max(LEAST).min(GREATEST);
        let [v8, blink] = [version.v8, version.blink].map(|version| version.to_le_bytes()[0]);
        let start = out.len();
        if version.blink >= TRAILER_BLINK_MIN {
            out.extend_from_slice(&HEADER);
            out[start + 1] = blink;
            out[start + HEADER.len() - 1] = v8;
        } else {
            out.extend_from_slice(&[tag::VERSION, blink, tag::VERSION, v8]);
        }
        Self {
            version,
            ..Self::resume(out, start)
        }
    }

    /// Goes on with a value whose envelope starts at `start`. Nothing of its headers will change.
    pub(super) const fn resume(out: &'o mut Vec<u8>, start: usize) -> Self {
        Self {
            out,
            start,
            interfaces: Vec::new(),
            version: USUAL,
            needs: Needs::new(),
            read_in: None,
            narrow: false,
        }
    }

    /// The versions that the value is written in.
    pub(super) const fn version(&self) -> DataVersion {
        self.version
    }

    /// Something in the value that not every version has a form for.
    #[inline]
    pub(super) const fn needs(&mut self, v8: u32, blink: u32, what: &'static str) {
        let version = DataVersion { v8, blink };
        self.needs.note(
            match self.read_in {
                Some(read_in) => version.min(read_in),
                None => version,
            },
            what,
        );
    }

    /// From here on everything was read in these versions, or is new.
    #[inline]
    pub(super) const fn set_read_in(&mut self, version: Option<DataVersion>) {
        self.read_in = version;
    }

    /// So many containers are open.
    #[inline]
    pub(super) const fn note_depth(&mut self, depth: usize) {
        self.needs.note_depth(depth);
    }

    /// Whether views have flags in these versions; there is one.
    pub(super) const fn view_has_flags(&mut self) -> bool {
        self.needs.note_view();
        self.version.v8 >= VIEW_FLAGS_V8_MIN
    }

    /// From here on the same string is written the same way, however it is kept.
    pub(super) const fn narrow(&mut self) {
        self.narrow = true;
    }

    /// Ends the value: the trailer names the interfaces that reading it needs. Returns what it needs of the versions
    /// that it is written in: these may be too old for it.
    pub(super) fn end(self) -> Needs {
        let Self {
            out,
            start,
            interfaces,
            version,
            mut needs,
            ..
        } = self;
        if version.blink < TRAILER_BLINK_MIN {
            return needs;
        }
        let offset = (out.len() - start) as u64;
        let header = &mut out[start..];
        if needs.version().v8 > version.v8
            && let Some(told) = header.get_mut(HEADER.len() - 1)
        {
            *told = needs.version().v8.to_le_bytes()[0];
        }
        // Tags are bytes, each there once: 256 at most.
        let Ok(count) = u32::try_from(interfaces.len()) else {
            return needs;
        };
        if count == 0 {
            return needs;
        }
        needs.note_trailer();
        let size = 1 + 4 + count;
        header[3..11].copy_from_slice(&offset.to_be_bytes());
        header[11..15].copy_from_slice(&size.to_be_bytes());
        out.push(TRAILER_TAG);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&interfaces);
        needs
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    #[inline]
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// The tag of a host object, behind V8's. Blink notes it for the trailer.
    pub(super) fn host_tag(&mut self, tag: u8) {
        self.byte(tag);
        if !self.interfaces.contains(&tag) {
            self.interfaces.push(tag);
        }
    }

    /// An unsigned LEB128 number.
    #[inline]
    pub(super) fn varint(&mut self, value: impl Into<u64>) {
        let mut value = value.into();
        while value > 0x7f {
            self.out.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.out.push(value.to_le_bytes()[0]);
    }

    /// A count or length.
    #[inline]
    pub(super) fn len(&mut self, len: usize) {
        self.varint(len as u64);
    }

    /// A length of a buffer or view: 64 bits wide in V8's version 16, 32 before.
    pub(super) fn wide_len(&mut self, len: u64) {
        if u32::try_from(len).is_err() {
            self.needs(16, 21, "a length of more than 32 bits");
        }
        self.varint(len);
    }

    #[inline]
    pub(super) fn f64(&mut self, number: f64) {
        self.out.extend_from_slice(&number.to_le_bytes());
    }

    /// A number with its tag: an integer where V8 has one, else a double.
    #[inline]
    pub(super) fn number(&mut self, number: f64) {
        match as_smi(number) {
            Some(smi) => self.smi(smi),
            None => self.double(number),
        }
    }

    /// A number with its tag, as a double whatever it is.
    #[inline]
    pub(super) fn double(&mut self, number: f64) {
        let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
        self.out
            .extend_from_slice(&[tag::DOUBLE, a, b, c, d, e, f, g, h]);
    }

    /// An integer with its tag, zigzag.
    #[inline]
    fn smi(&mut self, number: i32) {
        let zigzag = ((number << 1) ^ (number >> 31)).cast_unsigned();
        // Most integers are small; one piece is written faster than two.
        let [a, b, ..] = zigzag.to_le_bytes();
        match zigzag {
            0..0x80 => self.bytes(&[tag::INT32, a]),
            0x80..0x4000 => self.bytes(&[tag::INT32, a | 0x80, b << 1 | a >> 7]),
            _ => {
                self.byte(tag::INT32);
                self.varint(zigzag);
            }
        }
    }

    /// The name of an array element or of a property that looks like one.
    #[inline]
    pub(super) fn index(&mut self, index: u32) {
        self.number(f64::from(index));
    }

    /// A BigInt without its tag. V8 keeps magnitudes in words of eight bytes and writes all of them.
    pub(super) fn bigint(&mut self, bigint: BigInt<'_>) {
        self.needs(13, 19, "a BigInt");
        const WORD: usize = 8;
        let magnitude = bigint.significant();
        let padded = magnitude.len().next_multiple_of(WORD);
        let negative = bigint.is_negative() && !magnitude.is_empty();
        self.len(padded << 1 | usize::from(negative));
        self.bytes(magnitude);
        self.bytes(&[0; WORD][..padded - magnitude.len()]);
    }

    /// A string with its tag: one byte per unit, or two where the string has them; UTF-8, which V8
    /// has no more, as narrow as it can be.
    #[inline]
    pub(super) fn string(&mut self, string: JsStr<'_>) {
        match string {
            JsStr::Latin1(bytes) => self.one_byte(bytes),
            // The empty string is always of one byte.
            JsStr::Utf16Le([] | [_]) => self.one_byte(&[]),
            JsStr::Utf16Le(_) if self.narrow => self.narrowest(string),
            JsStr::Utf16Le(bytes) => {
                let whole = &bytes[..bytes.len() & !1];
                self.two_byte_head(whole.len());
                self.bytes(whole);
            }
            JsStr::Utf8(bytes) if bytes.is_ascii() => self.one_byte(bytes),
            JsStr::Utf8(_) => self.narrowest(string),
        }
    }

    fn one_byte(&mut self, bytes: &[u8]) {
        self.byte(tag::ONE_BYTE_STRING);
        self.len(bytes.len());
        self.bytes(bytes);
    }

    /// Tag and length of a string of two-byte units, which V8 aligns.
    fn two_byte_head(&mut self, len_bytes: usize) {
        self.needs.note_wide_string();
        self.align(len_bytes);
        self.byte(tag::TWO_BYTE_STRING);
        self.len(len_bytes);
    }

    /// The padding that V8 puts in front of a string of so many bytes in two-byte units.
    pub(super) fn align(&mut self, len_bytes: usize) {
        let bits = usize::BITS - (len_bytes | 1).leading_zeros();
        let head_len = 1 + bits.div_ceil(7) as usize;
        if (self.out.len() - self.start + head_len) % 2 == 1 {
            self.byte(tag::PADDING);
        }
    }

    /// A string with its tag, of one byte per unit if all fit.
    fn narrowest(&mut self, string: JsStr<'_>) {
        self.units(|| string.units());
    }

    /// A string of these units with its tag, of one byte per unit if all fit.
    pub(super) fn units<I: Iterator<Item = u16>>(&mut self, units: impl Fn() -> I) {
        let (count, all) = units().fold((0, 0), |(count, all), unit| (count + 1, all | unit));
        if all <= 0xff {
            self.byte(tag::ONE_BYTE_STRING);
            self.len(count);
            self.out.extend(units().map(|unit| unit.to_le_bytes()[0]));
        } else {
            self.two_byte_head(count * 2);
            self.out.extend(units().flat_map(u16::to_le_bytes));
        }
    }

    /// Blink's string: varint length in bytes, then UTF-8, with U+FFFD for what is not well formed.
    pub(super) fn utf8(&mut self, string: JsStr<'_>) {
        let text = string.to_utf8_lossy();
        self.len(text.len());
        self.bytes(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        // Something is there already, and of an odd length.
        let mut out = b"odd".to_vec();
        let mut writer = Writer::begin(&mut out);
        write(&mut writer);
        writer.end();
        assert_eq!(&out[..3], b"odd");
        out.split_off(3)
    }

    #[test]
    fn two_byte_strings_are_aligned_from_the_start_of_the_envelope() {
        // `str utf16`, `str lone` and the like of the fixtures begin at offset 17 with a padding.
        for len in [1, 63, 64, 65, 8191, 8192, 8193] {
            for before in 0..2 {
                let units = vec![0x42; len * 2];
                let bytes = written(|writer| {
                    writer.bytes(&b"_"[..before]);
                    writer.string(JsStr::Utf16Le(&units));
                });
                let at = bytes.windows(2).position(|pair| pair == [0x42, 0x42]);
                assert_eq!(at.map(|at| at % 2), Some(0), "{len} units behind {before}");
                let tag_at = HEADER.len() + before;
                let head = bytes.len() - units.len() - tag_at;
                let varint = [1, 1, 2, 2, 2, 3, 3][usize::from(len > 1)
                    + usize::from(len > 63)
                    + usize::from(len > 64)
                    + usize::from(len > 65)
                    + usize::from(len > 8191)
                    + usize::from(len > 8192)];
                assert_eq!(head, 1 + varint + usize::from(bytes[tag_at] == 0));
            }
        }
    }

    #[test]
    fn utf8_becomes_what_v8_makes_of_it() {
        let tail = |text: &'static str| written(|writer| writer.string(text.into()))[17..].to_vec();
        assert_eq!(tail("abc"), b"\"\x03abc");
        assert_eq!(tail("\u{e9}"), b"\"\x01\xe9");
        assert_eq!(tail("\u{100}"), b"\0c\x02\x00\x01");
        assert_eq!(tail(""), b"\"\x00");
        let empty = written(|writer| writer.string(JsStr::Utf16Le(b"")));
        assert_eq!(empty[17..], *b"\"\x00");
    }

    #[test]
    fn the_trailer_names_each_interface_once_in_the_order_of_first_use() {
        let bytes = written(|writer| {
            for tag in *b"eie" {
                writer.byte(tag::HOST_OBJECT);
                writer.host_tag(tag);
                writer.varint(0_u32);
            }
        });
        let expected =
            b"\xff\x15\xfe\0\0\0\0\0\0\0\x1a\0\0\0\x07\xff\x0f\\e\0\\i\0\\e\0\xa0\0\0\0\x02ei";
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_length_above_32_bits_takes_version_16() {
        let version = |len: u64| written(|writer| writer.wide_len(len))[16];
        assert_eq!(version(u64::from(u32::MAX)), 15);
        assert_eq!(version(1 << 32), 16);
    }
}
