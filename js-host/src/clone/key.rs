//! Keys to and from the engine: the binding's converted keys (`key.js` of `larder-binding`), and the values that
//! pages get ("convert a key to a value", specification 7.2).

use larder_codec::Key;
use rquickjs::{Array, ArrayBuffer, Ctx, Exception, Result, Value};

use super::Helpers;
use super::text::{js_string_from_js, number_to_js, string_to_js};
use crate::array::define;

/// The key that the binding made of a page's value. It has bounded the nesting, which costs no native stack here.
pub(crate) fn key_from_js<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    value: &Value<'js>,
) -> Result<Key> {
    // Arrays that are not whole yet, and their elements so far.
    let mut open: Vec<(Array<'js>, Vec<Key>)> = Vec::new();
    let mut value = value.clone();
    loop {
        let mut done = None;
        match value.as_array() {
            Some(array) => {
                let elements = Vec::with_capacity(array.len());
                open.push((array.clone(), elements));
            }
            None => done = Some(scalar_from_js(ctx, helpers, &value)?),
        }
        // As long as the innermost array is whole, it is a key in the next.
        loop {
            let Some((array, elements)) = open.last_mut() else {
                return done.ok_or_else(|| invalid(ctx));
            };
            elements.extend(done.take());
            if elements.len() < array.len() {
                value = array.get(elements.len())?;
                break;
            }
            let elements = std::mem::take(elements);
            open.pop();
            let too_deep =
                |_| Exception::throw_dom(ctx, "DataError", "The key is nested too deeply.");
            done = Some(Key::array(elements).map_err(too_deep)?);
        }
    }
}

fn invalid(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_dom(ctx, "DataError", "Not a valid key.")
}

/// A key that is no array.
fn scalar_from_js<'js>(ctx: &Ctx<'js>, helpers: &Helpers, value: &Value<'js>) -> Result<Key> {
    if let Some(number) = value.as_number() {
        return Ok(Key::Number(number));
    }
    if let Some(string) = value.as_string() {
        return Ok(Key::String(js_string_from_js(helpers, string)?));
    }
    if let Some(buffer) = ArrayBuffer::from_value(value.clone()) {
        return Ok(Key::Binary(helpers.bytes_of(ctx, buffer.into_value())?));
    }
    match value.as_object() {
        Some(object) => Ok(Key::Date(object.get("date")?)),
        None => Err(invalid(ctx)),
    }
}

/// The value of a key. Nesting costs no native stack.
pub(crate) fn key_to_js<'js>(ctx: &Ctx<'js>, helpers: &Helpers, key: &Key) -> Result<Value<'js>> {
    let Key::Array(elements) = key else {
        return scalar_to_js(ctx, helpers, key);
    };
    let outermost = Array::new(ctx.clone())?;
    // Arrays that are not filled yet, and their elements still to come.
    let mut open = vec![(outermost.clone(), elements.iter().enumerate())];
    while let Some((array, elements)) = open.last_mut() {
        let Some((index, element)) = elements.next() else {
            open.pop();
            continue;
        };
        let (value, inner) = match element {
            Key::Array(inner) => {
                let value = Array::new(ctx.clone())?;
                (
                    value.clone().into_value(),
                    Some((value, inner.iter().enumerate())),
                )
            }
            scalar => (scalar_to_js(ctx, helpers, scalar)?, None),
        };
        define(array, index as u32, value)?;
        open.extend(inner);
    }
    Ok(outermost.into_value())
}

/// The value of a key that is no array.
fn scalar_to_js<'js>(ctx: &Ctx<'js>, helpers: &Helpers, key: &Key) -> Result<Value<'js>> {
    Ok(match key {
        Key::Number(number) => number_to_js(ctx, *number),
        Key::String(string) => string_to_js(ctx, helpers, string)?,
        Key::Date(time) => helpers.make(ctx, "date", (*time,))?,
        Key::Binary(bytes) => ArrayBuffer::new_copy(ctx.clone(), bytes)?.into_value(),
        Key::Array(_) => Array::new(ctx.clone())?.into_value(),
    })
}
