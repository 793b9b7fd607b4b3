//! `CryptoKey`: algorithm, type, usages, and the key itself.
//!
//! A raw sub-tag byte, the algorithm's parameters, a varint of usage bits, the key data with its
//! length. Sources: Blink `web_crypto_sub_tags.h` and
//! `v8_script_value_deserializer_for_modules.cc`. The key data are raw bytes for secret keys, SPKI
//! for public and PKCS #8 for private ones; they are not looked into.

use crate::value::reader::{Reader, error, invalid};
use crate::value::writer::Writer;
use crate::{ErrorKind, Result};

/// A `CryptoKey`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CryptoKey<'a> {
    /// Algorithm and parameters.
    pub algorithm: CryptoKeyAlgorithm<'a>,
    /// Secret, public or private.
    pub key_type: CryptoKeyType,
    /// Whether scripts may export it.
    pub extractable: bool,
    /// What it may be used for.
    pub usages: CryptoKeyUsages,
    /// The key: raw, SPKI or PKCS #8.
    pub key_data: &'a [u8],
}

/// The algorithm of a key with the parameters that are part of the key. Names are those of Web
/// Crypto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CryptoKeyAlgorithm<'a> {
    /// AES in one of its modes.
    Aes {
        /// `AES-CBC`, `AES-GCM`, `AES-CTR` or `AES-KW`.
        name: &'static str,
        /// Key length in bits.
        length_bits: u32,
    },
    /// HMAC.
    Hmac {
        /// The hash.
        hash: &'static str,
        /// Key length in bits.
        length_bits: u64,
    },
    /// RSA in one of its schemes.
    RsaHashed {
        /// `RSASSA-PKCS1-v1_5`, `RSA-OAEP` or `RSA-PSS`.
        name: &'static str,
        /// Modulus length in bits.
        modulus_length_bits: u32,
        /// The public exponent, big-endian.
        public_exponent: &'a [u8],
        /// The hash.
        hash: &'static str,
    },
    /// ECDSA or ECDH.
    Ec {
        /// `ECDSA` or `ECDH`.
        name: &'static str,
        /// The curve.
        named_curve: &'static str,
    },
    /// An algorithm whose keys have no parameters: HKDF, PBKDF2, Ed25519, X25519,
    /// ChaCha20-Poly1305, ML-DSA and ML-KEM.
    Named {
        /// Which.
        name: &'static str,
    },
}

/// The type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CryptoKeyType {
    /// `secret`
    Secret,
    /// `public`
    Public,
    /// `private`
    Private,
}

impl CryptoKeyType {
    /// Web Crypto's name of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CryptoKeyUsages(u16);

/// Bit and name of each usage, by name.
const USAGES: [(u16, &str); 12] = [
    (1 << 12, "decapsulateBits"),
    (1 << 11, "decapsulateKey"),
    (1 << 2, "decrypt"),
    (1 << 8, "deriveBits"),
    (1 << 5, "deriveKey"),
    (1 << 10, "encapsulateBits"),
    (1 << 9, "encapsulateKey"),
    (1 << 1, "encrypt"),
    (1 << 3, "sign"),
    (1 << 7, "unwrapKey"),
    (1 << 4, "verify"),
    (1 << 6, "wrapKey"),
];
const EXTRACTABLE: u32 = 1;

impl CryptoKeyUsages {
    /// The usages of these names; `None` if one is no usage.
    ///
    /// ```
    /// use larder_codec::value::CryptoKeyUsages;
    /// let usages = CryptoKeyUsages::from_names(["encrypt", "decrypt"]).unwrap();
    /// assert_eq!(usages.names().collect::<Vec<_>>(), ["decrypt", "encrypt"]);
    /// assert_eq!(CryptoKeyUsages::from_names(["open"]), None);
    /// ```
    #[must_use]
    pub fn from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let bit = |name| {
            let found = USAGES.iter().find(|(_, known)| *known == name);
            found.map(|(bit, _)| *bit)
        };
        let mut names = names.into_iter();
        names.try_fold(Self(0), |all, name| Some(Self(all.0 | bit(name)?)))
    }

    /// Web Crypto's names of the usages, in ascending order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        (USAGES.iter()).filter_map(move |(bit, name)| (self.0 & bit != 0).then_some(*name))
    }
}

/// Families of algorithms; each sub-tag takes names of one.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    Aes,
    Hmac,
    Hash,
    Rsa,
    Ec,
    Derivation,
    Curve25519,
    Modern,
}

/// The algorithm with this number: its family and name.
const fn algorithm(id: u32) -> Option<(Family, &'static str)> {
    Some(match id {
        1 => (Family::Aes, "AES-CBC"),
        2 => (Family::Hmac, "HMAC"),
        3 => (Family::Rsa, "RSASSA-PKCS1-v1_5"),
        5 => (Family::Hash, "SHA-1"),
        6 => (Family::Hash, "SHA-256"),
        7 => (Family::Hash, "SHA-384"),
        8 => (Family::Hash, "SHA-512"),
        9 => (Family::Aes, "AES-GCM"),
        10 => (Family::Rsa, "RSA-OAEP"),
        11 => (Family::Aes, "AES-CTR"),
        12 => (Family::Aes, "AES-KW"),
        13 => (Family::Rsa, "RSA-PSS"),
        14 => (Family::Ec, "ECDSA"),
        15 => (Family::Ec, "ECDH"),
        16 => (Family::Derivation, "HKDF"),
        17 => (Family::Derivation, "PBKDF2"),
        18 => (Family::Curve25519, "Ed25519"),
        19 => (Family::Curve25519, "X25519"),
        // 20 to 25, sub-tag 9 and usage bits 9 to 12: as Chromium 156 writes them.
        20 => (Family::Modern, "ChaCha20-Poly1305"),
        21 => (Family::Modern, "ML-DSA-44"),
        22 => (Family::Modern, "ML-DSA-65"),
        23 => (Family::Modern, "ML-DSA-87"),
        24 => (Family::Modern, "ML-KEM-768"),
        25 => (Family::Modern, "ML-KEM-1024"),
        _ => return None,
    })
}

/// The greatest number that [`algorithm`] has a name for.
const ALGORITHM_MAX: u32 = 25;
/// By number less one.
const CURVES: [&str; 3] = ["P-256", "P-384", "P-521"];

/// Family and number of an algorithm; a name that is none gets 0, which no decoder takes.
fn algorithm_id(wanted: &str) -> (Option<Family>, u32) {
    (1..=ALGORITHM_MAX)
        .find_map(|id| match algorithm(id) {
            Some((family, name)) if name == wanted => Some((Some(family), id)),
            _ => None,
        })
        .unwrap_or((None, 0))
}

fn read_name(reader: &mut Reader<'_>, family: Family, what: &'static str) -> Result<&'static str> {
    let start = reader.offset();
    let id = reader.varint_u32(what)?;
    match algorithm(id) {
        Some((found, name)) if found == family => Ok(name),
        _ => invalid(u64::from(id), start, what),
    }
}

fn read_key_type(reader: &mut Reader<'_>, may_be_secret: bool) -> Result<CryptoKeyType> {
    let start = reader.offset();
    match reader.varint_u32("key type")? {
        1 => Ok(CryptoKeyType::Public),
        2 => Ok(CryptoKeyType::Private),
        3 if may_be_secret => Ok(CryptoKeyType::Secret),
        other => invalid(u64::from(other), start, "key type"),
    }
}

fn read_curve(reader: &mut Reader<'_>) -> Result<&'static str> {
    let start = reader.offset();
    let id = reader.varint_u32("named curve")?;
    match CURVES.get((id as usize).wrapping_sub(1)) {
        Some(name) => Ok(name),
        None => invalid(u64::from(id), start, "named curve"),
    }
}

impl<'a> CryptoKey<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let (algorithm, key_type) = read_algorithm(reader)?;
        let start = reader.offset();
        let bits = reader.varint_u32("key usages")?;
        let known = USAGES
            .iter()
            .fold(EXTRACTABLE, |all, (bit, _)| all | u32::from(*bit));
        let usages = match u16::try_from(bits & !EXTRACTABLE) {
            Ok(usages) if bits & !known == 0 => CryptoKeyUsages(usages),
            _ => return invalid(u64::from(bits), start, "key usages"),
        };
        let at = reader.offset();
        let len = reader.varint_u32("key data length")?;
        let key_data = reader.bytes(len as usize, "key data")?;
        // Chromium cannot read back HMAC keys whose bits do not fill their bytes.
        match algorithm {
            CryptoKeyAlgorithm::Aes { length_bits, .. }
                if u64::from(length_bits) != u64::from(len) * 8 =>
            {
                invalid(u64::from(len), at, "key data length")
            }
            CryptoKeyAlgorithm::Hmac { length_bits, .. } if length_bits != u64::from(len) * 8 => {
                invalid(u64::from(len), at, "key data length")
            }
            _ => Ok(Self {
                algorithm,
                key_type,
                extractable: bits & EXTRACTABLE != 0,
                usages,
                key_data,
            }),
        }
    }
}

impl CryptoKey<'_> {
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        self.write_algorithm(writer);
        let extractable = if self.extractable { EXTRACTABLE } else { 0 };
        writer.varint(u32::from(self.usages.0) | extractable);
        writer.len(self.key_data.len());
        writer.bytes(self.key_data);
    }

    /// The least V8's and Blink's versions for its algorithm, if not every one has it.
    pub(super) fn needs(&self) -> Option<(u32, u32, &'static str)> {
        match self.algorithm {
            CryptoKeyAlgorithm::Aes { .. }
            | CryptoKeyAlgorithm::Hmac { .. }
            | CryptoKeyAlgorithm::RsaHashed { .. }
            | CryptoKeyAlgorithm::Ec { .. }
            | CryptoKeyAlgorithm::Named {
                name: "HKDF" | "PBKDF2",
            } => None,
            CryptoKeyAlgorithm::Named { .. } => Some((16, 21, "a CryptoKey of a newer algorithm")),
        }
    }

    /// Sub-tag and parameters.
    fn write_algorithm(&self, writer: &mut Writer<'_>) {
        use CryptoKeyAlgorithm as Algorithm;
        let key_type: u32 = match self.key_type {
            CryptoKeyType::Public => 1,
            CryptoKeyType::Private => 2,
            CryptoKeyType::Secret => 3,
        };
        match self.algorithm {
            Algorithm::Aes { name, length_bits } => {
                writer.byte(1);
                writer.varint(algorithm_id(name).1);
                writer.varint(length_bits / 8);
            }
            Algorithm::Hmac { hash, length_bits } => {
                writer.byte(2);
                writer.varint(length_bits / 8);
                writer.varint(algorithm_id(hash).1);
            }
            Algorithm::RsaHashed {
                name,
                modulus_length_bits,
                public_exponent,
                hash,
            } => {
                writer.byte(4);
                writer.varint(algorithm_id(name).1);
                writer.varint(key_type);
                writer.varint(modulus_length_bits);
                writer.len(public_exponent.len());
                writer.bytes(public_exponent);
                writer.varint(algorithm_id(hash).1);
            }
            Algorithm::Ec { name, named_curve } => {
                let curve = CURVES.iter().position(|curve| *curve == named_curve);
                writer.byte(5);
                writer.varint(algorithm_id(name).1);
                writer.varint(key_type);
                writer.len(curve.map_or(0, |at| at + 1));
            }
            Algorithm::Named { name } => {
                let (family, id) = algorithm_id(name);
                writer.byte(match (family, name) {
                    (Some(Family::Derivation), _) => 6,
                    (_, "Ed25519") => 7,
                    (_, "X25519") => 8,
                    _ => 9,
                });
                writer.varint(id);
                if family != Some(Family::Derivation) {
                    writer.varint(key_type);
                }
            }
        }
    }
}

/// Sub-tag and parameters.
fn read_algorithm<'a>(reader: &mut Reader<'a>) -> Result<(CryptoKeyAlgorithm<'a>, CryptoKeyType)> {
    use CryptoKeyAlgorithm as Algorithm;
    const LENGTH_BITS_MAX: u32 = u16::MAX as u32;
    const WHAT: &str = "key algorithm";
    let start = reader.offset();
    let secret = CryptoKeyType::Secret;
    Ok(match reader.byte("CryptoKey sub-tag")? {
        1 => {
            let name = read_name(reader, Family::Aes, WHAT)?;
            let bytes = reader.varint_u32("key length")?;
            match bytes.checked_mul(8) {
                Some(length_bits @ ..=LENGTH_BITS_MAX) => {
                    (Algorithm::Aes { name, length_bits }, secret)
                }
                _ => return invalid(u64::from(bytes), start, "key length"),
            }
        }
        2 => {
            let length_bits = u64::from(reader.varint_u32("key length")?) * 8;
            let hash = read_name(reader, Family::Hash, "key hash")?;
            (Algorithm::Hmac { hash, length_bits }, secret)
        }
        4 => {
            let name = read_name(reader, Family::Rsa, WHAT)?;
            let key_type = read_key_type(reader, false)?;
            let modulus_length_bits = reader.varint_u32("modulus length")?;
            let exponent_len = reader.varint_u32("public exponent length")?;
            let public_exponent = reader.bytes(exponent_len as usize, "public exponent")?;
            let algorithm = Algorithm::RsaHashed {
                name,
                modulus_length_bits,
                public_exponent,
                hash: read_name(reader, Family::Hash, "key hash")?,
            };
            (algorithm, key_type)
        }
        5 => {
            let name = read_name(reader, Family::Ec, WHAT)?;
            let key_type = read_key_type(reader, false)?;
            let named_curve = read_curve(reader)?;
            (Algorithm::Ec { name, named_curve }, key_type)
        }
        6 => {
            let name = read_name(reader, Family::Derivation, WHAT)?;
            (Algorithm::Named { name }, secret)
        }
        7 | 8 => {
            let name = read_name(reader, Family::Curve25519, WHAT)?;
            (Algorithm::Named { name }, read_key_type(reader, false)?)
        }
        9 => {
            let name = read_name(reader, Family::Modern, WHAT)?;
            (Algorithm::Named { name }, read_key_type(reader, true)?)
        }
        tag => return error(ErrorKind::UnknownTag { tag }, start, "CryptoKey sub-tag"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usages_are_listed_by_name() {
        assert!(USAGES.is_sorted_by_key(|(_, name)| *name));
        let names: Vec<_> = CryptoKeyUsages(1 << 2 | 1 << 1).names().collect();
        assert_eq!(names, ["decrypt", "encrypt"]);
    }

    #[test]
    fn keys_of_chromium_156_have_their_algorithms_and_usages() {
        // Made with `generateKey` and read from its store; long key data cut to four bytes.
        for (bytes, name, key_type, usages) in [
            (
                &b"\x09\x14\x03\x03\x04abcd"[..],
                "ChaCha20-Poly1305",
                "secret",
                "encrypt",
            ),
            (b"\x09\x15\x01\x11\x04abcd", "ML-DSA-44", "public", "verify"),
            (b"\x09\x16\x02\x08\x04abcd", "ML-DSA-65", "private", "sign"),
            (
                b"\x09\x18\x01\x81\x04\x04abcd",
                "ML-KEM-768",
                "public",
                "encapsulateKey",
            ),
            (
                b"\x09\x18\x02\x81\x10\x04abcd",
                "ML-KEM-768",
                "private",
                "decapsulateKey",
            ),
            (
                b"\x09\x19\x01\x81\x08\x04abcd",
                "ML-KEM-1024",
                "public",
                "encapsulateBits",
            ),
            (
                b"\x09\x19\x02\x81\x20\x04abcd",
                "ML-KEM-1024",
                "private",
                "decapsulateBits",
            ),
        ] {
            let key = CryptoKey::read(&mut Reader::new(bytes)).unwrap();
            assert_eq!(key.algorithm, CryptoKeyAlgorithm::Named { name });
            assert_eq!(key.key_type.name(), key_type, "{name}");
            assert_eq!(key.usages.names().collect::<Vec<_>>(), [usages], "{name}");
            assert_eq!(key.key_data, b"abcd");
        }
    }

    #[test]
    fn a_key_whose_bits_do_not_fill_its_bytes_is_refused_as_chromium_refuses_it() {
        // HMAC of 20 bits: two whole bytes are written as its length, three bytes as its data.
        let error = CryptoKey::read(&mut Reader::new(b"\x02\x02\x06\x09\x03\x98\xc8\x40"));
        let error = error.unwrap_err();
        assert_eq!((error.offset(), error.what()), (4, "key data length"));
    }

    #[test]
    fn an_algorithm_of_another_family_is_refused() {
        // An AES key (1) whose algorithm is HMAC (2).
        let error = CryptoKey::read(&mut Reader::new(&[1, 2, 16, 0, 0])).unwrap_err();
        assert_eq!((error.offset(), error.what()), (1, "key algorithm"));
    }
}
