//! The model: JavaScript values as a tree of plain Rust, and their text.

use std::collections::HashMap;
use std::fmt::Write as _;

use quickcheck::{Arbitrary, Gen};

/// A JavaScript value.
#[derive(Debug, Clone)]
pub(crate) enum Model {
    Undefined,
    Null,
    Bool(bool),
    Int(i32),
    Double(f64),
    /// Sign and magnitude.
    BigInt(bool, u128),
    Str(Vec<u16>),
    /// Names are distinct.
    Object(Vec<(Vec<u16>, Model)>),
    /// A dense array; `None` is a hole.
    Dense(Vec<Option<Model>>),
    /// A sparse array: length, elements by ascending index, then names.
    Sparse(u32, Vec<(u32, Model)>, Vec<(Vec<u16>, Model)>),
    Map(Vec<(Model, Model)>),
    Set(Vec<Model>),
    Date(f64),
    RegExp(Vec<u16>, u8),
    BooleanObject(bool),
    NumberObject(f64),
    StringObject(Vec<u16>),
    Buffer(Vec<u8>),
    /// A `Uint8Array` of a new buffer, from this offset on.
    View(usize, Vec<u8>),
    /// Message, stack, cause of a `TypeError`.
    Error(Option<Vec<u16>>, Option<Vec<u16>>, Option<Box<Model>>),
    /// An object that was written before: its number modulo how many there are; `null` if none.
    Ref(usize),
}

impl Arbitrary for Model {
    fn arbitrary(g: &mut Gen) -> Self {
        let inner = Gen::from_size_and_seed((g.size() / 3).max(1), u64::arbitrary(g));
        arbitrary(g, inner)
    }
}

fn arbitrary(g: &mut Gen, mut inner: Gen) -> Model {
    let kind = u8::arbitrary(g) % if g.size() < 2 { 10 } else { 22 };
    let number = |g: &mut Gen| match u8::arbitrary(g) % 6 {
        0 => -0.0,
        1 => f64::NAN,
        2 => f64::INFINITY,
        3 => f64::from_bits(u64::arbitrary(g)),
        4 => f64::from(i16::arbitrary(g)) * 1e15,
        _ => f64::from(i32::arbitrary(g)) / 8.0,
    };
    match kind {
        0 => Model::Undefined,
        1 => Model::Null,
        2 => Model::Bool(bool::arbitrary(g)),
        3 => Model::Int(i32::arbitrary(g)),
        4 => Model::Double(number(g)),
        5 => Model::BigInt(
            bool::arbitrary(g),
            u128::arbitrary(g) >> (u8::arbitrary(g) % 128),
        ),
        6 | 7 => Model::Str(string(g)),
        8 if bool::arbitrary(g) => Model::Date(f64::NAN),
        // Within the range of dates, in whole milliseconds.
        8 => Model::Date(f64::from(i32::arbitrary(g)) * 4_000_001.0),
        9 => Model::Ref(usize::arbitrary(g)),
        10 | 11 => Model::Object(named(g, &mut inner)),
        12 => Model::Dense(Arbitrary::arbitrary(&mut inner)),
        13 => {
            let mut at = 0;
            let elements: Vec<(u32, Model)> = Vec::<(u8, Model)>::arbitrary(&mut inner)
                .into_iter()
                .map(|(step, value)| {
                    at += u32::from(step % 3);
                    at += 1;
                    (at - 1, value)
                })
                .collect();
            let names = named(g, &mut inner)
                .into_iter()
                .filter(|(name, _)| index_of(name).is_none() && !is_length(name))
                .collect();
            Model::Sparse(at + u32::from(u8::arbitrary(g) % 3), elements, names)
        }
        14 => Model::Map(Arbitrary::arbitrary(&mut inner)),
        15 => Model::Set(Arbitrary::arbitrary(&mut inner)),
        16 => Model::RegExp(string(g), u8::arbitrary(g) & 0b1010_1111),
        17 => Model::BooleanObject(bool::arbitrary(g)),
        18 => Model::NumberObject(number(g)),
        19 => Model::StringObject(string(g)),
        20 => {
            let bytes = Vec::arbitrary(g);
            if bool::arbitrary(g) {
                Model::Buffer(bytes)
            } else {
                Model::View(usize::arbitrary(g) % (bytes.len() + 1), bytes)
            }
        }
        _ => Model::Error(
            bool::arbitrary(g).then(|| string(g)),
            bool::arbitrary(g).then(|| string(g)),
            Arbitrary::arbitrary(&mut inner),
        ),
    }
}

fn is_length(name: &[u16]) -> bool {
    String::from_utf16_lossy(name) == "length"
}

/// Strings with all that makes trouble: ASCII, Latin-1, wide, astral, lone surrogates, `$`.
fn string(g: &mut Gen) -> Vec<u16> {
    let len = usize::arbitrary(g) % 6;
    (0..len)
        .map(|_| match u8::arbitrary(g) % 8 {
            0 => u16::from(b'$'),
            1 => u16::from(u8::arbitrary(g)),
            2 => u16::arbitrary(g),
            3 => 0xd800 | (u16::arbitrary(g) % 0x800),
            4 => u16::from(b'0' + u8::arbitrary(g) % 10),
            _ => u16::from(b'a' + u8::arbitrary(g) % 26),
        })
        .collect()
}

fn named(g: &mut Gen, inner: &mut Gen) -> Vec<(Vec<u16>, Model)> {
    let mut seen = std::collections::HashSet::new();
    Vec::<Model>::arbitrary(inner)
        .into_iter()
        .map(|value| (string(g), value))
        .filter(|(name, _)| seen.insert(name.clone()))
        .collect()
}

/// The array index that a name spells, found the slow way.
pub(crate) fn index_of(name: &[u16]) -> Option<u32> {
    let text = String::from_utf16(name).ok()?;
    let index: u32 = text.parse().ok()?;
    (index != u32::MAX && index.to_string() == text).then_some(index)
}

/// The objects of a model by their number on the wire, and back.
pub(crate) struct Ids<'m> {
    pub(crate) by_number: Vec<Told<'m>>,
    pub(crate) number_of: HashMap<*const Model, usize>,
}

/// What a number on the wire stands for.
#[derive(Clone, Copy)]
pub(crate) enum Told<'m> {
    Object(&'m Model),
    /// The buffer of a view.
    BufferOf(&'m [u8]),
}

/// Text of a string: its units, hexadecimal.
pub(crate) fn hex(units: impl IntoIterator<Item = u16>) -> String {
    units.into_iter().fold(String::new(), |mut out, unit| {
        let _ = write!(out, "{unit:04x}");
        out
    })
}

/// Text of a number: its bits, with one NaN.
pub(crate) fn number(number: f64) -> String {
    let bits = if number.is_nan() {
        f64::NAN.to_bits()
    } else {
        number.to_bits()
    };
    format!("n{bits:x}")
}

/// The text of an object whose parts are printed already.
pub(crate) fn named_parts(kind: &str, parts: &[(String, String)]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, shown)| format!("{name}={shown}"))
        .collect();
    format!("{kind}({})", parts.join(","))
}

/// Numbers objects by first visit.
#[derive(Default)]
pub(crate) struct Visits {
    seen: HashMap<usize, usize>,
    next: usize,
}

impl Visits {
    /// The text for a second visit, or `None` and a number from now on.
    pub(crate) fn again(&mut self, wire: usize) -> Option<String> {
        if let Some(known) = self.seen.get(&wire) {
            return Some(format!("^{known}"));
        }
        self.seen.insert(wire, self.next);
        self.next += 1;
        None
    }

    /// A number for an object that cannot be visited again.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }
}

impl Model {
    /// What this value holds.
    pub(crate) fn show(&self, ids: &Ids<'_>) -> String {
        show(self, ids, &mut Visits::default())
    }
}

fn show(model: &Model, ids: &Ids<'_>, visits: &mut Visits) -> String {
    match model {
        Model::Undefined => "undefined".into(),
        Model::Null => "null".into(),
        Model::Bool(bool) => bool.to_string(),
        Model::Int(int) => number(f64::from(*int)),
        Model::Double(double) => number(*double),
        Model::BigInt(negative, magnitude) => {
            let sign = if *negative && *magnitude != 0 {
                "-"
            } else {
                ""
            };
            format!("{sign}{magnitude}n")
        }
        Model::Str(units) => format!("s{}", hex(units.iter().copied())),
        // Which object that is depends on how many were written before it.
        Model::Ref(_) => match ids.number_of.get(&std::ptr::from_ref(model)) {
            Some(&target) => show_number(target, ids, visits),
            None => "null".into(),
        },
        object => show_number(ids.number_of[&std::ptr::from_ref(object)], ids, visits),
    }
}

fn show_number(wire: usize, ids: &Ids<'_>, visits: &mut Visits) -> String {
    if let Some(again) = visits.again(wire) {
        return again;
    }
    match ids.by_number[wire] {
        Told::BufferOf(bytes) => format!("Buffer({bytes:?})"),
        Told::Object(model) => show_object(wire, model, ids, visits),
    }
}

fn show_object(wire: usize, model: &Model, ids: &Ids<'_>, visits: &mut Visits) -> String {
    match model {
        Model::Object(own) => {
            let mut own: Vec<_> = own.iter().collect();
            own.sort_by_key(|(name, _)| index_of(name).map_or(u64::MAX, u64::from));
            let parts = show_named(&own, ids, visits);
            named_parts("Object", &parts)
        }
        Model::Dense(slots) => {
            let parts: Vec<_> = slots
                .iter()
                .enumerate()
                .filter_map(|(at, slot)| Some((at, slot.as_ref()?)))
                .map(|(at, value)| (hex(at.to_string().encode_utf16()), show(value, ids, visits)))
                .collect();
            named_parts(&format!("Array{}", slots.len()), &parts)
        }
        Model::Sparse(length, elements, names) => {
            let mut parts: Vec<_> = elements
                .iter()
                .map(|(at, value)| (hex(at.to_string().encode_utf16()), show(value, ids, visits)))
                .collect();
            parts.extend(show_named(&names.iter().collect::<Vec<_>>(), ids, visits));
            named_parts(&format!("Array{length}"), &parts)
        }
        Model::Map(entries) => {
            let parts: Vec<_> = entries
                .iter()
                .map(|(key, value)| (show(key, ids, visits), show(value, ids, visits)))
                .collect();
            named_parts("Map", &parts)
        }
        Model::Set(values) => {
            let parts: Vec<_> = values
                .iter()
                .map(|value| (String::new(), show(value, ids, visits)))
                .collect();
            named_parts("Set", &parts)
        }
        Model::View(offset, bytes) => {
            let len = bytes.len() - offset;
            let buffer = show_number(wire - 1, ids, visits);
            format!("Uint8Array({offset},{len},{buffer})")
        }
        Model::Error(message, stack, cause) => {
            let text = |s: &Option<Vec<u16>>| s.as_ref().map(|s| hex(s.iter().copied()));
            let cause = cause.as_ref().map(|cause| show(cause, ids, visits));
            format!("TypeError({:?},{:?},{cause:?})", text(message), text(stack))
        }
        leaf => show_leaf(leaf),
    }
}

fn show_named(
    own: &[&(Vec<u16>, Model)],
    ids: &Ids<'_>,
    visits: &mut Visits,
) -> Vec<(String, String)> {
    own.iter()
        .map(|(name, value)| (hex(name.iter().copied()), show(value, ids, visits)))
        .collect()
}

fn show_leaf(model: &Model) -> String {
    match model {
        Model::Date(time_ms) => format!("Date({})", number(*time_ms + 0.0)),
        Model::RegExp(source, flags) => format!("RegExp({},{flags})", hex(source.iter().copied())),
        Model::BooleanObject(bool) => format!("Boolean({bool})"),
        Model::NumberObject(inner) => format!("Number({})", number(*inner)),
        Model::StringObject(units) => format!("String({})", hex(units.iter().copied())),
        Model::Buffer(bytes) => format!("Buffer({bytes:?})"),
        other => panic!("{other:?} is no leaf"),
    }
}
