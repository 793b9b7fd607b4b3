//! Values as JSON, in the form of `docs/format/jsonl-values.md`: what serialising a [`Tree`] gives, byte for byte, in a third of the time.
//!
//! Most values are objects and arrays of strings, numbers, dates and the like, each in one place. Those are written here, their strings
//! straight from the bytes of the record. Every other is left to the `Serialize` of [`Tree`], which is also what the tests compare with.

#[cfg(test)]
mod tests;
mod text;

use std::io::Write;

use larder_codec::value::{
    Array, DEPTH_INLINE_MAX, IsoDate, JsStr, Object, ObjectId, Property, PropertyName, Tree, Value,
};
use text::{push_escaped, push_escaped_latin1};

/// Appends a value as JSON.
///
/// # Errors
/// None: what a vector is given it takes. Serialising says that it could fail.
pub(crate) fn push_value(line: &mut Vec<u8>, tree: &Tree<'_>) -> serde_json::Result<()> {
    let start = line.len();
    let is_whole = tree.is_in_place() && {
        let mut writer = Writer { tree, line };
        writer.value(tree.root(), 0).is_some()
    };
    if is_whole {
        return Ok(());
    }
    line.truncate(start);
    serde_json::to_writer(line, tree)
}

/// What it writes, or `None` where it leaves a value to serialising.
type Written = Option<()>;

struct Writer<'w, 'a> {
    tree: &'w Tree<'a>,
    line: &'w mut Vec<u8>,
}

impl<'a> Writer<'_, 'a> {
    fn value(&mut self, value: Value<'a>, level: usize) -> Written {
        match value {
            Value::Undefined => self.line.extend_from_slice(b"{\"$undefined\":true}"),
            Value::Null => self.line.extend_from_slice(b"null"),
            Value::Bool(true) => self.line.extend_from_slice(b"true"),
            Value::Bool(false) => self.line.extend_from_slice(b"false"),
            Value::Number(number) => self.number(number)?,
            Value::BigInt(_) => return None,
            Value::String(string) => self.string(string)?,
            Value::Object(id) => self.object(id, level)?,
        }
        Some(())
    }

    fn number(&mut self, number: f64) -> Written {
        const SAFE_INTEGER_END: f64 = 9_007_199_254_740_992.0;
        let is_minus_zero = number == 0.0 && number.is_sign_negative();
        if is_minus_zero || !number.is_finite() {
            return None;
        }
        if number.trunc() == number && number.abs() < SAFE_INTEGER_END {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            let whole = number as i64;
            return serde_json::to_writer(&mut *self.line, &whole).ok();
        }
        serde_json::to_writer(&mut *self.line, &number).ok()
    }

    fn string(&mut self, string: JsStr<'a>) -> Written {
        self.line.push(b'"');
        match string {
            JsStr::Latin1(bytes) => push_escaped_latin1(self.line, bytes),
            other => push_escaped(self.line, other.to_utf8()?.as_bytes()),
        }
        self.line.push(b'"');
        Some(())
    }

    fn object(&mut self, id: ObjectId, level: usize) -> Written {
        // None lies deeper, but for those that were put in since.
        if level > DEPTH_INLINE_MAX {
            return None;
        }
        match self.tree.object(id) {
            Object::Plain(span) => self.plain(self.tree.properties(*span), level + 1),
            Object::Array(array) => self.array(array, level + 1),
            Object::Date(time_ms) => {
                let date = IsoDate::new(*time_ms)?;
                self.line.extend_from_slice(b"{\"$date\":\"");
                write!(self.line, "{date}").ok()?;
                self.line.extend_from_slice(b"\"}");
                Some(())
            }
            _ => None,
        }
    }

    fn plain(&mut self, properties: &[Property<'a>], level: usize) -> Written {
        let mut separator = b'{';
        for property in properties {
            self.line.push(separator);
            separator = b',';
            match property.name {
                PropertyName::String(name) if !begins_with_dollar(name) => self.string(name)?,
                PropertyName::Index(index) => write!(self.line, "\"{index}\"").ok()?,
                _ => return None,
            }
            self.line.push(b':');
            self.value(property.value, level)?;
        }
        let end: &[u8] = if separator == b'{' { b"{}" } else { b"}" };
        self.line.extend_from_slice(end);
        Some(())
    }

    fn array(&mut self, array: &Array, level: usize) -> Written {
        let elements = self.tree.slots(array.elements);
        let is_dense = array.properties.is_empty() && elements.len() == array.length as usize;
        if !is_dense {
            return None;
        }
        let mut separator = b'[';
        for element in elements {
            self.line.push(separator);
            separator = b',';
            // A hole has no place in a list.
            self.value((*element)?, level)?;
        }
        let end: &[u8] = if separator == b'[' { b"[]" } else { b"]" };
        self.line.extend_from_slice(end);
        Some(())
    }
}

fn begins_with_dollar(name: JsStr<'_>) -> bool {
    name.units().next() == Some(u16::from(b'$'))
}
