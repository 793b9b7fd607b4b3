//! [`Pauses`]: places where a test makes a thread late. Outside of this crate's own tests nothing happens there.

/// The pauses of one thread.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    #[cfg(test)]
    random: Option<std::sync::Mutex<larder_fixtures::random::Random>>,
}

impl Pauses {
    /// Here the thread may be late.
    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "a test's has something to draw from")]
    pub(crate) const fn pause(&self) {}
}

#[cfg(test)]
mod tests {
    use std::hint::spin_loop;
    use std::sync::{Mutex, PoisonError};
    use std::thread::{sleep, yield_now};
    use std::time::Duration;

    use larder_fixtures::random::Random;

    use super::*;

    impl Pauses {
        /// Pauses drawn from a seed: most are none, some as long as a step of the engine's, few as long as the machine lets others
        /// run.
        pub(crate) fn of_seed(seed: u64) -> Self {
            Self {
                random: Some(Mutex::new(Random::new(seed))),
            }
        }

        /// Here the thread may be late.
        pub(crate) fn pause(&self) {
            let Some(random) = &self.random else {
                return;
            };
            let (kind, length) = {
                let mut random = random.lock().unwrap_or_else(PoisonError::into_inner);
                (random.below(32), random.below(300))
            };
            match kind {
                0 => sleep(Duration::from_micros(length)),
                1..6 => (0..length * 20).for_each(|_| spin_loop()),
                6..12 => yield_now(),
                _ => {}
            }
        }
    }
}
