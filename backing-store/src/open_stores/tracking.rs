//! What is known of an object store's keys while a transaction writes to it (`operation/tracking.rs` says what for).

use std::cmp::Ordering;

use larder_codec::RawKey;

use crate::error::{Error, Result};

/// So many records of an object store are looked up in one transaction.
pub(crate) const LOOKUPS_MAX: u32 = 64;

/// A longer key is not kept for the next transaction.
const KEPT_LEN_MAX: usize = 4 << 10;

/// What is known of an object store's keys. Only the bound outlives it.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    pub(crate) state: State,
    /// No record has a greater key: the bytes, empty if there is no record. `None` if it has not been asked for.
    pub(crate) greatest: Option<Vec<u8>>,
    pub(crate) lookups: u32,
    /// The greatest key that was put since all versions became suspect.
    run: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Undecided,
    /// Nothing is known of any index, or there is none.
    Off,
    On,
}

impl Tracking {
    /// Tracking of an object store without records.
    pub(crate) fn of_empty() -> Self {
        Self {
            greatest: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// What the next transaction takes over.
    pub(crate) fn end_of_transaction(&mut self) {
        let greatest = self.greatest.take();
        let greatest = greatest.filter(|key| key.len() <= KEPT_LEN_MAX);
        *self = Self {
            greatest,
            ..Self::default()
        };
    }

    /// Whether a key is above all others; then it is the greatest from now on.
    pub(crate) fn is_new_greatest(&mut self, key: RawKey<'_>) -> Result<bool> {
        let Some(greatest) = &mut self.greatest else {
            return Ok(false);
        };
        if !greatest.is_empty() && compare(key, greatest)? != Ordering::Greater {
            return Ok(false);
        }
        greatest.clear();
        greatest.extend_from_slice(key.as_bytes());
        Ok(true)
    }

    /// Notes a key that is put: whether it is above all that were put since all versions became suspect. Until then it is not.
    pub(crate) fn goes_on(&mut self, key: RawKey<'_>) -> Result<bool> {
        if self.run.is_empty() || compare(key, &self.run)? != Ordering::Greater {
            return Ok(false);
        }
        self.begin_run(key);
        Ok(true)
    }

    pub(crate) fn begin_run(&mut self, key: RawKey<'_>) {
        self.run.clear();
        self.run.extend_from_slice(key.as_bytes());
    }
}

fn compare(key: RawKey<'_>, other: &[u8]) -> Result<Ordering> {
    let other = RawKey::decode_exact(other)
        .map_err(|error| Error::row(other, "key that was put before", error))?;
    Ok(key.cmp(&other))
}
