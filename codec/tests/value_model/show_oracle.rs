//! The text of what Deno's decoder finds in the bytes.

use larder_codec::value::JsNumber;
use v8_valueserializer::{
    Date, Heap, HeapValue, PropertyKey, StringValue, Value, ValueDeserializer,
};

use super::model::{Visits, hex, index_of, named_parts, number};

/// What these bytes, behind Blink's envelope, hold for Deno's decoder; `None` if it refuses them.
pub(crate) fn show(wire: &[u8]) -> Option<String> {
    let (root, heap) = ValueDeserializer::default().read(wire).ok()?;
    Some(value(&heap, &root, &mut Visits::default()))
}

fn units(string: &StringValue) -> Vec<u16> {
    match string {
        StringValue::Wtf8(text) => text.as_str().encode_utf16().collect(),
        StringValue::OneByte(text) => text.as_bytes().iter().map(|&b| u16::from(b)).collect(),
        StringValue::TwoByte(text) => text.as_bytes().to_vec(),
    }
}

fn key(key: &PropertyKey) -> Vec<u16> {
    match key {
        PropertyKey::I32(int) => int.to_string().encode_utf16().collect(),
        PropertyKey::U32(int) => int.to_string().encode_utf16().collect(),
        PropertyKey::Double(double) => JsNumber(*double).to_string().encode_utf16().collect(),
        PropertyKey::String(string) => units(string),
    }
}

type Own<'v> = Vec<(Vec<u16>, &'v Value)>;

fn with_keys(properties: &[(PropertyKey, Value)]) -> impl Iterator<Item = (Vec<u16>, &Value)> {
    properties.iter().map(|(name, value)| (key(name), value))
}

/// One more than the greatest index: Deno leaves it to its user that an element beyond the end
/// moves the end.
fn end_of(properties: &[(PropertyKey, Value)]) -> usize {
    let indices = with_keys(properties).filter_map(|(name, _)| index_of(&name));
    indices.max().map_or(0, |last| last as usize + 1)
}

/// Prints properties in JavaScript's order, which Deno leaves to its user, too.
fn named(heap: &Heap, mut own: Own<'_>, visits: &mut Visits) -> Vec<(String, String)> {
    own.sort_by_key(|(name, _)| index_of(name).map_or(u64::MAX, u64::from));
    own.into_iter()
        .map(|(name, inner)| (hex(name), value(heap, inner, visits)))
        .collect()
}

fn value(heap: &Heap, shown: &Value, visits: &mut Visits) -> String {
    let object = match shown {
        Value::Undefined => return "undefined".into(),
        Value::Null => return "null".into(),
        Value::Bool(bool) => return bool.to_string(),
        Value::I32(int) => return number(f64::from(*int)),
        Value::U32(int) => return number(f64::from(*int)),
        Value::Double(double) => return number(*double),
        Value::BigInt(bigint) => return format!("{bigint}n"),
        Value::String(string) => return format!("s{}", hex(units(string))),
        Value::HeapReference(reference) => reference.open(heap),
    };
    if let Some(again) = visits.again(std::ptr::from_ref(object).addr()) {
        return again;
    }
    match object {
        HeapValue::Object(object) => {
            let own = with_keys(&object.properties).collect();
            named_parts("Object", &named(heap, own, visits))
        }
        HeapValue::DenseArray(array) => {
            let elements = array.elements.iter().enumerate();
            let own = elements.filter_map(|(at, slot)| {
                Some((at.to_string().encode_utf16().collect(), slot.as_ref()?))
            });
            let own = own.chain(with_keys(&array.properties)).collect();
            let length = end_of(&array.properties).max(array.elements.len());
            named_parts(&format!("Array{length}"), &named(heap, own, visits))
        }
        HeapValue::SparseArray(array) => {
            let own = with_keys(&array.properties).collect();
            let length = end_of(&array.properties).max(array.length as usize);
            named_parts(&format!("Array{length}"), &named(heap, own, visits))
        }
        HeapValue::Map(map) => {
            let entries = map.entries.iter();
            let parts: Vec<_> = entries
                .map(|(key, entry)| (value(heap, key, visits), value(heap, entry, visits)))
                .collect();
            named_parts("Map", &parts)
        }
        HeapValue::Set(set) => {
            let values = set.values.iter();
            let parts: Vec<_> = values
                .map(|entry| (String::new(), value(heap, entry, visits)))
                .collect();
            named_parts("Set", &parts)
        }
        HeapValue::ArrayBufferView(view) => {
            let buffer = value(heap, &Value::HeapReference(view.buffer), visits);
            format!(
                "{:?}({},{},{buffer})",
                view.kind, view.byte_offset, view.length
            )
        }
        HeapValue::Error(error) => {
            let text = |s: &Option<StringValue>| s.as_ref().map(|s| hex(units(s)));
            let cause = error.cause.as_ref().map(|cause| value(heap, cause, visits));
            let (message, stack) = (text(&error.message), text(&error.stack));
            let name = format!("{:?}", error.name).replace("Uri", "URI");
            format!("{name}({message:?},{stack:?},{cause:?})")
        }
        leaf => show_leaf(leaf),
    }
}

fn show_leaf(object: &HeapValue) -> String {
    match object {
        HeapValue::Date(date) => format!("Date({})", number(time_of(date))),
        HeapValue::BooleanObject(bool) => format!("Boolean({bool})"),
        HeapValue::BigIntObject(bigint) => format!("BigInt({bigint})"),
        HeapValue::NumberObject(inner) => format!("Number({})", number(*inner)),
        HeapValue::StringObject(string) => format!("String({})", hex(units(string))),
        HeapValue::RegExp(regexp) => {
            format!(
                "RegExp({},{})",
                hex(units(&regexp.pattern)),
                regexp.flags.bits()
            )
        }
        HeapValue::ArrayBuffer(buffer) => format!("Buffer({:?})", buffer.as_u8_slice()),
        _ => panic!("no model has this"),
    }
}

fn time_of(date: &Date) -> f64 {
    date.ms_since_epoch().map_or(f64::NAN, |ms| ms as f64)
}
