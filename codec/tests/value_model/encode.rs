//! A naive encoder: version 21/16, written from V8's format description.

use std::collections::HashMap;

use super::model::{Ids, Model, Told};

/// The bytes of a model, and which of its objects has which number on the wire.
pub(crate) fn encode(model: &Model) -> (Vec<u8>, Ids<'_>) {
    let mut out = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x10".to_vec();
    let mut ids = Ids {
        by_number: Vec::new(),
        number_of: HashMap::new(),
    };
    write(model, &mut out, &mut ids);
    (out, ids)
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn string(units: &[u16], out: &mut Vec<u8>) {
    if units.iter().all(|&unit| unit < 256) {
        out.push(b'"');
        varint(units.len(), out);
        out.extend(units.iter().map(|&unit| unit as u8));
    } else {
        let mut head = vec![b'c'];
        varint(units.len() * 2, &mut head);
        if (out.len() + head.len()) % 2 == 1 {
            out.push(0);
        }
        out.extend(head);
        out.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    }
}

fn int(value: i32, out: &mut Vec<u8>) {
    out.push(b'I');
    let doubled = i64::from(value) * 2;
    varint(if value < 0 { -doubled - 1 } else { doubled } as usize, out);
}

fn named<'m>(own: &'m [(Vec<u16>, Model)], out: &mut Vec<u8>, ids: &mut Ids<'m>) {
    for (name, value) in own {
        string(name, out);
        write(value, out, ids);
    }
}

fn take_number<'m>(model: &'m Model, ids: &mut Ids<'m>) {
    ids.number_of
        .insert(std::ptr::from_ref(model), ids.by_number.len());
    ids.by_number.push(Told::Object(model));
}

fn write<'m>(model: &'m Model, out: &mut Vec<u8>, ids: &mut Ids<'m>) {
    match model {
        Model::Undefined => out.push(b'_'),
        Model::Null => out.push(b'0'),
        Model::Bool(true) => out.push(b'T'),
        Model::Bool(false) => out.push(b'F'),
        Model::Int(value) => int(*value, out),
        Model::Double(value) => {
            out.push(b'N');
            out.extend(value.to_le_bytes());
        }
        Model::BigInt(negative, magnitude) => {
            out.push(b'Z');
            let bytes = if *magnitude == 0 { 0 } else { 16 };
            varint(bytes * 2 + usize::from(*negative && bytes > 0), out);
            out.extend(&magnitude.to_le_bytes()[..bytes]);
        }
        Model::Str(units) => string(units, out),
        Model::Ref(number) => {
            if ids.by_number.is_empty() {
                out.push(b'0');
            } else {
                let target = number % ids.by_number.len();
                ids.number_of.insert(std::ptr::from_ref(model), target);
                out.push(b'^');
                varint(target, out);
            }
        }
        Model::View(offset, bytes) => {
            ids.by_number.push(Told::BufferOf(bytes));
            buffer(bytes, out);
            take_number(model, ids);
            out.extend(b"VB");
            varint(*offset, out);
            varint(bytes.len() - offset, out);
            out.push(0);
        }
        object => {
            take_number(object, ids);
            write_object(object, out, ids);
        }
    }
}

fn buffer(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'B');
    varint(bytes.len(), out);
    out.extend(bytes);
}

fn write_object<'m>(model: &'m Model, out: &mut Vec<u8>, ids: &mut Ids<'m>) {
    match model {
        Model::Object(own) => {
            out.push(b'o');
            named(own, out, ids);
            out.push(b'{');
            varint(own.len(), out);
        }
        Model::Dense(slots) => {
            out.push(b'A');
            varint(slots.len(), out);
            for slot in slots {
                match slot {
                    Some(value) => write(value, out, ids),
                    None => out.push(b'-'),
                }
            }
            out.extend(b"$\0");
            varint(slots.len(), out);
        }
        Model::Sparse(length, elements, names) => {
            out.push(b'a');
            varint(*length as usize, out);
            for (index, value) in elements {
                int(*index as i32, out);
                write(value, out, ids);
            }
            named(names, out, ids);
            out.push(b'@');
            varint(elements.len() + names.len(), out);
            varint(*length as usize, out);
        }
        Model::Map(entries) => {
            out.push(b';');
            for (key, value) in entries {
                write(key, out, ids);
                write(value, out, ids);
            }
            out.push(b':');
            varint(entries.len() * 2, out);
        }
        Model::Set(values) => {
            out.push(b'\'');
            for value in values {
                write(value, out, ids);
            }
            out.push(b',');
            varint(values.len(), out);
        }
        Model::Error(message, stack, cause) => {
            out.extend(b"rT");
            if let Some(message) = message {
                out.push(b'm');
                string(message, out);
            }
            if let Some(stack) = stack {
                out.push(b's');
                string(stack, out);
            }
            if let Some(cause) = cause {
                out.push(b'c');
                write(cause, out, ids);
            }
            out.push(b'.');
        }
        leaf => write_leaf(leaf, out),
    }
}

fn write_leaf(model: &Model, out: &mut Vec<u8>) {
    match model {
        Model::Date(time_ms) => {
            out.push(b'D');
            out.extend(time_ms.to_le_bytes());
        }
        Model::RegExp(source, flags) => {
            out.push(b'R');
            string(source, out);
            varint(usize::from(*flags), out);
        }
        Model::BooleanObject(value) => out.push(if *value { b'y' } else { b'x' }),
        Model::NumberObject(value) => {
            out.push(b'n');
            out.extend(value.to_le_bytes());
        }
        Model::StringObject(units) => {
            out.push(b's');
            string(units, out);
        }
        Model::Buffer(bytes) => buffer(bytes, out),
        other => panic!("{other:?} is no leaf"),
    }
}
