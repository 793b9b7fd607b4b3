//! [`RegExpFlags`]: the flag bits behind a regular expression's source.

use std::fmt;

/// The flags of a regular expression, as V8 numbers them. Displays as JavaScript's `flags` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegExpFlags(u16);

/// Bit and letter, in the order of JavaScript's `flags` property.
const LETTERS: [(u16, char); 8] = [
    (1 << 7, 'd'),
    (1 << 0, 'g'),
    (1 << 1, 'i'),
    (1 << 2, 'm'),
    (1 << 5, 's'),
    (1 << 4, 'u'),
    (1 << 8, 'v'),
    (1 << 3, 'y'),
];

impl RegExpFlags {
    /// `d`: Chromium 90 and later.
    pub const HAS_INDICES: Self = Self(1 << 7);
    /// `v`: Chromium 112 and later.
    pub const UNICODE_SETS: Self = Self(1 << 8);

    /// Whether this flag, or one of these, is among them.
    #[must_use]
    pub const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    /// The flags of these bits; `None` if a bit has no meaning (bit 6 is an experiment of V8's that
    /// is never on) or if both Unicode modes are asked for.
    #[must_use]
    pub fn from_bits(bits: u32) -> Option<Self> {
        let known = LETTERS
            .iter()
            .fold(0, |all, (bit, _)| all | u32::from(*bit));
        let both_modes = 1 << 4 | 1 << 8;
        if bits & !known != 0 || bits & both_modes == both_modes {
            return None;
        }
        u16::try_from(bits).ok().map(Self)
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }
}

impl fmt::Display for RegExpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        LETTERS
            .iter()
            .filter(|(bit, _)| self.0 & bit != 0)
            .try_for_each(|(_, letter)| f.write_char(*letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_print_in_javascripts_order() {
        assert_eq!(
            RegExpFlags::from_bits(0b1010_1111).unwrap().to_string(),
            "dgimsy"
        );
        assert_eq!(RegExpFlags::from_bits(1 << 8).unwrap().to_string(), "v");
        assert_eq!(RegExpFlags::from_bits(0).unwrap().to_string(), "");
    }

    #[test]
    fn bits_without_meaning_are_refused() {
        for bits in [1 << 6, 1 << 9, 1 << 31, 1 << 4 | 1 << 8] {
            assert_eq!(RegExpFlags::from_bits(bits), None, "{bits:b}");
        }
    }
}
