//! JavaScript strings to and from the engine. Unpaired surrogates survive.
//!
//! The engine hands strings out as UTF-8; those that have none go by way of their units in Base64.

use larder_codec::JsString;
use larder_codec::value::JsStr;
use rquickjs::{Ctx, Result, String as QuickString, Value};

use super::Helpers;
use super::base64;

/// Bytes of units that are made into text by one call: as many arguments as half of them.
const PIECE_LEN: usize = 16 << 10;

/// A string on its way out of the engine: UTF-8, or little-endian units.
pub(super) enum Text {
    Utf8(String),
    Units(Vec<u8>),
}

impl Text {
    pub(super) fn of<'js>(helpers: &Helpers, string: &QuickString<'js>) -> Result<Self> {
        match string.to_string() {
            Ok(text) => Ok(Self::Utf8(text)),
            Err(rquickjs::Error::Utf8(_)) => {
                let encoded: String = helpers.call(string.ctx(), "unitsOf", (string.clone(),))?;
                let units = base64::decode(encoded.as_bytes());
                Ok(Self::Units(units.unwrap_or_default()))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn as_js_str(&self) -> JsStr<'_> {
        match self {
            Self::Utf8(text) => JsStr::from(text.as_str()),
            Self::Units(units) => JsStr::Utf16Le(units),
        }
    }
}

/// A number of the engine: -0 stays what it is.
pub(super) fn number_to_js<'js>(ctx: &Ctx<'js>, number: f64) -> Value<'js> {
    match number == 0.0 && number.is_sign_negative() {
        true => Value::new_float(ctx.clone(), number),
        false => Value::new_number(ctx.clone(), number),
    }
}

/// A string of the engine as the codec has it.
pub(crate) fn js_string_from_js(helpers: &Helpers, string: &QuickString<'_>) -> Result<JsString> {
    Ok(match Text::of(helpers, string)? {
        Text::Utf8(text) => JsString::from(text),
        units @ Text::Units(_) => JsString::from_units(units.as_js_str().units().collect()),
    })
}

/// A string of the codec as the engine has it.
pub(crate) fn string_to_js<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    string: &JsString,
) -> Result<Value<'js>> {
    if let Some(text) = string.to_utf8() {
        return Ok(QuickString::from_str(ctx.clone(), &text)?.into_value());
    }
    units_to_js(ctx, helpers, string.units().iter().copied())
}

/// A string of a stored value as the engine has it; `scratch` is memory to use again.
pub(super) fn borrowed_to_js<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    string: JsStr<'_>,
    scratch: &mut String,
) -> Result<Value<'js>> {
    if let Some(ascii) = string.as_ascii() {
        return Ok(QuickString::from_str(ctx.clone(), ascii)?.into_value());
    }
    scratch.clear();
    if string.push_utf8(scratch) {
        return Ok(QuickString::from_str(ctx.clone(), scratch)?.into_value());
    }
    units_to_js(ctx, helpers, string.units())
}

/// A string of any units, piece by piece: each takes a few times its size on the way.
fn units_to_js<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    units: impl Iterator<Item = u16>,
) -> Result<Value<'js>> {
    let mut units = units.flat_map(u16::to_le_bytes).peekable();
    let mut text = QuickString::from_str(ctx.clone(), "")?.into_value();
    let mut piece = Vec::with_capacity(PIECE_LEN);
    while units.peek().is_some() {
        piece.clear();
        piece.extend(units.by_ref().take(PIECE_LEN));
        text = helpers.call(ctx, "withUnits", (text, base64::encode(&piece)))?;
    }
    Ok(text)
}
