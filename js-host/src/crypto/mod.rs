//! Keys of two parts for `crypto.subtle` (`platform/crypto_*.js`): made, read, and taken apart into their numbers.
//!
//! A key is the bytes that Chromium stores of it: SPKI if it is public, PKCS #8 if it is private, in DER. Keys of one part are bytes
//! without a form, which JavaScript sees to by itself. Nothing is encrypted or signed here. Randomness is the system's, as for
//! `crypto.getRandomValues`. Keys are not wiped from memory when they are let go of.

mod curve25519;
mod ec;
mod rsa;

use std::rc::Rc;

use rquickjs::{Array, ArrayBuffer, Ctx, Exception, Function, Object, Result, Value};

use crate::array::array_of;
use crate::shared::Shared;

/// Why there is no key: the name of the `DOMException`, and its message.
#[derive(Debug)]
struct Refused(&'static str, String);

impl Refused {
    /// The bytes are no such key.
    fn data(what: impl std::fmt::Display) -> Self {
        Self("DataError", format!("The key could not be read: {what}."))
    }

    /// The system has no randomness.
    fn chance(error: getrandom::Error) -> Self {
        Self("OperationError", format!("No key could be made: {error}."))
    }
}

type Made<T> = std::result::Result<T, Refused>;

/// A key pair: the public one in SPKI, the private one in PKCS #8.
struct Pair {
    public: Vec<u8>,
    private: Vec<u8>,
}

/// What a family of algorithms makes of keys. Numbers are unsigned and big-endian.
trait Family {
    /// A new key pair.
    fn generate(&self) -> Made<Pair>;
    /// A public key in the one form that it has in DER.
    fn read_public(&self, spki: &[u8]) -> Made<Vec<u8>>;
    /// A private key in the one form that it has in DER.
    fn read_private(&self, pkcs8: &[u8]) -> Made<Vec<u8>>;
    /// The numbers of a public key.
    fn public_parts(&self, spki: &[u8]) -> Made<Vec<Vec<u8>>>;
    /// The numbers of a private key, the public ones first.
    fn private_parts(&self, pkcs8: &[u8]) -> Made<Vec<Vec<u8>>>;
    /// The public key of these numbers, in SPKI.
    fn public_of(&self, parts: &[Vec<u8>]) -> Made<Vec<u8>>;
    /// The private key of these numbers, in PKCS #8.
    fn private_of(&self, parts: &[Vec<u8>]) -> Made<Vec<u8>>;
}

/// The family of a name that `platform/crypto_pairs.js` has for it: a curve, or `RSA` with what a new key is to be like.
fn family(name: &str, modulus_bits: Option<u32>, exponent: Option<u32>) -> Made<Box<dyn Family>> {
    Ok(match name {
        "RSA" => Box::new(rsa::Rsa {
            modulus_bits: modulus_bits.unwrap_or_default(),
            exponent: exponent.unwrap_or_default(),
        }),
        "P-256" => Box::new(ec::Curve::<p256::NistP256>::default()),
        "P-384" => Box::new(ec::Curve::<p384::NistP384>::default()),
        "P-521" => Box::new(ec::Curve::<p521::NistP521>::default()),
        "Ed25519" => Box::new(curve25519::Ed25519),
        "X25519" => Box::new(curve25519::X25519),
        name => {
            let what = format!("This host has no keys of {name}.");
            return Err(Refused("NotSupportedError", what));
        }
    })
}

/// Gives `native` the functions.
pub(crate) fn install<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Shared>,
    native: &Object<'js>,
) -> Result<()> {
    let generate = move |ctx: Ctx<'js>, name: String, bits: Option<u32>, exponent: Option<u32>| {
        let pair = family(&name, bits, exponent).and_then(|family| family.generate());
        let Pair { public, private } = pair.or_else(|refused| thrown(&ctx, refused))?;
        buffers(&ctx, [public, private])
    };
    native.set("generateKeyPair", Function::new(ctx.clone(), generate)?)?;

    let all = Rc::clone(shared);
    let read = move |ctx: Ctx<'js>, name: String, is_private: bool, bytes: Value<'js>| {
        let bytes = all.helpers(&ctx)?.bytes_of(&ctx, bytes)?;
        let key = family(&name, None, None).and_then(|family| match is_private {
            true => family.read_private(&bytes),
            false => family.read_public(&bytes),
        });
        ArrayBuffer::new(ctx.clone(), key.or_else(|refused| thrown(&ctx, refused))?)
    };
    native.set("readKey", Function::new(ctx.clone(), read)?)?;

    let all = Rc::clone(shared);
    let parts = move |ctx: Ctx<'js>, name: String, is_private: bool, bytes: Value<'js>| {
        let bytes = all.helpers(&ctx)?.bytes_of(&ctx, bytes)?;
        let parts = family(&name, None, None).and_then(|family| match is_private {
            true => family.private_parts(&bytes),
            false => family.public_parts(&bytes),
        });
        buffers(&ctx, parts.or_else(|refused| thrown(&ctx, refused))?)
    };
    native.set("partsOfKey", Function::new(ctx.clone(), parts)?)?;

    let all = Rc::clone(shared);
    let of_parts = move |ctx: Ctx<'js>, name: String, is_private: bool, parts: Array<'js>| {
        let helpers = all.helpers(&ctx)?;
        let parts: Result<Vec<Vec<u8>>> = parts
            .iter::<Value<'js>>()
            .map(|part| helpers.bytes_of(&ctx, part?))
            .collect();
        let parts = parts?;
        let key = family(&name, None, None).and_then(|family| match is_private {
            true => family.private_of(&parts),
            false => family.public_of(&parts),
        });
        ArrayBuffer::new(ctx.clone(), key.or_else(|refused| thrown(&ctx, refused))?)
    };
    native.set("keyOfParts", Function::new(ctx.clone(), of_parts)?)
}

fn thrown<T>(ctx: &Ctx<'_>, Refused(name, what): Refused) -> Result<T> {
    Err(Exception::throw_dom(ctx, name, &what))
}

fn buffers<'js>(ctx: &Ctx<'js>, all: impl IntoIterator<Item = Vec<u8>>) -> Result<Array<'js>> {
    let all = all.into_iter();
    let buffers =
        all.map(|bytes| ArrayBuffer::new(ctx.clone(), bytes).map(ArrayBuffer::into_value));
    array_of(ctx, buffers.collect::<Result<Vec<_>>>()?)
}

/// What each part of a key is; a wrong number of them is a fault of the caller's.
fn exactly<const N: usize>(parts: &[Vec<u8>]) -> Made<&[Vec<u8>; N]> {
    let wrong = || Refused::data("it has another number of parts");
    parts.try_into().map_err(|_| wrong())
}
