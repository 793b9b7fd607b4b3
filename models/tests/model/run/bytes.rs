//! Model values as the bytes that a V8 host would hand over, and back.
//!
//! Writing is spelled out here, tag by tag (`docs/format/values.md`), so that no encoder of ours is trusted; reading is `codec`'s
//! decoder.

use larder_codec::value::{self, Decoder, Envelope, JsStr, Object, PropertyName, Tree};

use crate::naive::Value;

/// Envelope 21 without a trailer, wire format 15.
const HEAD: &[u8] = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f";

pub(crate) fn serialize(value: &Value) -> Vec<u8> {
    let mut out = HEAD.to_vec();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Undefined => out.push(b'_'),
        Value::Null => out.push(b'0'),
        Value::Bool(true) => out.push(b'T'),
        Value::Bool(false) => out.push(b'F'),
        Value::Number(number) => write_number(*number, out),
        Value::Date(time) => {
            out.push(b'D');
            out.extend(time.to_le_bytes());
        }
        Value::String(units) => write_string(units, out),
        Value::Binary(bytes) => {
            out.push(b'B');
            varint(bytes.len(), out);
            out.extend(bytes);
        }
        Value::Array(elements) => {
            out.push(b'A');
            varint(elements.len(), out);
            for element in elements {
                match element {
                    Some(element) => write(element, out),
                    None => out.push(b'-'),
                }
            }
            out.extend(b"$\0");
            varint(elements.len(), out);
        }
        Value::Object(properties) => {
            out.push(b'o');
            for (name, value) in properties {
                write_string(name, out);
                write(value, out);
            }
            out.push(b'{');
            varint(properties.len(), out);
        }
    }
}

fn write_number(number: f64, out: &mut Vec<u8>) {
    let small = number as i32;
    let is_small = f64::from(small).to_bits() == number.to_bits() && small.abs() < 1 << 29;
    if is_small {
        out.push(b'I');
        varint(((small << 1) ^ (small >> 31)) as u32 as usize, out);
    } else {
        out.push(b'N');
        out.extend(number.to_le_bytes());
    }
}

fn write_string(units: &[u16], out: &mut Vec<u8>) {
    if units.iter().all(|unit| *unit < 0x100) {
        out.push(b'"');
        varint(units.len(), out);
        out.extend(units.iter().map(|unit| *unit as u8));
        return;
    }
    // Two-byte text begins at an even place.
    let mut length = Vec::new();
    varint(units.len() * 2, &mut length);
    if (out.len() + 1 + length.len()) % 2 == 1 {
        out.push(0);
    }
    out.push(b'c');
    out.extend(length);
    out.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
}

fn varint(mut n: usize, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// The value of what was stored.
pub(crate) fn deserialize(bytes: &[u8]) -> Result<Value, String> {
    let mut buffer = Vec::new();
    let envelope = Envelope::peel(bytes, &mut buffer).map_err(|error| error.to_string())?;
    let Envelope::Inline(payload) = envelope else {
        return Err("still wrapped into a blob".into());
    };
    let tree = Decoder::new()
        .decode(&payload)
        .map_err(|error| error.to_string())?;
    read(&tree, tree.root())
}

fn read(tree: &Tree<'_>, value: value::Value<'_>) -> Result<Value, String> {
    Ok(match value {
        value::Value::Undefined => Value::Undefined,
        value::Value::Null => Value::Null,
        value::Value::Bool(bool) => Value::Bool(bool),
        value::Value::Number(number) => Value::Number(number),
        value::Value::String(string) => Value::String(units(string)),
        value::Value::Object(id) => match tree.object(id) {
            Object::Date(time) => Value::Date(*time),
            Object::ArrayBuffer(buffer) => Value::Binary(buffer.bytes.to_vec()),
            Object::Array(array) => {
                let mut elements = Vec::new();
                for slot in tree.slots(array.elements) {
                    elements.push(slot.map(|value| read(tree, value)).transpose()?);
                }
                elements.resize(array.length as usize, None);
                Value::Array(elements)
            }
            Object::Plain(properties) => {
                let mut read_properties = Vec::new();
                for property in tree.properties(*properties) {
                    let PropertyName::String(name) = property.name else {
                        return Err(format!("a property {:?}", property.name));
                    };
                    read_properties.push((units(name), read(tree, property.value)?));
                }
                Value::Object(read_properties)
            }
            object => return Err(format!("an object {object:?}")),
        },
        value => return Err(format!("a value {value:?}")),
    })
}

fn units(string: JsStr<'_>) -> Vec<u16> {
    string.units().collect()
}

#[cfg(test)]
mod tests {
    use crate::naive::Value;
    use crate::program::{Action, program};

    #[test]
    fn values_of_programs_come_back_from_their_bytes() {
        let mut seen = 0;
        for seed in 0..300 {
            for action in program(seed) {
                let (Action::Put { value, .. } | Action::Update { value, .. }) = action else {
                    continue;
                };
                let back: Value = super::deserialize(&super::serialize(&value)).unwrap();
                assert_eq!(back, value, "seed {seed}");
                seen += 1;
            }
        }
        assert!(seen > 1000, "{seen}");
    }
}
