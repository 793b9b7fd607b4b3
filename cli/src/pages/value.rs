//! Values of entries, written without having them whole in memory.

use std::io::Write;

use larder_pages::{Entry, Error, ErrorKind, ObjectReader, Page};

use super::PagesError;
use super::bytes_text::is_shown;
use crate::display::Hex;

/// Bytes that are read at a time.
const PART_LEN: u64 = 64 << 10;
/// A character has at most so many bytes.
const CHAR_LEN_MAX: usize = 4;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// For people: `"text"`, or `bytes:00ff`.
    Text,
    /// For people, digits in any case: `bytes:00ff`.
    Hex,
    /// For programs: a string, or `{"bytes": "00ff"}`.
    Json,
    /// Its bytes as they are.
    Raw,
}

/// What became of a value.
#[derive(Debug)]
pub enum ValueState {
    /// It was written.
    Written {
        /// How many bytes it has.
        len: u64,
        /// Whether only the first of them were written.
        is_cut: bool,
    },
    /// Nothing was written: the value, or a part of it, is not on this device.
    NotHere(Error),
    /// Nothing was written: the value cannot be read.
    Unreadable(Error),
}

/// Writes the value of an entry, or at most the first `len_max` bytes of it. What is written is read before, so that of a value that cannot be read
/// nothing comes out; 64 KiB of it are in memory at a time.
///
/// # Errors
/// `Output`; those of the page, if the value was whole and is not any more.
pub fn write_value(
    page: &Page,
    entry: &Entry,
    len_max: u64,
    form: ValueForm,
    out: &mut dyn Write,
) -> Result<ValueState, PagesError> {
    let failed = |error: Error| match error.kind() {
        ErrorKind::NeedsFetch => ValueState::NotHere(error),
        _ => ValueState::Unreadable(error),
    };
    let mut value = match ObjectReader::open(page, &entry.value) {
        Ok(value) => value,
        Err(error) => return Ok(failed(error)),
    };
    let len = value.len();
    let (end, is_cut) = (len.min(len_max), len > len_max);
    let mut text = TextCheck::default();
    let looked_at = each_part(&mut value, end, &mut |part| {
        text.look_at(part);
        Ok(())
    });
    match looked_at {
        Ok(()) => {}
        Err(PagesError::Page(error)) => return Ok(failed(error)),
        Err(error) => return Err(error),
    }
    let is_text = match form {
        ValueForm::Hex | ValueForm::Raw => false,
        ValueForm::Text | ValueForm::Json => text.is_text(is_cut),
    };
    let (before, after) = match (form, is_text) {
        (ValueForm::Raw, _) => ("", ""),
        (ValueForm::Json, false) => ("{\"bytes\":\"", "\"}"),
        (_, true) => ("\"", "\""),
        (_, false) => ("bytes:", ""),
    };
    out.write_all(before.as_bytes())?;
    let mut carry = Carry::default();
    each_part(&mut value, end, &mut |part| {
        match (form, is_text) {
            (ValueForm::Raw, _) => out.write_all(part)?,
            (_, false) => write!(out, "{}", Hex(part))?,
            (ValueForm::Json, true) => write_json(carry.text(part), out)?,
            (_, true) => write_shown(carry.text(part), out)?,
        }
        Ok(())
    })?;
    out.write_all(after.as_bytes())?;
    Ok(ValueState::Written { len, is_cut })
}

fn each_part(
    value: &mut ObjectReader<&Page>,
    end: u64,
    each: &mut dyn FnMut(&[u8]) -> Result<(), PagesError>,
) -> Result<(), PagesError> {
    let mut at = 0;
    while at < end {
        let offset = i64::try_from(at).unwrap_or(i64::MAX);
        let part = value.read_range(offset, PART_LEN.min(end - at))?;
        if part.is_empty() {
            let what = format!("a value ends after {at} of {end} bytes");
            return Err(Error::new(ErrorKind::Corruption, what).into());
        }
        each(&part)?;
        at += part.len() as u64;
    }
    Ok(())
}

/// The bytes of a character that the end of a part has cut.
#[derive(Debug, Default)]
struct Carry {
    bytes: Vec<u8>,
    text: String,
}

impl Carry {
    /// The characters that are whole by now. What is no text is left out.
    fn text(&mut self, part: &[u8]) -> &str {
        self.bytes.extend_from_slice(part);
        let whole = whole_len(&self.bytes);
        let rest = self.bytes.split_off(whole);
        self.text.clear();
        self.text
            .push_str(std::str::from_utf8(&self.bytes).unwrap_or_default());
        self.bytes = rest;
        &self.text
    }
}

/// How many bytes there are before a character whose end is not there yet.
fn whole_len(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// Whether all parts together are a text that can be shown.
#[derive(Debug, Default)]
struct TextCheck {
    cut: Vec<u8>,
    is_none: bool,
}

impl TextCheck {
    fn look_at(&mut self, part: &[u8]) {
        if self.is_none {
            return;
        }
        self.cut.extend_from_slice(part);
        let rest = self.cut.split_off(whole_len(&self.cut));
        let text = std::str::from_utf8(&self.cut);
        self.is_none = !text.is_ok_and(|text| text.chars().all(is_shown));
        self.cut = rest;
    }

    /// A value that is cut may end within a character.
    fn is_text(&self, is_cut: bool) -> bool {
        !self.is_none && (self.cut.is_empty() || is_cut && self.cut.len() < CHAR_LEN_MAX)
    }
}

fn write_json(text: &str, out: &mut dyn Write) -> Result<(), PagesError> {
    let quoted = serde_json::to_string(text).map_err(std::io::Error::from)?;
    out.write_all(&quoted.as_bytes()[1..quoted.len() - 1])?;
    Ok(())
}

fn write_shown(text: &str, out: &mut dyn Write) -> Result<(), PagesError> {
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            '\n' | '\r' | '\t' => write!(out, "\\u{{{:x}}}", u32::from(c))?,
            c => write!(out, "{c}")?,
        }
    }
    Ok(())
}
