//! Keys of Ed25519 and X25519: 32 bytes behind a fixed head (RFC 8410).

use ed25519_dalek::SigningKey;
use p256::pkcs8::der::{AnyRef, Decode as _};
use p256::pkcs8::{ObjectIdentifier, PrivateKeyInfoRef, SubjectPublicKeyInfoRef};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

use super::{Family, Made, Pair, Refused, exactly};

type Key = [u8; 32];

/// The last byte of the algorithm's identifier, 1.3.101.N, which alone differs between the two.
trait Algorithm {
    const ID: u8;
    fn public_of(private: Key) -> Key;
}

/// Signatures.
pub(super) struct Ed25519;

impl Algorithm for Ed25519 {
    const ID: u8 = 112;
    fn public_of(private: Key) -> Key {
        SigningKey::from_bytes(&private).verifying_key().to_bytes()
    }
}

/// Agreement on keys.
pub(super) struct X25519;

impl Algorithm for X25519 {
    const ID: u8 = 110;
    fn public_of(private: Key) -> Key {
        x25519(private, X25519_BASEPOINT_BYTES)
    }
}

impl<A: Algorithm> Family for A {
    fn generate(&self) -> Made<Pair> {
        let mut private = Key::default();
        getrandom::fill(&mut private).map_err(Refused::chance)?;
        Ok(Pair {
            public: spki::<A>(A::public_of(private)),
            private: pkcs8::<A>(private),
        })
    }

    fn read_public(&self, bytes: &[u8]) -> Made<Vec<u8>> {
        Family::public_of(self, &self.public_parts(bytes)?)
    }

    fn read_private(&self, bytes: &[u8]) -> Made<Vec<u8>> {
        self.private_of(&self.private_parts(bytes)?)
    }

    fn public_parts(&self, bytes: &[u8]) -> Made<Vec<Vec<u8>>> {
        let key = SubjectPublicKeyInfoRef::from_der(bytes).map_err(Refused::data)?;
        check::<A>(key.algorithm.oid, key.algorithm.parameters)?;
        let inner = key.subject_public_key.as_bytes().unwrap_or_default();
        Ok(vec![self::key(inner)?.to_vec()])
    }

    fn private_parts(&self, bytes: &[u8]) -> Made<Vec<Vec<u8>>> {
        let key = PrivateKeyInfoRef::from_der(bytes).map_err(Refused::data)?;
        check::<A>(key.algorithm.oid, key.algorithm.parameters)?;
        // An octet string within the octet string.
        let private = match key.private_key.as_bytes() {
            [4, 32, inner @ ..] => self::key(inner)?,
            _ => return Err(Refused::data("it has not 32 bytes")),
        };
        Ok([A::public_of(private), private]
            .map(|part| part.to_vec())
            .into())
    }

    fn public_of(&self, parts: &[Vec<u8>]) -> Made<Vec<u8>> {
        let [public] = exactly(parts)?;
        Ok(spki::<A>(key(public)?))
    }

    fn private_of(&self, parts: &[Vec<u8>]) -> Made<Vec<u8>> {
        let [public, private] = exactly(parts)?;
        let private = key(private)?;
        match A::public_of(private) == key(public)? {
            true => Ok(pkcs8::<A>(private)),
            false => Err(Refused::data("its two parts do not belong together")),
        }
    }
}

fn check<A: Algorithm>(oid: ObjectIdentifier, parameters: Option<AnyRef<'_>>) -> Made<()> {
    match oid.as_bytes() == [43, 101, A::ID] && parameters.is_none() {
        true => Ok(()),
        false => Err(Refused::data("it is of another algorithm")),
    }
}

fn key(bytes: &[u8]) -> Made<Key> {
    let wrong = |_| Refused::data("it has not 32 bytes");
    bytes.try_into().map_err(wrong)
}

fn spki<A: Algorithm>(key: Key) -> Vec<u8> {
    let head = [0x30, 42, 0x30, 5, 6, 3, 43, 101, A::ID, 3, 33, 0];
    [&head[..], &key].concat()
}

fn pkcs8<A: Algorithm>(key: Key) -> Vec<u8> {
    let head = [
        0x30,
        46,
        2,
        1,
        0,
        0x30,
        5,
        6,
        3,
        43,
        101,
        A::ID,
        4,
        34,
        4,
        32,
    ];
    [&head[..], &key].concat()
}
