//! The versions that objects were read in.
//!
//! A store takes what its versions have a form for ([`Needs`](larder_codec::value::Needs)). What a script has read there, it can put there
//! again, though not every browser of these versions could have written it: the object remembers, in a table of `helpers.js`. So does its clone.

use larder_codec::DataVersion;
use rquickjs::{Ctx, Result, Value};

use super::Helpers;

/// Notes the versions that an object was read in.
pub(super) fn note<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    made: &Value<'js>,
    version: DataVersion,
) -> Result<()> {
    let DataVersion { v8, blink } = version;
    helpers.call(ctx, "noteReadIn", (made.clone(), v8, blink))
}

/// The versions that an object was read in; `None` if a script has made it.
pub(super) fn of<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    value: &Value<'js>,
) -> Result<Option<DataVersion>> {
    let found: Option<Vec<u32>> = helpers.call(ctx, "readIn", (value.clone(),))?;
    Ok(match found.as_deref() {
        Some(&[v8, blink]) => Some(DataVersion { v8, blink }),
        _ => None,
    })
}
