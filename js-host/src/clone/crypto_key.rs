//! `CryptoKey`s: what JavaScript holds of one ([`attributes`]), and the object in a value ([`alone_of`]).
//!
//! A key is passed to and fro as type, extractable, usages, name of the algorithm, its parameters by their names in Web Cryptography, and
//! the key itself: raw, SPKI or PKCS #8, as it lies in values.

use larder_codec::value::{
    CryptoKey, CryptoKeyAlgorithm, CryptoKeyType, CryptoKeyUsages, HostObject,
};
use rquickjs::{Array, ArrayBuffer, Ctx, IntoJs as _, Object, Result, Value};

use super::{Helpers, platform};
use crate::array::{array_of, define};

const KEY_TYPES: [CryptoKeyType; 3] = [
    CryptoKeyType::Secret,
    CryptoKeyType::Public,
    CryptoKeyType::Private,
];
const HASHES: [&str; 4] = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];
const CURVES: [&str; 3] = ["P-256", "P-384", "P-521"];
const AES: [&str; 4] = ["AES-CBC", "AES-CTR", "AES-GCM", "AES-KW"];
const RSA: [&str; 3] = ["RSA-OAEP", "RSA-PSS", "RSASSA-PKCS1-v1_5"];
const EC: [&str; 2] = ["ECDH", "ECDSA"];
const NAMED: [&str; 4] = ["Ed25519", "HKDF", "PBKDF2", "X25519"];

/// The attributes of a key that was read.
pub(super) fn attributes<'js>(ctx: &Ctx<'js>, key: &CryptoKey<'_>) -> Result<Object<'js>> {
    let all = Object::new(ctx.clone())?;
    let text = |text: &str| text.into_js(ctx);
    let number = |number: f64| Value::new_number(ctx.clone(), number);
    let bytes =
        |bytes: &[u8]| ArrayBuffer::new_copy(ctx.clone(), bytes).map(ArrayBuffer::into_value);
    let extractable = Value::new_bool(ctx.clone(), key.extractable);
    let usages: Result<Vec<_>> = key.usages.names().map(text).collect();
    define(&all, "type", text(key.key_type.name())?)?;
    define(&all, "extractable", extractable)?;
    define(&all, "usages", array_of(ctx, usages?)?.into_value())?;
    define(&all, "data", bytes(key.key_data)?)?;
    match key.algorithm {
        CryptoKeyAlgorithm::Aes { name, length_bits } => {
            define(&all, "name", text(name)?)?;
            define(&all, "length", number(f64::from(length_bits)))?;
        }
        CryptoKeyAlgorithm::Hmac { hash, length_bits } => {
            define(&all, "name", text("HMAC")?)?;
            define(&all, "hash", text(hash)?)?;
            define(&all, "length", number(length_bits as f64))?;
        }
        CryptoKeyAlgorithm::RsaHashed {
            name,
            modulus_length_bits,
            public_exponent,
            hash,
        } => {
            define(&all, "name", text(name)?)?;
            define(
                &all,
                "modulusLength",
                number(f64::from(modulus_length_bits)),
            )?;
            define(&all, "publicExponent", bytes(public_exponent)?)?;
            define(&all, "hash", text(hash)?)?;
        }
        CryptoKeyAlgorithm::Ec { name, named_curve } => {
            define(&all, "name", text(name)?)?;
            define(&all, "namedCurve", text(named_curve)?)?;
        }
        CryptoKeyAlgorithm::Named { name } => define(&all, "name", text(name)?)?,
    }
    Ok(all)
}

/// A serialised value that is a key alone, of its attributes; `None` if these are of no key.
pub(crate) fn alone_of<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    all: &Object<'js>,
) -> Result<Option<Vec<u8>>> {
    let bytes = |name| -> Result<Vec<u8>> { helpers.bytes_of(ctx, all.get(name)?) };
    let exponent = match all.contains_key("publicExponent")? {
        true => bytes("publicExponent")?,
        false => Vec::new(),
    };
    let key_data = bytes("data")?;
    let key_type: String = all.get("type")?;
    let key_type = KEY_TYPES.into_iter().find(|known| known.name() == key_type);
    let usages: Vec<String> = all
        .get::<_, Array<'js>>("usages")?
        .iter()
        .collect::<Result<_>>()?;
    let (Some(algorithm), Some(key_type), Some(usages)) = (
        algorithm(all, &exponent)?,
        key_type,
        CryptoKeyUsages::from_names(usages.iter().map(String::as_str)),
    ) else {
        return Ok(None);
    };
    Ok(Some(platform::alone(&HostObject::CryptoKey(CryptoKey {
        algorithm,
        key_type,
        extractable: all.get("extractable")?,
        usages,
        key_data: &key_data,
    }))))
}

fn algorithm<'e>(all: &Object<'_>, exponent: &'e [u8]) -> Result<Option<CryptoKeyAlgorithm<'e>>> {
    let name: String = all.get("name")?;
    let of =
        |names: &[&'static str], name: &str| names.iter().find(|known| **known == name).copied();
    let text = |key, names: &[&'static str]| -> Result<Option<&'static str>> {
        let found: Option<String> = all.get(key)?;
        Ok(found.and_then(|found| of(names, &found)))
    };
    if let Some(name) = of(&AES, &name) {
        let length_bits = all.get("length")?;
        return Ok(Some(CryptoKeyAlgorithm::Aes { name, length_bits }));
    }
    if let Some(name) = of(&EC, &name) {
        let curve = text("namedCurve", &CURVES)?;
        return Ok(curve.map(|named_curve| CryptoKeyAlgorithm::Ec { name, named_curve }));
    }
    if let Some(name) = of(&NAMED, &name) {
        return Ok(Some(CryptoKeyAlgorithm::Named { name }));
    }
    let Some(hash) = text("hash", &HASHES)? else {
        return Ok(None);
    };
    if let Some(name) = of(&RSA, &name) {
        return Ok(Some(CryptoKeyAlgorithm::RsaHashed {
            name,
            modulus_length_bits: all.get("modulusLength")?,
            public_exponent: exponent,
            hash,
        }));
    }
    let length_bits = all.get::<_, f64>("length")? as u64;
    Ok((name == "HMAC").then_some(CryptoKeyAlgorithm::Hmac { hash, length_bits }))
}

/// A key for script, of the object in a value.
pub(super) fn made<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    key: &CryptoKey<'_>,
) -> Result<Value<'js>> {
    let bytes = platform::alone(&HostObject::CryptoKey(*key));
    let bytes = ArrayBuffer::new(ctx.clone(), bytes)?;
    helpers.make(ctx, "cryptoKey", (attributes(ctx, key)?, bytes))
}
