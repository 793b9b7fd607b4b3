//! Keys to and from the engine: the binding's converted keys (`binding/key.js`), and the values that
//! pages get ("convert a key to a value", specification 7.2).

use larder_codec::IdbKey;
use rquickjs::{Array, ArrayBuffer, Ctx, Exception, Result, Value};

use super::Helpers;
use super::text::{js_string_from_js, number_to_js, string_to_js};

/// The key that the binding made of a page's value.
pub(crate) fn key_from_js<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    value: &Value<'js>,
) -> Result<IdbKey> {
    if let Some(number) = value.as_number() {
        return Ok(IdbKey::Number(number));
    }
    if let Some(string) = value.as_string() {
        return Ok(IdbKey::String(js_string_from_js(helpers, string)?));
    }
    if let Some(array) = value.as_array() {
        // The binding bounds the nesting.
        let mut elements = Vec::with_capacity(array.len());
        for element in array.iter::<Value<'js>>() {
            elements.push(key_from_js(ctx, helpers, &element?)?);
        }
        let too_deep = |_| Exception::throw_dom(ctx, "DataError", "The key is nested too deeply.");
        return IdbKey::array(elements).map_err(too_deep);
    }
    if let Some(buffer) = ArrayBuffer::from_value(value.clone()) {
        return Ok(IdbKey::Binary(helpers.bytes_of(ctx, buffer.into_value())?));
    }
    match value.as_object() {
        Some(object) => Ok(IdbKey::Date(object.get("date")?)),
        None => Err(Exception::throw_dom(ctx, "DataError", "Not a valid key.")),
    }
}

/// The value of a key.
pub(crate) fn key_to_js<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    key: &IdbKey,
) -> Result<Value<'js>> {
    Ok(match key {
        IdbKey::Number(number) => number_to_js(ctx, *number),
        IdbKey::String(string) => string_to_js(ctx, helpers, string)?,
        IdbKey::Date(time) => helpers.make(ctx, "date", (*time,))?,
        IdbKey::Binary(bytes) => ArrayBuffer::new_copy(ctx.clone(), bytes)?.into_value(),
        IdbKey::Array(elements) => {
            let array = Array::new(ctx.clone())?;
            for (index, element) in elements.iter().enumerate() {
                let value = key_to_js(ctx, helpers, element)?;
                super::deserialize::define(&array, index as u32, value)?;
            }
            array.into_value()
        }
    })
}
