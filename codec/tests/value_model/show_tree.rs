//! The text of a decoded tree.

use larder_codec::value::{Object, PropertyName, Tree, Value};

use super::model::{Visits, hex, named_parts, number};

/// What this tree holds.
pub(crate) fn show(tree: &Tree<'_>) -> String {
    value(tree, tree.root(), &mut Visits::default())
}

fn name(name: &PropertyName<'_>) -> String {
    name.with_str(|name| hex(name.units()))
}

fn value(tree: &Tree<'_>, shown: Value<'_>, visits: &mut Visits) -> String {
    let id = match shown {
        Value::Undefined => return "undefined".into(),
        Value::Null => return "null".into(),
        Value::Bool(bool) => return bool.to_string(),
        Value::Number(double) => return number(double),
        Value::BigInt(bigint) => return format!("{bigint}n"),
        Value::String(string) => return format!("s{}", hex(string.units())),
        Value::Object(id) => id,
    };
    if let Some(again) = visits.again(id.get() as usize) {
        return again;
    }
    match tree.object(id) {
        Object::Plain(span) => {
            let parts: Vec<_> = tree
                .properties(*span)
                .iter()
                .map(|own| (name(&own.name), value(tree, own.value, visits)))
                .collect();
            named_parts("Object", &parts)
        }
        Object::Array(array) => {
            let elements = tree.slots(array.elements).iter().enumerate();
            let mut parts: Vec<_> = elements
                .filter_map(|(at, slot)| Some((at, (*slot)?)))
                .map(|(at, slot)| {
                    (
                        hex(at.to_string().encode_utf16()),
                        value(tree, slot, visits),
                    )
                })
                .collect();
            for own in tree.properties(array.properties) {
                parts.push((name(&own.name), value(tree, own.value, visits)));
            }
            named_parts(&format!("Array{}", array.length), &parts)
        }
        Object::Map(span) => {
            let parts: Vec<_> = tree
                .entries(*span)
                .map(|(key, entry)| (value(tree, key, visits), value(tree, entry, visits)))
                .collect();
            named_parts("Map", &parts)
        }
        Object::Set(span) => {
            let parts: Vec<_> = (tree.slots(*span).iter().flatten())
                .map(|entry| (String::new(), value(tree, *entry, visits)))
                .collect();
            named_parts("Set", &parts)
        }
        Object::View(view) => {
            let buffer = value(tree, Value::Object(view.buffer), visits);
            let (kind, offset) = (view.kind.name(), view.byte_offset);
            format!("{kind}({offset},{},{buffer})", view.length())
        }
        Object::Error(error) => {
            let text = |s: Option<larder_codec::value::JsStr<'_>>| s.map(|s| hex(s.units()));
            let cause = error.cause.map(|cause| value(tree, cause, visits));
            let name = error.error_type.name();
            format!(
                "{name}({:?},{:?},{cause:?})",
                text(error.message),
                text(error.stack)
            )
        }
        leaf => show_leaf(leaf),
    }
}

fn show_leaf(object: &Object<'_>) -> String {
    match object {
        Object::Date(time_ms) => format!("Date({})", number(*time_ms)),
        Object::BooleanObject(bool) => format!("Boolean({bool})"),
        Object::BigIntObject(bigint) => format!("BigInt({bigint})"),
        Object::NumberObject(inner) => format!("Number({})", number(*inner)),
        Object::StringObject(string) => format!("String({})", hex(string.units())),
        Object::RegExp { source, flags } => {
            format!("RegExp({},{})", hex(source.units()), flags.bits())
        }
        Object::ArrayBuffer(buffer) => format!("Buffer({:?})", buffer.bytes),
        other => panic!("no model has a {other:?}"),
    }
}
