//! The versions that objects were read in.
//!
//! A store takes what its versions have a form for ([`Needs`](larder_codec::value::Needs)). What a script has read there, it can put there
//! again, though not every browser of these versions could have written it: the object remembers, in a table of `helpers.js`. So does its clone.

use larder_codec::DataVersion;
use larder_codec::value::{BufferKind, HostObject, Object, RegExpFlags, ViewKind};
use rquickjs::{Ctx, Result, Value};

use super::Helpers;

/// Whether an object is of those that not all versions of a form have it in them. Errors are not: scripts can change what they are.
pub(super) fn is_kept_for(object: &Object<'_>) -> bool {
    match object {
        Object::RegExp { flags, .. } => {
            flags.has(RegExpFlags::HAS_INDICES) || flags.has(RegExpFlags::UNICODE_SETS)
        }
        Object::ArrayBuffer(buffer) => buffer.kind != BufferKind::Fixed,
        Object::View(view) => view.kind == ViewKind::Float16Array,
        Object::Host(host) => matches!(
            **host,
            HostObject::CryptoKey(_)
                | HostObject::FileSystemHandle(_)
                | HostObject::ImageBitmap(_)
                | HostObject::ImageData(_)
        ),
        _ => false,
    }
}

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
