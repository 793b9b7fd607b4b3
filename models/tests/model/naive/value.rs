//! Values: trees of what JavaScript can store, as far as IndexedDB looks into them.

/// A value. Objects have no identity here: nothing is shared or cyclic.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Date(f64),
    String(Vec<u16>),
    /// An ArrayBuffer.
    Binary(Vec<u8>),
    /// `None` is a hole.
    Array(Vec<Option<Value>>),
    /// Own properties in their order. No name is an array index, so that is the order of making.
    Object(Vec<(Vec<u16>, Value)>),
}

/// Values are equal if a page cannot see a difference: numbers are compared by their bits.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) | (Self::Date(a), Self::Date(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Binary(a), Self::Binary(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            _ => false,
        }
    }
}

/// UTF-16 units of a text.
pub(crate) fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}
