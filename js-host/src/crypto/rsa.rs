//! RSA keys: PKCS #1 within SPKI and PKCS #8.
//!
//! A key that is read is checked (its primes multiply to the modulus, its exponents fit them); one that is only taken apart is a key that
//! was checked or that a browser has stored.

use getrandom::SysRng;
use rsa::pkcs1::{
    self, DecodeRsaPrivateKey as _, EncodeRsaPrivateKey as _, RsaPrivateKeyRef, RsaPublicKeyRef,
    UintRef,
};
use rsa::pkcs8::der::{Decode as _, Encode as _};
use rsa::pkcs8::spki::AlgorithmIdentifierRef;
use rsa::pkcs8::{
    EncodePrivateKey as _, EncodePublicKey as _, PrivateKeyInfoRef, SubjectPublicKeyInfoRef,
};
use rsa::{BoxedUint, PrivateKey, PublicKey};

use super::{Family, Made, Pair, Refused, exactly};

/// Public keys that are read have at least so many bits, and at most so many: Chromium reads these.
const READ_BITS_MIN: usize = 512;
const READ_BITS_MAX: usize = 16_384;

/// What a new key is like.
pub(super) struct Rsa {
    pub(super) modulus_bits: u32,
    pub(super) exponent: u32,
}

impl Family for Rsa {
    fn generate(&self) -> Made<Pair> {
        let failed = |error: rsa::Error| {
            let what = format!(
                "No RSA key of {} bits could be made: {error}.",
                self.modulus_bits
            );
            Refused("OperationError", what)
        };
        let (bits, exponent) = (self.modulus_bits as usize, BoxedUint::from(self.exponent));
        let key = PrivateKey::new_with_exp(&mut SysRng, bits, exponent).map_err(failed)?;
        Ok(Pair {
            public: spki(key.as_public_key())?,
            private: pkcs8(&key)?,
        })
    }

    fn read_public(&self, bytes: &[u8]) -> Made<Vec<u8>> {
        self.public_of(&self.public_parts(bytes)?)
    }

    fn read_private(&self, bytes: &[u8]) -> Made<Vec<u8>> {
        self.private_of(&self.private_parts(bytes)?)
    }

    fn public_parts(&self, bytes: &[u8]) -> Made<Vec<Vec<u8>>> {
        let outer = SubjectPublicKeyInfoRef::from_der(bytes).map_err(Refused::data)?;
        check(&outer.algorithm)?;
        let inner = outer.subject_public_key.as_bytes().unwrap_or_default();
        let key = RsaPublicKeyRef::from_der(inner).map_err(Refused::data)?;
        Ok([key.modulus, key.public_exponent].map(of_uint).into())
    }

    fn private_parts(&self, bytes: &[u8]) -> Made<Vec<Vec<u8>>> {
        let outer = PrivateKeyInfoRef::from_der(bytes).map_err(Refused::data)?;
        check(&outer.algorithm)?;
        let key = RsaPrivateKeyRef::from_der(outer.private_key.as_bytes());
        Ok(parts_of(&key.map_err(Refused::data)?))
    }

    fn public_of(&self, parts: &[Vec<u8>]) -> Made<Vec<u8>> {
        let [n, e] = exactly(parts)?;
        let limits = READ_BITS_MIN..=READ_BITS_MAX;
        let key = PublicKey::new_with_size_limits(uint(n)?, uint(e)?, limits);
        spki(&key.map_err(Refused::data)?)
    }

    fn private_of(&self, parts: &[Vec<u8>]) -> Made<Vec<u8>> {
        let [n, e, d, p, q, dp, dq, qi] = exactly(parts)?;
        let given = pkcs1::RsaPrivateKey {
            modulus: to_uint(n)?,
            public_exponent: to_uint(e)?,
            private_exponent: to_uint(d)?,
            prime1: to_uint(p)?,
            prime2: to_uint(q)?,
            exponent1: to_uint(dp)?,
            exponent2: to_uint(dq)?,
            coefficient: to_uint(qi)?,
            other_prime_infos: None,
        };
        let der = given.to_der().map_err(Refused::data)?;
        let key = PrivateKey::from_pkcs1_der(&der).map_err(Refused::data)?;
        let again = key.to_pkcs1_der().map_err(Refused::data)?;
        let again = RsaPrivateKeyRef::from_der(again.as_bytes()).map_err(Refused::data)?;
        if parts_of(&again) != parts_of(&given) {
            return Err(Refused::data("its parts do not belong together"));
        }
        pkcs8(&key)
    }
}

/// It is for any use of RSA, as Web Cryptography requires.
fn check(algorithm: &AlgorithmIdentifierRef<'_>) -> Made<()> {
    match *algorithm == pkcs1::ALGORITHM_ID {
        true => Ok(()),
        false => Err(Refused::data("it is of another algorithm than RSA")),
    }
}

fn spki(key: &PublicKey) -> Made<Vec<u8>> {
    let der = key.to_public_key_der().map_err(Refused::data)?;
    Ok(der.into_vec())
}

fn pkcs8(key: &PrivateKey) -> Made<Vec<u8>> {
    let der = key.to_pkcs8_der().map_err(Refused::data)?;
    Ok(der.as_bytes().to_vec())
}

fn of_uint(number: UintRef<'_>) -> Vec<u8> {
    number.as_bytes().to_vec()
}

fn to_uint(bytes: &[u8]) -> Made<UintRef<'_>> {
    UintRef::new(bytes).map_err(Refused::data)
}

fn uint(bytes: &[u8]) -> Made<BoxedUint> {
    let bits = u32::try_from(bytes.len() * 8).unwrap_or(u32::MAX);
    BoxedUint::from_be_slice(bytes, bits).map_err(Refused::data)
}

fn parts_of(key: &RsaPrivateKeyRef<'_>) -> Vec<Vec<u8>> {
    let public = [key.modulus, key.public_exponent];
    let private = [
        key.private_exponent,
        key.prime1,
        key.prime2,
        key.exponent1,
        key.exponent2,
        key.coefficient,
    ];
    public.into_iter().chain(private).map(of_uint).collect()
}
