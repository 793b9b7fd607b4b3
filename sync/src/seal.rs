//! Sealing: what a cloud is given, so that it can neither read nor change it.

use crate::device::DeviceId;
use crate::error::{Error, ErrorKind, Result};
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use larder_pages::PageId;
use sha2::{Digest, Sha256};
use std::fmt;

/// The key of everything that a host's devices keep in a cloud: 32 random bytes, which each device has and the cloud has not. A program that has it can
/// read and write; there is no way to take it back from a device.
#[derive(Clone)]
pub struct CloudKey([u8; 32]);

impl CloudKey {
    /// With these bytes, which must be random.
    pub fn new(bytes: [u8; 32]) -> CloudKey {
        CloudKey(bytes)
    }
}

impl fmt::Debug for CloudKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CloudKey")
    }
}

/// The name of no key.
pub(crate) const PLAIN: &str = "plain";

const NONCE_LEN: usize = 24;
const TAG_LEN: usize = 16;
const SUM_LEN: usize = 32;

/// How the bytes of a page are sealed.
pub(crate) enum Seal {
    /// Not: a checksum finds damage, and nothing is secret.
    Plain,
    /// XChaCha20-Poly1305. The nonce is a keyed hash of what is sealed and where it belongs, so that there is none to be used twice.
    Key {
        cipher: Box<XChaCha20Poly1305>,
        nonces: Box<Hmac<Sha256>>,
    },
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Seal::Plain => "Plain",
            Seal::Key { .. } => "Key",
        })
    }
}

/// 32 bytes for a purpose.
fn derived(key: &CloudKey, purpose: &[u8], of: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    let info = [&b"larder-sync 1 "[..], purpose, of].concat();
    let derived = Hkdf::<Sha256>::new(None, &key.0).expand(&info, &mut bytes);
    debug_assert!(derived.is_ok(), "32 bytes are not too many");
    bytes
}

/// The first 16 bytes as a name in a cloud.
fn name_of(bytes: &[u8]) -> String {
    DeviceId(bytes.first_chunk().copied().unwrap_or_default()).to_string()
}

impl Seal {
    pub(crate) fn new(key: Option<&CloudKey>, page: PageId) -> Result<Seal> {
        let Some(key) = key else {
            return Ok(Seal::Plain);
        };
        let no_key = |_| Error::new(ErrorKind::Usage, "a key has 32 bytes");
        let content = derived(key, b"content", &page.0);
        let nonces = derived(key, b"nonce", &page.0);
        Ok(Seal::Key {
            cipher: Box::new(XChaCha20Poly1305::new_from_slice(&content).map_err(no_key)?),
            nonces: Box::new(Hmac::new_from_slice(&nonces).map_err(no_key)?),
        })
    }

    /// The folder of a page in the cloud: with a key it says nothing of the page.
    pub(crate) fn folder(key: Option<&CloudKey>, page: PageId) -> String {
        match key {
            None => name_of(&page.0),
            Some(key) => name_of(&derived(key, b"folder", &page.0)),
        }
    }

    /// The name of a key, which says nothing of it, or of none.
    pub(crate) fn key_name(key: Option<&CloudKey>) -> String {
        match key {
            None => PLAIN.to_owned(),
            Some(key) => name_of(&derived(key, b"name", b"")),
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Seal::Plain)
    }

    /// How much longer what is sealed is.
    pub(crate) fn overhead(&self) -> usize {
        match self {
            Seal::Plain => SUM_LEN,
            Seal::Key { .. } => NONCE_LEN + TAG_LEN,
        }
    }

    /// Appends the sealed form of bytes that belong to a place.
    pub(crate) fn seal(&self, place: &[u8], bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (cipher, nonces) = match self {
            Seal::Plain => {
                out.extend_from_slice(bytes);
                out.extend_from_slice(&sum(place, bytes));
                return Ok(());
            }
            Seal::Key { cipher, nonces } => (cipher, nonces),
        };
        let mut hash = (**nonces).clone();
        hash.update(&(place.len() as u64).to_le_bytes());
        hash.update(place);
        hash.update(bytes);
        let hash = hash.finalize().into_bytes();
        let nonce: [u8; NONCE_LEN] = hash.first_chunk().copied().unwrap_or_default();
        out.extend_from_slice(&nonce);
        let start = out.len();
        out.extend_from_slice(bytes);
        let tag = cipher
            .encrypt_inout_detached(&XNonce::from(nonce), place, (&mut out[start..]).into())
            .map_err(|_| Error::new(ErrorKind::Usage, "too many bytes to be sealed at once"))?;
        out.extend_from_slice(&tag);
        Ok(())
    }

    /// The bytes, if they were sealed for this place and with this key.
    pub(crate) fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        match self {
            Seal::Plain => {
                let (bytes, found) = sealed.split_last_chunk::<SUM_LEN>()?;
                (sum(place, bytes) == *found).then(|| bytes.to_vec())
            }
            Seal::Key { cipher, .. } => {
                let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
                let (bytes, tag) = rest.split_last_chunk::<TAG_LEN>()?;
                let mut bytes = bytes.to_vec();
                cipher
                    .decrypt_inout_detached(
                        &XNonce::from(*nonce),
                        place,
                        (&mut bytes[..]).into(),
                        &Tag::from(*tag),
                    )
                    .ok()?;
                Some(bytes)
            }
        }
    }
}

fn sum(place: &[u8], bytes: &[u8]) -> [u8; SUM_LEN] {
    let mut hash = Sha256::new();
    hash.update((place.len() as u64).to_le_bytes());
    hash.update(place);
    hash.update(bytes);
    hash.finalize().into()
}

/// The length that something of a length is padded to, so that lengths say little: at most an eighth longer, and as coarse as that allows (PADMÉ, Nikitin
/// et al. 2019).
pub(crate) fn padded_len(len: usize) -> usize {
    if len < 2 {
        return len;
    }
    let exponent = len.ilog2();
    let kept = exponent.ilog2() + 1;
    let mask = (1_usize << exponent.saturating_sub(kept)) - 1;
    (len + mask) & !mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8, page: u8) -> Seal {
        Seal::new(Some(&CloudKey::new([byte; 32])), PageId([page; 16])).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_in_its_place_with_its_key_and_no_other_way() {
        for seal in [Seal::Plain, key(1, 1)] {
            for len in [0, 1, 1000, 70_000] {
                let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
                let mut sealed = Vec::new();
                seal.seal(b"here", &bytes, &mut sealed).unwrap();
                assert_eq!(sealed.len(), bytes.len() + seal.overhead());
                assert_eq!(seal.open(b"here", &sealed), Some(bytes.clone()));
                assert_eq!(seal.open(b"there", &sealed), None);
                for at in (0..sealed.len()).step_by(1 + sealed.len() / 50) {
                    let mut changed = sealed.clone();
                    changed[at] ^= 0x10;
                    assert_eq!(seal.open(b"here", &changed), None);
                    assert_eq!(seal.open(b"here", &sealed[..at]), None);
                }
                if !seal.is_plain() {
                    for other in [key(2, 1), key(1, 2), Seal::Plain] {
                        assert_eq!(other.open(b"here", &sealed), None);
                    }
                    let mut again = Vec::new();
                    seal.seal(b"here", &bytes, &mut again).unwrap();
                    assert_eq!(again, sealed);
                    again.clear();
                    seal.seal(b"there", &bytes, &mut again).unwrap();
                    assert_ne!(again[..24], sealed[..24], "another nonce");
                    if len >= 1000 {
                        assert!(!sealed.windows(16).any(|part| part == &bytes[..16]));
                    }
                }
            }
        }
    }

    #[test]
    fn folders_of_pages_say_nothing_with_a_key() {
        let page = PageId([0xab; 16]);
        assert_eq!(Seal::folder(None, page), "ab".repeat(16));
        let one = Seal::folder(Some(&CloudKey::new([1; 32])), page);
        let two = Seal::folder(Some(&CloudKey::new([2; 32])), page);
        assert!(one != two && one.len() == 32 && !one.contains("abab"));
    }

    #[test]
    fn padding_is_an_eighth_at_most_and_leaves_few_lengths() {
        let mut lens = std::collections::BTreeSet::new();
        for len in 0..1_200_000 {
            let padded = padded_len(len);
            assert!(padded >= len && padded <= len + len / 8, "{len}: {padded}");
            lens.insert(padded);
        }
        assert!(lens.len() < 400, "{}", lens.len());
        // Values of the paper's function, worked out by hand: 9 has exponent 3 and two bits kept.
        assert_eq!([9, 17, 1000, 1025].map(padded_len), [10, 18, 1024, 1088]);
    }
}
