//! Evaluating a key path on a value's bytes.

use super::super::date::time_clip;
use super::super::js_str::JsStr;
use super::super::node::PropertyName;
use super::super::reader::error;
use super::super::tag::v8 as tag;
use super::of_tree::{ARRAY_LENGTH_MAX, Room};
use super::scan::{Pass, Scanner};
use super::{AskTree, Attempt, Evaluated, Identifier};
use crate::error::ErrorKind;
use crate::idb_key::{ARRAYS_MAX, Key, KeyArray};
use crate::js_string::JsString;

/// Room for so many keys is made before they are read.
const FEW: usize = 128;

/// What following a key path leads to.
enum Found {
    /// A value, which comes next.
    Here,
    /// A number that no value stands for.
    Number(f64),
    Nothing,
}

impl<'a> Scanner<'a, '_> {
    /// Evaluates one path.
    pub(super) fn evaluate(&mut self, path: &[Identifier]) -> Attempt<Evaluated> {
        match self.follow(path)? {
            Found::Nothing => Ok(Evaluated::Missing),
            Found::Number(number) => Ok(Evaluated::Key(Key::Number(number))),
            Found::Here => {
                let (tag, at) = self.value_tag()?;
                match tag {
                    tag::UNDEFINED if !path.is_empty() => return Ok(Evaluated::Missing),
                    // Most keys.
                    tag::INT32 | tag::UINT32 | tag::DOUBLE => {
                        return Ok(match self.number(tag)? {
                            number if number.is_nan() => Evaluated::Invalid,
                            number => Evaluated::Key(Key::Number(number)),
                        });
                    }
                    _ => {}
                }
                let key = self.key(tag, at, &mut Room::default())?;
                Ok(key.map_or(Evaluated::Invalid, Evaluated::Key))
            }
        }
    }

    /// The keys that one path gives a multi-entry index, in the order of the array.
    pub(super) fn members(&mut self, path: &[Identifier]) -> Attempt<Vec<Key>> {
        match self.follow(path)? {
            Found::Nothing => return Ok(Vec::new()),
            Found::Number(number) => return Ok(vec![Key::Number(number)]),
            Found::Here => {}
        }
        let mut room = Room::default();
        let (tag, at) = self.value_tag()?;
        match tag {
            tag::BEGIN_DENSE_ARRAY => self.begin_object(at),
            tag::BEGIN_SPARSE_ARRAY => return Err(AskTree),
            _ => return Ok(self.key(tag, at, &mut room)?.into_iter().collect()),
        }
        let length = self.reader.varint_u32("array length")?;
        if length > ARRAY_LENGTH_MAX {
            return Ok(Vec::new());
        }
        let mut keys = Vec::with_capacity((length as usize).min(FEW));
        for _ in 0..length {
            let (tag, at) = self.next_tag()?;
            match tag {
                tag::HOLE => return Err(AskTree),
                tag::INT32 | tag::UINT32 | tag::DOUBLE => {
                    let number = self.number(tag)?;
                    if !number.is_nan() && room.take(0).is_some() {
                        keys.push(Key::Number(number));
                    }
                    continue;
                }
                _ => {}
            }
            let count = self.object_count();
            match self.key(tag, at, &mut room)? {
                Some(key) => keys.push(key),
                None => {
                    self.go_back_to(at, count);
                    self.skip(&mut Pass)?;
                }
            }
        }
        self.end_array()?;
        Ok(keys)
    }

    /// Steps from property to property.
    fn follow(&mut self, path: &[Identifier]) -> Attempt<Found> {
        for (at_step, step) in path.iter().enumerate() {
            let (tag, at) = self.value_tag()?;
            let length = match tag {
                tag::BEGIN_OBJECT => {
                    self.begin_object(at);
                    match self.property(step)? {
                        true => continue,
                        false => return Ok(Found::Nothing),
                    }
                }
                tag::ONE_BYTE_STRING | tag::TWO_BYTE_STRING | tag::UTF8_STRING
                    if step.is(b"length") =>
                {
                    self.string(tag)?.len_units()
                }
                tag::BEGIN_DENSE_ARRAY if step.is(b"length") => self.array_length(at)?,
                tag::ONE_BYTE_STRING
                | tag::TWO_BYTE_STRING
                | tag::UTF8_STRING
                | tag::INT32
                | tag::UINT32
                | tag::DOUBLE
                | tag::UNDEFINED
                | tag::NULL
                | tag::TRUE
                | tag::FALSE
                | tag::BIGINT => return Ok(Found::Nothing),
                // Objects whose properties are not simply written down.
                _ => return Err(AskTree),
            };
            if at_step + 1 < path.len() {
                // A number has no properties.
                return Ok(Found::Nothing);
            }
            // Lengths are of 32 bits.
            let length = u32::try_from(length).map_err(|_| AskTree)?;
            return Ok(Found::Number(f64::from(length)));
        }
        Ok(Found::Here)
    }

    /// Goes to the value of an object's property. If there is none, to behind the object's end tag,
    /// where its count stands.
    pub(super) fn property(&mut self, wanted: &Identifier) -> Attempt<bool> {
        loop {
            let (tag, at) = self.next_tag()?;
            let found = match tag {
                tag::END_OBJECT => return Ok(false),
                tag::ONE_BYTE_STRING => {
                    let len = self.reader.varint_u32("string length")?;
                    let name = self.reader.bytes(len as usize, "string")?;
                    wanted.is(name)
                }
                tag::TWO_BYTE_STRING | tag::UTF8_STRING => self.string(tag)? == wanted.as_str(),
                tag::INT32 | tag::UINT32 | tag::DOUBLE => {
                    PropertyName::from_number(self.number(tag)?) == wanted.name()
                }
                tag => {
                    let unknown = ErrorKind::UnknownTag { tag };
                    return error(unknown, at, "property name").map_err(AskTree::from);
                }
            };
            if found {
                return Ok(true);
            }
            self.skip(&mut Pass)?;
        }
    }

    /// The length of a dense array. Properties of the array could move its end: only the tree shows whether they do.
    fn array_length(&mut self, at: usize) -> Attempt<usize> {
        let count = self.object_count();
        let behind_tag = self.reader.offset();
        self.begin_object(at);
        let length = self.reader.varint_u32("array length")?;
        for _ in 0..length {
            let (tag, at) = self.next_tag()?;
            if tag != tag::HOLE {
                self.reader.go_back_to(at);
                self.skip(&mut Pass)?;
            }
        }
        self.end_array()?;
        self.go_back_to(behind_tag, count);
        Ok(length as usize)
    }

    /// Reads the end of a dense array without properties.
    fn end_array(&mut self) -> Attempt<()> {
        let (tag, _) = self.next_tag()?;
        if tag != tag::END_DENSE_ARRAY {
            return Err(AskTree);
        }
        self.reader.varint_u32("number of properties")?;
        self.reader.varint_u32("array length")?;
        Ok(())
    }

    /// The value behind `tag` as a key; `None` if it is no key, and then it has not been passed.
    fn key(&mut self, tag: u8, at: usize, room: &mut Room) -> Attempt<Option<Key>> {
        if tag != tag::BEGIN_DENSE_ARRAY {
            return self.simple_key(tag, at, room);
        }
        // Keys so far and how many are missing, one entry for each open array.
        let mut open: Vec<(Vec<Key>, u32)> = Vec::new();
        let (mut tag, mut at) = (tag, at);
        loop {
            let mut done = if tag == tag::BEGIN_DENSE_ARRAY {
                self.begin_object(at);
                let length = self.reader.varint_u32("array length")?;
                let fits = length <= ARRAY_LENGTH_MAX && open.len() < ARRAYS_MAX;
                if !fits || room.take(0).is_none() {
                    return Ok(None);
                }
                if length > 0 {
                    open.push((Vec::new(), length));
                    (tag, at) = self.element_tag()?;
                    continue;
                }
                self.end_array()?;
                Key::Array(KeyArray::default())
            } else {
                match self.simple_key(tag, at, room)? {
                    Some(key) => key,
                    None => return Ok(None),
                }
            };
            // Put the key into the innermost array; if that is now whole it is a key, too.
            loop {
                let Some((mut keys, missing)) = open.pop() else {
                    return Ok(Some(done));
                };
                keys.push(done);
                if missing > 1 {
                    open.push((keys, missing - 1));
                    break;
                }
                self.end_array()?;
                done = Key::Array(KeyArray::new(keys)?);
            }
            (tag, at) = self.element_tag()?;
        }
    }

    /// The tag of an array's element.
    fn element_tag(&mut self) -> Attempt<(u8, usize)> {
        match self.next_tag()? {
            // A property behind the elements may fill the hole.
            (tag::HOLE, _) => Err(AskTree),
            tag => Ok(tag),
        }
    }

    /// Reads a key like [`Scanner::key`], but not from dense arrays.
    fn simple_key(&mut self, tag: u8, at: usize, room: &mut Room) -> Attempt<Option<Key>> {
        let (key, len_bytes) = match tag {
            tag::INT32 | tag::UINT32 | tag::DOUBLE => match self.number(tag)? {
                number if number.is_nan() => return Ok(None),
                number => (Key::Number(number), 0),
            },
            tag::ONE_BYTE_STRING | tag::TWO_BYTE_STRING | tag::UTF8_STRING => {
                let string = JsString::from_units(self.string(tag)?.units().collect());
                let len_bytes = string.len_units() * 2;
                (Key::String(string), len_bytes)
            }
            tag::DATE => {
                self.begin_object(at);
                match time_clip(self.reader.f64("date")?) {
                    time_ms if time_ms.is_nan() => return Ok(None),
                    time_ms => (Key::Date(time_ms), 0),
                }
            }
            tag::ARRAY_BUFFER | tag::RESIZABLE_ARRAY_BUFFER | tag::IMMUTABLE_ARRAY_BUFFER => {
                let bytes = self.buffer_bytes(tag, at)?;
                (Key::Binary(bytes.to_vec()), bytes.len())
            }
            // Only the tree shows what these lead to, and whether they have holes.
            tag::OBJECT_REFERENCE | tag::VERIFY_OBJECT_COUNT | tag::BEGIN_SPARSE_ARRAY => {
                return Err(AskTree);
            }
            _ => return Ok(None),
        };
        Ok(room.take(len_bytes).map(|()| key))
    }

    #[inline]
    fn number(&mut self, tag: u8) -> Attempt<f64> {
        Ok(match tag {
            tag::INT32 => f64::from(self.reader.zigzag("integer")?),
            tag::UINT32 => f64::from(self.reader.varint_u32("integer")?),
            _ => self.reader.f64("number")?,
        })
    }

    fn string(&mut self, tag: u8) -> Attempt<JsStr<'a>> {
        let len = self.reader.varint_u32("string length")?;
        let bytes = self.reader.bytes(len as usize, "string")?;
        match tag {
            tag::ONE_BYTE_STRING => Ok(JsStr::Latin1(bytes)),
            tag::TWO_BYTE_STRING => JsStr::from_utf16_le(bytes).ok_or(AskTree),
            _ => Ok(JsStr::Utf8(bytes)),
        }
    }
}
