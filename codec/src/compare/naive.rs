//! The comparator's twin for tests: takes each key apart into a list of fields and compares those.

use byteorder::{ByteOrder, LittleEndian};

use crate::prefix::{KeyPrefix, PrefixKind};
use crate::primitive::var_int;

/// One field; lists of fields compare like the keys they were made from.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    /// The key, or an array in it, ends where it may.
    End,
    Present,
    Number(i64),
    Unsigned(u64),
    Bytes(Vec<u8>),
    /// What is left from here on, which cannot be read.
    Unreadable(Vec<u8>),
}

/// The fields of a stored key in the order in which they count.
pub(super) fn fields(key: &[u8], index_keys_only: bool) -> Vec<Field> {
    let mut fields = Vec::new();
    if let Err(rest) = push_row(key, index_keys_only, &mut fields) {
        fields.push(Field::Unreadable(rest));
    }
    fields
}

/// The fields of [`fields`], for the order of signed bytes: of user keys and the scopes area they count from 80 over ff
/// and 00 to 7f.
pub(super) fn signed_fields(key: &[u8]) -> Vec<Field> {
    let parsed = KeyPrefix::parse_any_length(key);
    let is_signed = parsed.is_some_and(|(prefix, len_bytes)| match prefix.kind() {
        PrefixKind::Global => key.get(len_bytes) == Some(&50),
        PrefixKind::Database | PrefixKind::Unassigned => false,
        _ => true,
    });
    let mut fields = fields(key, false);
    for field in &mut fields {
        if let Field::Bytes(bytes) = field
            && is_signed
        {
            bytes.iter_mut().for_each(|byte| *byte ^= 0x80);
        }
    }
    fields
}

/// The fields of the user key at the front.
pub(super) fn user_key_fields(mut key: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    if let Err(rest) = push_user_key(&mut key, 0, &mut fields) {
        fields.push(Field::Unreadable(rest));
    }
    fields
}

/// `Err` is what cannot be read.
type Outcome = Result<(), Vec<u8>>;

fn push_row(key: &[u8], index_keys_only: bool, out: &mut Vec<Field>) -> Outcome {
    let (prefix, len_bytes) = KeyPrefix::parse_any_length(key).ok_or(key)?;
    out.push(Field::Unsigned(prefix.database));
    out.push(Field::Unsigned(prefix.object_store));
    out.push(Field::Unsigned(prefix.index.into()));
    let mut rest = &key[len_bytes..];
    match prefix.kind() {
        PrefixKind::Global => push_global(rest, out),
        PrefixKind::Database => push_database(rest, out),
        PrefixKind::Unassigned => {
            out.push(Field::Bytes(rest.to_vec()));
            Ok(())
        }
        _ if rest.is_empty() => {
            out.push(Field::End);
            Ok(())
        }
        PrefixKind::Data | PrefixKind::Exists | PrefixKind::ExternalObject => {
            out.push(Field::Present);
            push_user_key(&mut rest, 0, out)
        }
        PrefixKind::IndexData => {
            out.push(Field::Present);
            push_user_key(&mut rest, 0, out)?;
            if index_keys_only {
                return Ok(());
            }
            push_index_tail(rest, out)
        }
    }
}

fn push_index_tail(mut rest: &[u8], out: &mut Vec<Field>) -> Outcome {
    let mut sequence = Vec::new();
    if !rest.is_empty() {
        push_var_int(&mut rest, &mut sequence)?;
    }
    out.push(Field::Present);
    if rest.is_empty() {
        out.push(Field::End);
        return Ok(());
    }
    out.push(Field::Present);
    push_user_key(&mut rest, 0, out)?;
    out.append(&mut sequence);
    Ok(())
}

fn push_global(mut rest: &[u8], out: &mut Vec<Field>) -> Outcome {
    match push_byte(&mut rest, out)? {
        0..=6 => Ok(()),
        100 => push_var_int(&mut rest, out),
        201 => {
            push_string(&mut rest, out)?;
            push_string(&mut rest, out)
        }
        _ => {
            out.push(Field::Bytes(rest.to_vec()));
            Ok(())
        }
    }
}

fn push_database(mut rest: &[u8], out: &mut Vec<Field>) -> Outcome {
    let rest = &mut rest;
    match push_byte(rest, out)? {
        0..=5 => {}
        50 => {
            push_var_int(rest, out)?;
            push_byte(rest, out)?;
        }
        100 => {
            push_var_int(rest, out)?;
            push_var_int(rest, out)?;
            push_byte(rest, out)?;
        }
        150 => push_var_int(rest, out)?,
        151 => {
            push_var_int(rest, out)?;
            push_var_int(rest, out)?;
        }
        200 => push_string(rest, out)?,
        201 => {
            push_var_int(rest, out)?;
            push_string(rest, out)?;
        }
        _ => out.push(Field::Bytes(rest.to_vec())),
    }
    Ok(())
}

fn push_user_key(rest: &mut &[u8], level: usize, out: &mut Vec<Field>) -> Outcome {
    let order = [5, 3, 2, 1, 6, 4, 0];
    let rank = |tag: &u8| order.iter().position(|other| other == tag);
    let Some(rank) = rest.first().filter(|_| level <= 2000).and_then(rank) else {
        return Err(rest.to_vec());
    };
    out.push(Field::Unsigned(rank as u64));
    *rest = &rest[1..];
    match order[rank] {
        2 | 3 => push_double(rest, out),
        1 => push_string(rest, out),
        6 => {
            let len = count(rest)?;
            push_bytes(rest, usize::try_from(len).ok(), out)
        }
        4 => {
            let len = count(rest)?;
            *rest = var_int::decode(rest).unwrap().1;
            for _ in 0..len {
                out.push(Field::Present);
                push_user_key(rest, level + 1, out)?;
            }
            out.push(Field::End);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn push_double(rest: &mut &[u8], out: &mut Vec<Field>) -> Outcome {
    let value = rest
        .get(..8)
        .map(LittleEndian::read_f64)
        .filter(|value| !value.is_nan());
    // Adding zero makes -0 positive; then bits of negative numbers grow downwards.
    let bits = (value.ok_or(*rest)? + 0.0).to_bits().cast_signed();
    out.push(Field::Number(if bits < 0 { bits ^ i64::MAX } else { bits }));
    *rest = &rest[8..];
    Ok(())
}

fn push_string(rest: &mut &[u8], out: &mut Vec<Field>) -> Outcome {
    let len = count(rest)?;
    push_bytes(
        rest,
        usize::try_from(len).ok().and_then(|len| len.checked_mul(2)),
        out,
    )
}

/// Bytes after a count at the front.
fn push_bytes(rest: &mut &[u8], len: Option<usize>, out: &mut Vec<Field>) -> Outcome {
    let (_, after_count) = var_int::decode(rest).unwrap();
    let len = len.filter(|len| *len <= after_count.len()).ok_or(*rest)?;
    out.push(Field::Bytes(after_count[..len].to_vec()));
    *rest = &after_count[len..];
    Ok(())
}

fn count(rest: &[u8]) -> Result<u64, Vec<u8>> {
    let (count, _) = var_int::decode(rest).map_err(|_| rest)?;
    u64::try_from(count).map_err(|_| rest.to_vec())
}

fn push_byte(rest: &mut &[u8], out: &mut Vec<Field>) -> Result<u8, Vec<u8>> {
    let (&byte, after) = rest.split_first().ok_or(*rest)?;
    out.push(Field::Unsigned(byte.into()));
    *rest = after;
    Ok(byte)
}

fn push_var_int(rest: &mut &[u8], out: &mut Vec<Field>) -> Outcome {
    let (value, after) = var_int::decode(rest).map_err(|_| *rest)?;
    out.push(Field::Number(value));
    *rest = after;
    Ok(())
}
