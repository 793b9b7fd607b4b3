//! [`NamesSeen`]: whether an object's names, met one by one, are all different, surely and cheaply.

/// No more names are kept in sight.
const NAMES_MAX: usize = 32;

/// The names of one object so far: of each something that equal names have in common.
#[derive(Debug)]
pub(super) struct NamesSeen {
    prints: [u64; NAMES_MAX],
    count: usize,
}

impl NamesSeen {
    pub(super) const fn new() -> Self {
        Self {
            prints: [0; NAMES_MAX],
            count: 0,
        }
    }

    /// Adds a name. `None` if there may be one like it, if there are too many, or if it begins with a digit: then it may
    /// be an index, which does not stay in its place.
    pub(super) fn note(&mut self, name: &[u8]) -> Option<()> {
        let print = print(name);
        let (seen, free) = self.prints.split_at_mut_checked(self.count)?;
        if name.first().is_some_and(u8::is_ascii_digit) || seen.contains(&print) {
            return None;
        }
        *free.first_mut()? = print;
        self.count += 1;
        Some(())
    }
}

/// The first eight bytes, mixed with the last eight and the length.
fn print(name: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let (first, last) = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => {
            let word = name
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            (word, 0)
        }
    };
    (first ^ last.rotate_left(32).wrapping_mul(MULTIPLIER))
        .wrapping_add((name.len() as u64).wrapping_mul(MULTIPLIER))
}
