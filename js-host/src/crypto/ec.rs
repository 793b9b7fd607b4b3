//! Keys of the NIST curves: SEC 1 within SPKI and PKCS #8.

use std::marker::PhantomData;

use getrandom::SysRng;
use p256::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use p256::elliptic_curve::{
    AffinePoint, CurveArithmetic, FieldBytesSize, Generate as _, PublicKey, SecretKey,
};
use p256::pkcs8::{
    AssociatedOid, DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey,
};

use super::{Family, Made, Pair, Refused, exactly};

/// The tag of a point with both coordinates.
const UNCOMPRESSED: u8 = 4;

/// One of the curves.
pub(super) struct Curve<C>(PhantomData<C>);

impl<C> Default for Curve<C> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<C> Family for Curve<C>
where
    C: CurveArithmetic + AssociatedOid,
    FieldBytesSize<C>: ModulusSize,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    SecretKey<C>: DecodePrivateKey + EncodePrivateKey,
    PublicKey<C>: DecodePublicKey + EncodePublicKey,
{
    fn generate(&self) -> Made<Pair> {
        let key = SecretKey::<C>::try_generate_from_rng(&mut SysRng).map_err(Refused::chance)?;
        Ok(Pair {
            public: spki(&key.public_key())?,
            private: pkcs8(&key)?,
        })
    }

    fn read_public(&self, bytes: &[u8]) -> Made<Vec<u8>> {
        spki(&PublicKey::<C>::from_public_key_der(bytes).map_err(Refused::data)?)
    }

    fn read_private(&self, bytes: &[u8]) -> Made<Vec<u8>> {
        pkcs8(&SecretKey::<C>::from_pkcs8_der(bytes).map_err(Refused::data)?)
    }

    fn public_parts(&self, bytes: &[u8]) -> Made<Vec<Vec<u8>>> {
        let key = PublicKey::<C>::from_public_key_der(bytes).map_err(Refused::data)?;
        coordinates(&key)
    }

    fn private_parts(&self, bytes: &[u8]) -> Made<Vec<Vec<u8>>> {
        let key = SecretKey::<C>::from_pkcs8_der(bytes).map_err(Refused::data)?;
        let mut parts = coordinates(&key.public_key())?;
        parts.push(key.to_bytes().to_vec());
        Ok(parts)
    }

    /// A public key: of one part, a point as SEC 1 writes it; of two, its coordinates.
    fn public_of(&self, parts: &[Vec<u8>]) -> Made<Vec<u8>> {
        let key = match parts {
            [point] => PublicKey::<C>::from_sec1_bytes(point).map_err(Refused::data)?,
            parts => {
                let [x, y] = exactly(parts)?;
                point(x, y)?
            }
        };
        spki(&key)
    }

    fn private_of(&self, parts: &[Vec<u8>]) -> Made<Vec<u8>> {
        let [x, y, d] = exactly(parts)?;
        let key = SecretKey::<C>::from_slice(d).map_err(Refused::data)?;
        if key.public_key() != point(x, y)? {
            return Err(Refused::data("its two parts do not belong together"));
        }
        pkcs8(&key)
    }
}

fn point<C>(x: &[u8], y: &[u8]) -> Made<PublicKey<C>>
where
    C: CurveArithmetic,
    FieldBytesSize<C>: ModulusSize,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
{
    let bytes = [&[UNCOMPRESSED], x, y].concat();
    // The two have one length, or the middle would be elsewhere.
    match x.len() == y.len() {
        true => PublicKey::from_sec1_bytes(&bytes).map_err(Refused::data),
        false => Err(Refused::data("its coordinates have different lengths")),
    }
}

fn coordinates<C>(key: &PublicKey<C>) -> Made<Vec<Vec<u8>>>
where
    C: CurveArithmetic,
    FieldBytesSize<C>: ModulusSize,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
{
    let point = key.to_sec1_point(false);
    match (point.x(), point.y()) {
        (Some(x), Some(y)) => Ok(vec![x.to_vec(), y.to_vec()]),
        _ => Err(Refused::data("it is no point with coordinates")),
    }
}

fn spki(key: &impl EncodePublicKey) -> Made<Vec<u8>> {
    let der = key.to_public_key_der().map_err(Refused::data)?;
    Ok(der.into_vec())
}

fn pkcs8(key: &impl EncodePrivateKey) -> Made<Vec<u8>> {
    let der = key.to_pkcs8_der().map_err(Refused::data)?;
    Ok(der.as_bytes().to_vec())
}
