//! JSON as a stream: member by member, each value as its text, so that nothing larger than one value is held.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::super::error::ArchiveError;
use super::BYTE_ORDER_MARK;

/// The text of one value, at most: a row with its blobs in base64.
const VALUE_LEN_MAX: usize = 1 << 30;

/// A longer text's memory is given back before the next.
pub(super) const TEXT_LEN_KEPT: usize = 1 << 20;

pub(super) struct Stream {
    path: PathBuf,
    input: Box<dyn BufRead>,
    /// Where the next byte is, for messages.
    at: u64,
}

impl Stream {
    pub(super) fn new(path: &Path, input: Box<dyn BufRead>) -> Result<Self, ArchiveError> {
        let mut stream = Self {
            path: path.to_owned(),
            input,
            at: 0,
        };
        if stream.buffer()?.starts_with(BYTE_ORDER_MARK) {
            stream.consume(BYTE_ORDER_MARK.len());
        }
        Ok(stream)
    }

    /// An error at the place that was reached.
    pub(super) fn error(&self, what: impl std::fmt::Display) -> ArchiveError {
        ArchiveError::new(&self.path, format!("byte {}: {what}", self.at))
    }

    fn buffer(&mut self) -> Result<&[u8], ArchiveError> {
        let Self { path, input, .. } = self;
        let failed = |error| ArchiveError::io(path, "cannot be read on", error);
        input.fill_buf().map_err(failed)
    }

    fn consume(&mut self, len: usize) {
        self.input.consume(len);
        self.at += len as u64;
    }

    /// The next byte that is no white space; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ArchiveError> {
        loop {
            let buffer = self.buffer()?;
            let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let space = buffer.iter().take_while(|byte| is_space(byte)).count();
            let (next, is_end) = (buffer.get(space).copied(), buffer.is_empty());
            self.consume(space);
            if next.is_some() || is_end {
                return Ok(next);
            }
        }
    }

    /// Takes a byte that has to come.
    pub(super) fn expect(&mut self, wanted: u8) -> Result<(), ArchiveError> {
        match self.peek()? {
            Some(byte) if byte == wanted => {
                self.consume(1);
                Ok(())
            }
            Some(byte) => Err(self.error(format!(
                "{} was expected, and there is {}",
                char::from(wanted),
                char::from(byte).escape_default()
            ))),
            None => Err(self.cut()),
        }
    }

    fn cut(&self) -> ArchiveError {
        self.error("the file ends here: it was not written to its end, or cut")
    }

    /// Goes to the next member of an object, or element of a list, that ends with `close`: whether there is one. `is_first` is
    /// whether none has come. A comma before the end is passed over: the package writes one where its filter has let through none of the
    /// last rows.
    pub(super) fn next(&mut self, close: u8, is_first: &mut bool) -> Result<bool, ArchiveError> {
        let is_first = std::mem::replace(is_first, false);
        if self.peek()? == Some(close) {
            self.consume(1);
            return Ok(false);
        }
        if is_first {
            return Ok(true);
        }
        self.expect(b',')?;
        match self.peek()? == Some(close) {
            true => {
                self.consume(1);
                Ok(false)
            }
            false => Ok(true),
        }
    }

    /// The name of the next member of an object.
    pub(super) fn name(&mut self, text: &mut Vec<u8>) -> Result<(), ArchiveError> {
        if self.peek()? != Some(b'"') {
            return Err(self.error("the name of a member was expected"));
        }
        self.value(text)?;
        self.expect(b':')
    }

    /// The text of the next value, whatever it is.
    pub(super) fn value(&mut self, text: &mut Vec<u8>) -> Result<(), ArchiveError> {
        text.clear();
        text.shrink_to(TEXT_LEN_KEPT);
        if self.peek()?.is_none() {
            return Err(self.cut());
        }
        let mut scan = Scan::default();
        loop {
            let buffer = self.buffer()?;
            if buffer.is_empty() {
                // A number may be the last thing.
                return match scan.is_bare && scan.depth == 0 {
                    true => Ok(()),
                    false => Err(self.cut()),
                };
            }
            let (taken, is_over) = scan.take(buffer);
            text.extend_from_slice(buffer.get(..taken).unwrap_or_default());
            self.consume(taken);
            if text.len() > VALUE_LEN_MAX {
                return Err(self.error("a value is longer than 1 GiB"));
            }
            if is_over {
                return Ok(());
            }
        }
    }
}

/// Where a value ends, byte by byte.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// A number or a word, which ends where something else begins.
    is_bare: bool,
}

impl Scan {
    /// How many of these bytes belong to the value, and whether it ends with them.
    fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return (at + 1, true);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b',' | b']' | b'}' | b':' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                    return (at, true);
                }
                b'"' => self.in_string = true,
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                _ => self.is_bare = true,
            }
        }
        (bytes.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    /// With buffers of these sizes.
    fn values(text: &str, buffer: usize) -> Result<Vec<String>, String> {
        let input = std::io::Cursor::new(text.to_owned().into_bytes());
        let input = Box::new(BufReader::with_capacity(buffer, input));
        let in_words = |error: ArchiveError| error.to_string();
        let mut stream = Stream::new(Path::new("f"), input).map_err(in_words)?;
        stream.expect(b'[').map_err(in_words)?;
        let (mut all, mut one, mut is_first) = (Vec::new(), Vec::new(), true);
        while stream.next(b']', &mut is_first).map_err(in_words)? {
            stream.value(&mut one).map_err(in_words)?;
            all.push(String::from_utf8(one.clone()).unwrap());
        }
        Ok(all)
    }

    #[test]
    fn values_come_one_by_one_wherever_the_buffers_end() {
        let text = r#" [ {"a":"]}\"\\","b":[1,[2]]} ,12.5e3, "x\\" ,null
            ,[] ,{} , ] "#;
        let expected = [
            r#"{"a":"]}\"\\","b":[1,[2]]}"#,
            "12.5e3",
            r#""x\\""#,
            "null",
            "[]",
            "{}",
        ];
        for buffer in 3..40 {
            assert_eq!(values(text, buffer).unwrap(), expected);
        }
        assert!(values("[]", 8).unwrap().is_empty());
    }

    #[test]
    fn a_cut_or_another_byte_is_said_with_its_place() {
        let text = r#"[{"a":1},2]"#;
        for len in 0..text.len() {
            let error = values(&text[..len], 8).unwrap_err();
            assert!(
                error.contains(&format!("byte {len}: the file ends here")),
                "{error}"
            );
        }
        let error = values("[1 2]", 8).unwrap_err();
        assert_eq!(error, "f: byte 3: , was expected, and there is 2");
    }
}
