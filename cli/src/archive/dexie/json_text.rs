//! The JSON text of one row, as JavaScript reads it: a string may have lone surrogates, which no Rust library reads.

use super::super::json::{Json, Wrong};

/// Deeper rows are not read.
pub(super) const NESTED_MAX: usize = 500;

/// Text in which a lone surrogate has the three bytes that UTF-8 would give it.
pub(super) type Text = Vec<u8>;

/// A value of JSON. Members stay in their order; of two with one name the last is JavaScript's.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(f64),
    Text(Text),
    List(Vec<Node>),
    Object(Vec<(Text, Node)>),
}

impl Node {
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                let mut members = members.iter().rev();
                members
                    .find(|(own, _)| own == name.as_bytes())
                    .map(|(_, value)| value)
            }
            _ => None,
        }
    }

    pub(super) fn need(&self, name: &str) -> Result<&Self, Wrong> {
        self.get(name)
            .ok_or_else(|| format!("the member {name:?} is missing"))
    }

    /// Text without lone surrogates.
    pub(super) fn text(&self) -> Result<&str, Wrong> {
        match self {
            Self::Text(text) => std::str::from_utf8(text)
                .map_err(|_| "a string with a lone surrogate stands where none can be".to_owned()),
            other => Err(format!("{} stands where text should", other.kind())),
        }
    }

    pub(super) fn number(&self) -> Result<f64, Wrong> {
        match self {
            Self::Number(number) => Ok(*number),
            other => Err(format!("{} stands where a number should", other.kind())),
        }
    }

    /// What it is, for messages.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// A string as an archive has it.
pub(super) fn string(text: Text) -> Json {
    match String::from_utf8(text) {
        Ok(text) => Json::Text(text),
        Err(error) => {
            use std::fmt::Write;
            let mut hex = String::new();
            for unit in units(error.as_bytes()) {
                let _ = write!(hex, "{unit:04x}");
            }
            Json::Object(vec![("$utf16".to_owned(), Json::Text(hex))])
        }
    }
}

/// The units of UTF-16 of a text.
pub(super) fn units(text: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        if let [0xed, second @ 0xa0..=0xbf, third, tail @ ..] = rest {
            let six = |byte: &u8| u16::from(byte & 0x3f);
            units.push(0xd000 | six(second) << 6 | six(third));
            rest = tail;
            continue;
        }
        let len = match first {
            0..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        let (char, tail) = rest.split_at(len.min(rest.len()));
        units.extend(std::str::from_utf8(char).unwrap_or_default().encode_utf16());
        rest = tail;
    }
    units
}

/// Reads the text of a value.
pub(super) fn parse(text: &[u8]) -> Result<Node, Wrong> {
    let mut parser = Parser { rest: text };
    let node = parser.value(NESTED_MAX)?;
    parser.space();
    match parser.rest {
        [] => Ok(node),
        _ => Err("something follows the value".to_owned()),
    }
}

struct Parser<'t> {
    rest: &'t [u8],
}

impl Parser<'_> {
    fn space(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn is_next(&mut self, wanted: u8) -> bool {
        self.space();
        match self.rest {
            [byte, rest @ ..] if *byte == wanted => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn need(&mut self, wanted: u8) -> Result<(), Wrong> {
        match self.is_next(wanted) {
            true => Ok(()),
            false => Err(format!("{} is missing in its JSON", char::from(wanted))),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Wrong> {
        let Some(inner) = depth.checked_sub(1) else {
            return Err(format!("it is nested more than {NESTED_MAX} deep"));
        };
        self.space();
        for (word, node) in [
            ("null", Node::Null),
            ("true", Node::Bool(true)),
            ("false", Node::Bool(false)),
        ] {
            if let Some(rest) = self.rest.strip_prefix(word.as_bytes()) {
                self.rest = rest;
                return Ok(node);
            }
        }
        match self.rest.first() {
            Some(b'"') => self.string().map(Node::Text),
            Some(b'[') => self.list(inner),
            Some(b'{') => self.object(inner),
            _ => self.number(),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Node, Wrong> {
        self.need(b'[')?;
        let mut items = Vec::new();
        if self.is_next(b']') {
            return Ok(Node::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            if !self.is_next(b',') {
                self.need(b']')?;
                return Ok(Node::List(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node, Wrong> {
        self.need(b'{')?;
        let mut members = Vec::new();
        if self.is_next(b'}') {
            return Ok(Node::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.need(b':')?;
            members.push((name, self.value(depth)?));
            if !self.is_next(b',') {
                self.need(b'}')?;
                return Ok(Node::Object(members));
            }
        }
    }

    fn number(&mut self) -> Result<Node, Wrong> {
        let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let len = self.rest.iter().take_while(is_part).count();
        let (text, rest) = self.rest.split_at(len);
        let is_number = matches!(text, [b'-', b'0'..=b'9', ..] | [b'0'..=b'9', ..])
            && !matches!(text, [.., b'.' | b'e' | b'E' | b'+' | b'-']);
        let text = std::str::from_utf8(text).unwrap_or_default();
        let number = text.parse().ok().filter(|_| is_number);
        let number = number.ok_or_else(|| "its JSON has something that is no value".to_owned())?;
        self.rest = rest;
        Ok(Node::Number(number))
    }

    fn string(&mut self) -> Result<Text, Wrong> {
        self.need(b'"')?;
        let mut text = Text::new();
        loop {
            let plain = |byte: &&u8| !matches!(byte, b'"' | b'\\');
            let len = self.rest.iter().take_while(plain).count();
            let (run, rest) = self.rest.split_at(len);
            // Bytes of their own may be no text; escapes are checked where they are read.
            let run = std::str::from_utf8(run).map_err(|_| "it is not in UTF-8".to_owned())?;
            text.extend_from_slice(run.as_bytes());
            match rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Ok(text);
                }
                [b'\\', escape, rest @ ..] => {
                    self.rest = rest;
                    self.escaped(*escape, &mut text)?;
                }
                _ => return Err("a string has no end".to_owned()),
            }
        }
    }

    fn escaped(&mut self, escape: u8, text: &mut Text) -> Result<(), Wrong> {
        text.push(match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let unit = self.unit()?;
                // The other half may follow.
                let mut rest = Parser { rest: self.rest };
                let low = match self.rest {
                    [b'\\', b'u', after @ ..] if unit & 0xfc00 == 0xd800 => {
                        rest.rest = after;
                        rest.unit().ok().filter(|low| low & 0xfc00 == 0xdc00)
                    }
                    _ => None,
                };
                let code = match low {
                    Some(low) => {
                        self.rest = rest.rest;
                        0x1_0000 + ((unit & 0x3ff) << 10) + (low & 0x3ff)
                    }
                    None => unit,
                };
                push_code(text, code);
                return Ok(());
            }
            _ => return Err("a string has an escape that JSON lacks".to_owned()),
        });
        Ok(())
    }

    fn unit(&mut self) -> Result<u32, Wrong> {
        let digits = self.rest.split_at_checked(4);
        let value = digits.and_then(|(digits, _)| {
            let mut digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
            digits.try_fold(0, |sum, digit| Some(sum * 16 + digit?))
        });
        match (value, digits) {
            (Some(value), Some((_, rest))) => {
                self.rest = rest;
                Ok(value)
            }
            _ => Err("an escape in a string has four hexadecimal digits".to_owned()),
        }
    }
}

/// Appends a code point, which may be a surrogate.
fn push_code(text: &mut Text, code: u32) {
    match char::from_u32(code) {
        Some(char) => text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let bits = |shift: u32| (code >> shift & 0x3f).to_le_bytes()[0];
            text.extend([0xe0 | bits(12), 0x80 | bits(6), 0x80 | bits(0)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(node: Node) -> Vec<u16> {
        match node {
            Node::Text(text) => units(&text),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn strings_have_the_units_that_javascript_gives_them() {
        let cases: [(&str, &[u16]); 9] = [
            (r#""a\u0041ж😀""#, &[0x61, 0x41, 0x436, 0xd83d, 0xde00]),
            (r#""\ud83d\ude00""#, &[0xd83d, 0xde00]),
            (r#""\ud83dx\ude00""#, &[0xd83d, 0x78, 0xde00]),
            (r#""\ude00\ud83d""#, &[0xde00, 0xd83d]),
            (r#""\ud83d\ud83d\ude00""#, &[0xd83d, 0xd83d, 0xde00]),
            (r#""\ud83d\n""#, &[0xd83d, 10]),
            (
                r#""\u0000\uFFFF\ud7ff\ue000""#,
                &[0, 0xffff, 0xd7ff, 0xe000],
            ),
            (
                r#""\b\f\n\r\t\/\"\\""#,
                &[8, 12, 10, 13, 9, 0x2f, 0x22, 0x5c],
            ),
            (r#""""#, &[]),
        ];
        for (json, expected) in cases {
            assert_eq!(text(parse(json.as_bytes()).unwrap()), expected, "{json}");
        }
    }

    #[test]
    fn every_json_is_read_and_nothing_else() {
        let json =
            r#" { "b" : [ 1 , -0.5e-3 , true , null , { } , [ ] ] , "a" : "x" , "b" : false } "#;
        let node = parse(json.as_bytes()).unwrap();
        assert_eq!(node.get("b"), Some(&Node::Bool(false)));
        assert_eq!(node.get("a"), Some(&Node::Text(b"x".to_vec())));
        for wrong in [
            "",
            "nul",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{a:1}",
            "\"a",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u1",
            "1.",
            "-",
            "+1",
            ".5",
            "1 2",
            "NaN",
            "[",
            "{\"a\":1",
            "\"\\",
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        // No UTF-8 has a surrogate.
        assert!(parse(b"\"\xed\xa0\x80\"").is_err());
    }

    #[test]
    fn depth_has_a_bound() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(nested(NESTED_MAX).as_bytes()).is_ok());
        let error = parse(nested(NESTED_MAX + 1).as_bytes()).unwrap_err();
        assert_eq!(error, "it is nested more than 500 deep");
        assert!(parse(nested(1_000_000).as_bytes()).is_err());
    }
}
