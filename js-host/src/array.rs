//! Arrays and properties that are made without a word to script: they are defined, where assigning would call the setters that a page
//! has put on `Array.prototype` or `Object.prototype`.

use rquickjs::object::Property;
use rquickjs::{Array, Ctx, IntoAtom, Object, Result, Value};

/// Defines an own property as assignment to a new one would.
pub(crate) fn define<'js>(
    object: &Object<'js>,
    key: impl IntoAtom<'js>,
    value: Value<'js>,
) -> Result<()> {
    let property = Property::from(value).writable().enumerable().configurable();
    object.prop(key, property)
}

/// An array of these values.
pub(crate) fn array_of<'js>(
    ctx: &Ctx<'js>,
    values: impl IntoIterator<Item = Value<'js>>,
) -> Result<Array<'js>> {
    let array = Array::new(ctx.clone())?;
    for (index, value) in (0_u32..).zip(values) {
        define(array.as_object(), index, value)?;
    }
    Ok(array)
}
