//! Structured clone: values of QuickJS to the bytes that Chromium stores, and back.
//!
//! The algorithm is HTML's StructuredSerializeForStorage and StructuredDeserialize, its form V8's wire format in
//! Blink's envelope, which `larder-codec` implements. The walk is done here, with a stack of its own, so that nesting
//! costs no native stack; what only JavaScript can find out about an object, or make, is in `helpers.js`.

mod base64;
mod crypto_key;
mod deserialize;
mod helpers;
mod key;
mod platform;
mod read_in;
mod serialize;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use crypto_key::alone_of as key_alone;
pub(crate) use deserialize::{Beside, Deserializer, KeyOf};
pub(crate) use helpers::Helpers;
pub(crate) use key::{key_from_js, key_to_js};
pub(crate) use serialize::serialize;
pub(crate) use text::{js_string_from_js, string_to_js};
