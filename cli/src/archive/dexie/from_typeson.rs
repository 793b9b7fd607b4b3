//! Rows in the form of the npm package typeson, with the types that dexie-export-import gives it, as an archive has values.
//!
//! A row's JSON has what JSON can say, and `$types`, which maps places in it (`list.0.date`) to the types of what stands there.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use base64ct::{Base64, Encoding};
use larder_codec::{JsString, Key};

use super::super::json::{Json, Wrong};
use super::super::new_store::NewRecord;
use super::json_text::{Node, Text, string, units};
use super::shapes::{array, number, number_of, tagged, view, with_id};
use super::types::Type;

/// A row of a table whose keys lie in its values.
pub(super) fn inbound(row: Node) -> Result<NewRecord, Wrong> {
    let (node, types) = unwrapped(row)?;
    let mut converter = Converter::new(&node, types)?;
    let value = converter.value(node)?;
    converter.end(None, value)
}

/// A row of another table: a list of key and value.
pub(super) fn outbound(row: Node) -> Result<NewRecord, Wrong> {
    let (node, types) = unwrapped(row)?;
    let mut converter = Converter::new(&node, types)?;
    let list = converter.list_of(node, "a row of a table whose keys lie apart")?;
    let Ok([key, value]) = <[Node; 2]>::try_from(list) else {
        return Err("a row of a table whose keys lie apart is a list of two".to_owned());
    };
    let key = converter.child(b"0", |converter| converter.key(key))?;
    let value = converter.child(b"1", |converter| converter.value(value))?;
    converter.end(Some(key), value)
}

/// What a row is of, and its types. What is no object, or has a property `$types` of its own, lies in `$`.
fn unwrapped(row: Node) -> Result<(Node, Vec<(Text, Node)>), Wrong> {
    const TYPES: &[u8] = b"$types";
    let members = match row {
        Node::Object(members) if members.iter().any(|(name, _)| name == TYPES) => members,
        plain => return Ok((plain, Vec::new())),
    };
    let (mut types, mut rest): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(name, _)| name == TYPES);
    let mut within = || {
        let at = rest.iter().rposition(|(name, _)| name == b"$");
        let at = at.ok_or_else(|| "the member \"$\" is missing".to_owned())?;
        Ok::<_, Wrong>(rest.swap_remove(at).1)
    };
    match types.pop() {
        Some((_, Node::Bool(true))) => Ok((within()?, Vec::new())),
        Some((_, Node::Object(mut types))) => {
            let is_inner =
                |(name, inner): &(Text, Node)| name == b"$" && matches!(inner, Node::Object(_));
            match types
                .iter()
                .position(is_inner)
                .map(|at| types.swap_remove(at))
            {
                Some((_, Node::Object(types))) => Ok((within()?, types)),
                _ => Ok((Node::Object(rest), types)),
            }
        }
        _ => Err("$types is neither an object nor true".to_owned()),
    }
}

/// A place that has a type.
struct Typed {
    is: Type,
    was_met: bool,
}

struct Converter {
    types: HashMap<Text, Typed>,
    /// The places that others refer to, with their numbers.
    targets: HashMap<Text, u64>,
    next_id: u64,
    /// The numbers of the buffers that views of the kind `DataView` have brought along.
    buffers: Vec<u64>,
    path: Text,
    external: Vec<Json>,
    contents: Vec<Vec<u8>>,
}

impl Converter {
    fn new(node: &Node, list: Vec<(Text, Node)>) -> Result<Self, Wrong> {
        let mut converter = Self {
            types: HashMap::new(),
            targets: HashMap::new(),
            next_id: 0,
            buffers: Vec::new(),
            path: Text::new(),
            external: Vec::new(),
            contents: Vec::new(),
        };
        for (place, names) in list {
            let name = match &names {
                Node::List(names) => match &names[..] {
                    [name] => name.text()?,
                    _ => return Err("its $types has several types for one place".to_owned()),
                },
                name => name.text()?,
            };
            let is = Type::of(name)?;
            if is == Type::Reference {
                let target = at(node, &place).and_then(target).ok_or_else(no_target)?;
                converter.target(target);
            }
            let was_met = false;
            converter.types.insert(place, Typed { is, was_met });
        }
        Ok(converter)
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn target(&mut self, place: &[u8]) {
        let next = self.next_id + 1;
        if let Entry::Vacant(entry) = self.targets.entry(place.to_vec()) {
            entry.insert(next);
            self.next_id = next;
        }
    }

    /// Everything was converted.
    fn end(self, key: Option<Key>, value: Json) -> Result<NewRecord, Wrong> {
        let mut places = self.types.iter();
        if let Some((place, _)) = places.find(|(_, typed)| !typed.was_met) {
            let place = String::from_utf8_lossy(place);
            return Err(format!("its $types names {place:?}, where nothing stands"));
        }
        Ok(NewRecord {
            key,
            value,
            external: self.external,
            contents: self.contents,
        })
    }

    /// Converts what stands below the place that was reached.
    fn child<T>(
        &mut self,
        name: &[u8],
        convert: impl FnOnce(&mut Self) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        // Most rows have no types, and need no places.
        if self.types.is_empty() {
            return convert(self);
        }
        let len = self.path.len();
        if len > 0 {
            self.path.push(b'.');
        }
        for byte in name {
            match byte {
                b'~' => self.path.extend(b"~0"),
                b'.' => self.path.extend(b"~1"),
                other => self.path.push(*other),
            }
        }
        let converted = convert(self)?;
        self.path.truncate(len);
        Ok(converted)
    }

    fn element<T>(
        &mut self,
        at: usize,
        convert: impl FnOnce(&mut Self) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        self.child(at.to_string().as_bytes(), convert)
    }

    /// The type of what stands here.
    fn met(&mut self) -> Result<Option<Type>, Wrong> {
        let Some(typed) = self.types.get_mut(&self.path) else {
            return Ok(None);
        };
        // A property without a name is written as if it were the object itself.
        if std::mem::replace(&mut typed.was_met, true) {
            return Err("its $types does not say which of two places it means".to_owned());
        }
        Ok(Some(typed.is))
    }

    fn value(&mut self, node: Node) -> Result<Json, Wrong> {
        let json = match self.met()? {
            None | Some(Type::List | Type::Plain) => self.plain(node)?,
            Some(other) => self.typed(other, node)?,
        };
        match self.targets.get(&self.path) {
            Some(id) => with_id(json, *id),
            None => Ok(json),
        }
    }

    fn plain(&mut self, node: Node) -> Result<Json, Wrong> {
        Ok(match node {
            Node::Null => Json::Null,
            Node::Bool(bool) => Json::Bool(bool),
            Node::Number(number) => Json::Number(number),
            Node::Text(text) => string(text),
            Node::List(items) => self.list(items)?,
            // A list with properties of its own has its length.
            Node::Object(members) if self.is_list() => self.list_with_properties(members)?,
            Node::Object(members) => self.object(members)?,
        })
    }

    fn is_list(&self) -> bool {
        matches!(self.types.get(&self.path), Some(typed) if typed.is == Type::List)
    }

    fn object(&mut self, members: Vec<(Text, Node)>) -> Result<Json, Wrong> {
        let is_plain =
            |(name, _): &(Text, Node)| !name.starts_with(b"$") && std::str::from_utf8(name).is_ok();
        let is_plain = members.iter().all(is_plain);
        let (mut plain, mut pairs) = (Vec::new(), Vec::new());
        for (name, node) in members {
            let value = self.child(&name, |converter| converter.value(node))?;
            match (string(name), is_plain) {
                (Json::Text(name), true) => plain.push((name, value)),
                (name, _) => pairs.push(Json::Array(vec![name, value])),
            }
        }
        Ok(match is_plain {
            true => Json::Object(plain),
            false => tagged("$object", Json::Array(pairs), []),
        })
    }

    /// What is in a list's place; `None` of a hole.
    fn item(&mut self, node: Node) -> Result<Option<Json>, Wrong> {
        match self.types.get_mut(&self.path) {
            Some(typed) if typed.is == Type::Hole => {
                typed.was_met = true;
                Ok(None)
            }
            _ => self.value(node).map(Some),
        }
    }

    fn list(&mut self, nodes: Vec<Node>) -> Result<Json, Wrong> {
        let mut items = Vec::with_capacity(nodes.len());
        let mut has_holes = false;
        for (at, node) in nodes.into_iter().enumerate() {
            let item = self.element(at, |converter| converter.item(node))?;
            has_holes |= item.is_none();
            items.push(item);
        }
        if !has_holes {
            return Ok(Json::Array(items.into_iter().flatten().collect()));
        }
        let length = items.len();
        let items = items.into_iter().enumerate();
        let pair = |(at, item): (usize, Option<Json>)| {
            Some(Json::Array(vec![Json::Text(at.to_string()), item?]))
        };
        Ok(array(number_of(length), items.filter_map(pair).collect()))
    }

    fn list_with_properties(&mut self, members: Vec<(Text, Node)>) -> Result<Json, Wrong> {
        let is_length = |(name, _): &&(Text, Node)| name == b"length";
        let length = members
            .iter()
            .find(is_length)
            .map(|(_, length)| length.number());
        let length = length.unwrap_or_else(|| Err("a list has no length".to_owned()))?;
        let mut pairs = Vec::new();
        for (name, node) in members {
            if name == b"length" {
                continue;
            }
            if index(&name).is_some_and(|at| at >= length) {
                return Err("an element lies behind its list's end".to_owned());
            }
            let item = self.child(&name, |converter| converter.item(node))?;
            pairs.extend(item.map(|item| Json::Array(vec![string(name), item])));
        }
        Ok(array(length, pairs))
    }

    /// The elements of what is a list and nothing else.
    fn list_of(&mut self, node: Node, what: &str) -> Result<Vec<Node>, Wrong> {
        match (self.met()?, node) {
            (None | Some(Type::List), Node::List(items)) => Ok(items),
            (_, other) => Err(format!("{what} is {}", other.kind())),
        }
    }

    fn typed(&mut self, is: Type, node: Node) -> Result<Json, Wrong> {
        let word = |tag: &str, word: &str| tagged(tag, Json::Text(word.to_owned()), []);
        Ok(match is {
            Type::Reference => {
                let place = target(&node).ok_or_else(no_target)?;
                let id = self.targets.get(place).ok_or_else(no_target)?;
                tagged("$ref", number(*id), [])
            }
            Type::Undefined => tagged("$undefined", Json::Bool(true), []),
            Type::Hole => return Err("a hole lies in no list".to_owned()),
            Type::List | Type::Plain => self.plain(node)?,
            Type::NotANumber => word("$number", "NaN"),
            Type::Infinity => word("$number", "Infinity"),
            Type::NegativeInfinity => word("$number", "-Infinity"),
            Type::BigInt => word("$bigint", node.text()?),
            Type::BigIntObject => word("$bigintobject", node.text()?),
            Type::StringObject => match node {
                Node::Text(text) => tagged("$stringobject", string(text), []),
                other => return Err(format!("a String object is {}", other.kind())),
            },
            Type::NumberObject if node == Node::Null => {
                let what =
                    "it has a Number object that is NaN or infinite: such files do not say which";
                return Err(what.to_owned());
            }
            Type::NumberObject => tagged("$numberobject", Json::Number(node.number()?), []),
            Type::BooleanObject => match node {
                Node::Bool(bool) => tagged("$booleanobject", Json::Bool(bool), []),
                other => return Err(format!("a Boolean object is {}", other.kind())),
            },
            Type::Date => tagged("$date", date(&node)?.map_or(Json::Null, Json::Number), []),
            Type::RegExp => {
                let flags = ("flags", Json::Text(node.need("flags")?.text()?.to_owned()));
                let source = part(node, "source")?;
                match source {
                    Node::Text(source) => tagged("$regexp", string(source), [flags]),
                    other => return Err(format!("a RegExp's source is {}", other.kind())),
                }
            }
            Type::Map => self.map(node)?,
            Type::Set => {
                let Node::List(nodes) = node else {
                    return Err("a Set is no list".to_owned());
                };
                match self.list(nodes)? {
                    items @ Json::Array(_) => tagged("$set", items, []),
                    _ => return Err("a Set has holes".to_owned()),
                }
            }
            Type::Buffer => word("$arraybuffer", node.text()?),
            Type::View(name, element) => {
                let length = node.need("length")?.number()? * element;
                let offset = node.need("byteOffset")?.number()?;
                let buffer = part(node, "buffer")?;
                let buffer = self.child(b"buffer", |converter| converter.value(buffer))?;
                view(name, offset, length, buffer)
            }
            Type::DataView => self.data_view(node)?,
            Type::Blob => {
                let bytes = node.need("data")?.text()?;
                let bytes = Base64::decode_vec(bytes)
                    .map_err(|_| "a Blob's content is no base64".to_owned())?;
                let members = vec![("type", Json::Text(node.need("type")?.text()?.to_owned()))];
                self.content("blob", members, bytes)
            }
            Type::File => self.file(&node)?,
            Type::FileList => self.files(node)?,
            Type::ImageData => self.pixels(node)?,
        })
    }

    fn map(&mut self, node: Node) -> Result<Json, Wrong> {
        let Node::List(entries) = node else {
            return Err("a Map is no list".to_owned());
        };
        let mut pairs = Vec::new();
        for (at, entry) in entries.into_iter().enumerate() {
            pairs.push(self.element(at, |converter| {
                let parts = converter.list_of(entry, "an entry of a Map")?;
                match parts.len() {
                    2 => converter.list(parts),
                    _ => Err("an entry of a Map is a list of two".to_owned()),
                }
            })?);
        }
        Ok(tagged("$map", Json::Array(pairs), []))
    }

    /// Views of one buffer have it once; the later ones, its number in their order.
    fn data_view(&mut self, node: Node) -> Result<Json, Wrong> {
        let offset = node.need("byteOffset")?.number()?;
        let length = node.need("byteLength")?.number()?;
        let buffer = match node.get("index") {
            Some(index) => {
                let index = index.number()?;
                let mut buffers = self.buffers.iter().enumerate();
                let known = buffers.find(|(at, _)| number_of(*at) == index);
                let (_, id) = known.ok_or_else(|| "a DataView has no buffer".to_owned())?;
                tagged("$ref", number(*id), [])
            }
            None => {
                let id = self.new_id();
                self.buffers.push(id);
                let bytes = node.need("encoded")?.text()?.to_owned();
                with_id(tagged("$arraybuffer", Json::Text(bytes), []), id)?
            }
        };
        Ok(view("DataView", offset, length, buffer))
    }

    /// A file has its bytes as units of text: as they are, or those above 127 from U+F780 on.
    fn file(&mut self, node: &Node) -> Result<Json, Wrong> {
        let Node::Text(text) = node.need("stringContents")? else {
            return Err("a File's content is no text".to_owned());
        };
        let byte = |unit: u16| match unit {
            0..=0xff | 0xf780..=0xf7ff => Ok(unit.to_le_bytes()[0]),
            _ => Err("it has a File whose bytes were not written as they are".to_owned()),
        };
        let bytes = units(text)
            .into_iter()
            .map(byte)
            .collect::<Result<_, _>>()?;
        let text = |name: &str| Ok::<_, Wrong>(Json::Text(node.need(name)?.text()?.to_owned()));
        let members = vec![
            ("type", text("type")?),
            ("name", text("name")?),
            (
                "lastModified",
                Json::Number(node.need("lastModified")?.number()?),
            ),
        ];
        Ok(self.content("file", members, bytes))
    }

    fn files(&mut self, node: Node) -> Result<Json, Wrong> {
        let Node::List(nodes) = node else {
            return Err("a FileList is no list".to_owned());
        };
        let mut files = Vec::new();
        for (at, node) in nodes.into_iter().enumerate() {
            let file = self.element(at, |converter| converter.value(node))?;
            let number = file.get("$file").cloned();
            files.push(number.ok_or_else(|| format!("a FileList has {file}"))?);
        }
        Ok(tagged("$filelist", Json::Array(files), []))
    }

    fn pixels(&mut self, node: Node) -> Result<Json, Wrong> {
        let size = |name: &str| Ok::<_, Wrong>(Json::Number(node.need(name)?.number()?));
        let (width, height) = (size("width")?, size("height")?);
        let list = part(node, "array")?;
        let list = self.child(b"array", |converter| {
            converter.list_of(list, "the pixels of an ImageData")
        })?;
        let bytes: Option<Vec<u8>> = list.iter().map(pixel).collect();
        let bytes = bytes.ok_or_else(|| "an ImageData has something else than bytes".to_owned())?;
        let settings = [
            ("width", width),
            ("height", height),
            ("colorSpace", Json::Text("srgb".to_owned())),
            ("format", Json::Text("rgba8".to_owned())),
        ];
        let bytes = Json::Text(Base64::encode_string(&bytes));
        Ok(tagged("$imagedata", bytes, settings))
    }

    /// A blob or file of the record, by its place among these.
    fn content(&mut self, kind: &str, members: Vec<(&str, Json)>, bytes: Vec<u8>) -> Json {
        let place = number_of(self.contents.len());
        let mut json = vec![
            ("kind".to_owned(), Json::Text(kind.to_owned())),
            ("size".to_owned(), Json::Number(number_of(bytes.len()))),
            ("blob".to_owned(), Json::Number(place)),
        ];
        let members = members.into_iter();
        json.extend(members.map(|(name, value)| (name.to_owned(), value)));
        self.external.push(Json::Object(json));
        self.contents.push(bytes);
        tagged(&format!("${kind}"), Json::Number(place), [])
    }

    fn key(&mut self, node: Node) -> Result<Key, Wrong> {
        let is = self.met()?;
        Ok(match (is, node) {
            (None, Node::Number(number)) => Key::Number(number),
            (Some(Type::Infinity), _) => Key::Number(f64::INFINITY),
            (Some(Type::NegativeInfinity), _) => Key::Number(f64::NEG_INFINITY),
            (None, Node::Text(text)) => Key::String(JsString::from_units(units(&text))),
            (Some(Type::Date), node) => match date(&node)? {
                Some(ms) => Key::Date(ms),
                None => return Err("an invalid date is no key".to_owned()),
            },
            (Some(Type::Buffer), Node::Text(text)) => {
                let text = String::from_utf8(text).unwrap_or_default();
                let bytes = Base64::decode_vec(&text);
                Key::Binary(bytes.map_err(|_| "a key's bytes are no base64".to_owned())?)
            }
            (None | Some(Type::List), Node::List(nodes)) => {
                let mut keys = Vec::new();
                for (at, node) in nodes.into_iter().enumerate() {
                    keys.push(self.element(at, |converter| converter.key(node))?);
                }
                Key::array(keys).map_err(|error| format!("its key is none: {error}"))?
            }
            (_, other) => return Err(format!("its key is none, but {}", other.kind())),
        })
    }
}

/// What stands at a place.
fn at<'n>(node: &'n Node, place: &[u8]) -> Option<&'n Node> {
    if place.is_empty() {
        return Some(node);
    }
    let mut found = node;
    for step in place.split(|byte| *byte == b'.') {
        let mut name = Text::new();
        let mut bytes = step.iter();
        while let Some(byte) = bytes.next() {
            name.push(match byte {
                b'~' if bytes.next() == Some(&b'1') => b'.',
                other => *other,
            });
        }
        found = match found {
            Node::List(items) => {
                let index = std::str::from_utf8(&name).ok()?.parse::<usize>().ok()?;
                items.get(index)?
            }
            Node::Object(members) => {
                let mut members = members.iter();
                members
                    .find(|(own, _)| *own == name)
                    .map(|(_, node)| node)?
            }
            _ => return None,
        };
    }
    Some(found)
}

/// The place that a reference names.
fn target(node: &Node) -> Option<&[u8]> {
    match node {
        Node::Text(text) => text.strip_prefix(b"#"),
        _ => None,
    }
}

fn no_target() -> Wrong {
    "it refers to a place, and does not say to which".to_owned()
}

/// A part of an object, which is used once.
fn part(node: Node, name: &str) -> Result<Node, Wrong> {
    let Node::Object(members) = node else {
        return Err(format!("{} has no member {name:?}", node.kind()));
    };
    let mut members = members.into_iter().rev();
    let found = members.find(|(own, _)| own == name.as_bytes());
    found
        .map(|(_, node)| node)
        .ok_or_else(|| format!("the member {name:?} is missing"))
}

/// The number of an element, if a name is one.
fn index(name: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(name).ok()?;
    let number: u32 = text.parse().ok()?;
    (number != u32::MAX && number.to_string() == text).then(|| f64::from(number))
}

/// The time of a date; `None` if it is invalid. Every number is one, as `new Date` has it.
fn date(node: &Node) -> Result<Option<f64>, Wrong> {
    const MAX: f64 = 8.64e15;
    match node {
        Node::Text(text) if text == b"NaN" => Ok(None),
        node => {
            let ms = node.number()?.trunc();
            Ok((ms.abs() <= MAX).then_some(ms + 0.0))
        }
    }
}

fn pixel(node: &Node) -> Option<u8> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, and within the range"
    )]
    match node {
        Node::Number(number) if (0.0..=255.0).contains(number) && number.trunc() == *number => {
            Some(*number as u8)
        }
        _ => None,
    }
}
