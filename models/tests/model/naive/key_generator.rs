//! Key generators (specification, 2.11): the number that the next record without a key gets.

use super::key::Key;

/// The last number that can be generated.
const MAX: f64 = 9_007_199_254_740_992.0;

/// A key generator: its current number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyGenerator {
    current: f64,
    /// Whether the current number would be 2^53 + 1, which doubles do not have.
    is_used_up: bool,
}

impl KeyGenerator {
    pub(crate) fn new() -> Self {
        Self {
            current: 1.0,
            is_used_up: false,
        }
    }

    /// "Generate a key"; `None` is failure.
    pub(crate) fn generate(&mut self) -> Option<f64> {
        if self.is_used_up {
            return None;
        }
        let key = self.current;
        self.step_beyond(key);
        Some(key)
    }

    /// "Possibly update the key generator" for a key that was given.
    pub(crate) fn see(&mut self, key: &Key) {
        let Key::Number(number) = key else { return };
        let value = number.min(MAX).floor();
        if !self.is_used_up && value >= self.current {
            self.step_beyond(value);
        }
    }

    fn step_beyond(&mut self, value: f64) {
        if value >= MAX {
            self.is_used_up = true;
        } else {
            self.current = value + 1.0;
        }
    }
}
