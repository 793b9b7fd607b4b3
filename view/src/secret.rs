//! 128 random bits that only the right client has: the token of a server, and each ticket.

use std::hint::black_box;
use std::io;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// 32 hex digits. It has no `Debug`, so that none is ever printed by accident.
#[derive(Clone)]
pub(crate) struct Secret([u8; 32]);

impl Secret {
    /// New bits of the operating system's.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(io::Error::other)?;
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bits) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        Ok(Self(digits))
    }

    /// Whether `shown` is this secret. How long that takes depends on the length of `shown` alone, not on where it differs.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        if shown.len() != self.0.len() {
            return false;
        }
        let pairs = self.0.iter().zip(shown);
        let different = pairs.fold(0, |different, (own, shown)| {
            black_box(different | (own ^ shown))
        });
        different == 0
    }

    pub(crate) fn digits(&self) -> String {
        self.0.iter().copied().map(char::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_digits_are_the_secret() {
        let secret = Secret::new().unwrap();
        let digits = secret.digits();
        assert_eq!(digits.len(), 32);
        assert!(digits.bytes().all(|digit| DIGITS.contains(&digit)));
        assert!(secret.is(digits.as_bytes()));
        for at in 0..32 {
            let mut other = digits.clone().into_bytes();
            other[at] ^= 1;
            assert!(!secret.is(&other), "digit {at}");
            assert!(!secret.is(&digits.as_bytes()[..at]), "the first {at}");
        }
        assert!(!secret.is(format!("{digits}0").as_bytes()));
    }

    #[test]
    fn each_secret_is_another() {
        let all: std::collections::BTreeSet<String> =
            (0..1000).map(|_| Secret::new().unwrap().digits()).collect();
        assert_eq!(all.len(), 1000);
    }
}
