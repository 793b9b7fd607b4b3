//! Look-ups of rows whose keys come in their order: a cursor passes from one to the next, where a look-up of each by itself would go
//! through all tables, and read a block for each of its rows.

use std::cmp::Ordering;

use larder_codec::compare::compare;

use super::base::{Base, BaseIter, Reach};
use crate::error::Result;

/// So many keys in order are looked up one by one, before a cursor is worth it.
const ALONE: usize = 8;
/// A cursor passes no more rows than that to come to a key.
const STEPS_MAX: usize = 4;

/// The look-ups of a transaction in one table.
#[derive(Debug, Default)]
pub(crate) struct AscendingLookups {
    iter: Option<BaseIter>,
    /// Which base the cursor is of.
    generation: u64,
    last: Vec<u8>,
    /// So many keys have come in order.
    run: usize,
}

impl AscendingLookups {
    /// The value of `key`, of a table that ends at what `end` gives, into the caller's buffer; whether there is one. The key has no other form.
    pub(super) fn get_into(
        &mut self,
        (base, generation): (&Base, u64),
        (key, end): (&[u8], impl FnOnce() -> Vec<u8>),
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        let goes_on = generation == self.generation && compare(&self.last, key).is_lt();
        if !goes_on {
            self.generation = generation;
            self.begin_anew();
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.run += 1;
        if self.run <= ALONE {
            return base.get_into(key, value);
        }
        // Damage that the cursor meets need not be about the key.
        match self.pass_to(base, key, end) {
            Ok(Some(order)) => {
                let row = self.iter.as_ref().filter(|_| order.is_eq());
                if let Some(row) = row {
                    value.clear();
                    value.extend_from_slice(row.value()?);
                }
                Ok(order.is_eq())
            }
            Ok(None) | Err(_) => {
                self.begin_anew();
                base.get_into(key, value)
            }
        }
    }

    fn begin_anew(&mut self) {
        self.iter = None;
        self.run = 0;
    }

    /// Stands on the first row not before `key`: how the two compare. `None` if that row is too far.
    fn pass_to(
        &mut self,
        base: &Base,
        key: &[u8],
        end: impl FnOnce() -> Vec<u8>,
    ) -> Result<Option<Ordering>> {
        let iter = match &mut self.iter {
            Some(iter) => iter,
            None => {
                let iter = self.iter.insert(base.iter_within(&Reach::before(&end())));
                iter.seek(key)?;
                iter
            }
        };
        for _ in 0..=STEPS_MAX {
            if !iter.valid() {
                return Ok(Some(Ordering::Greater));
            }
            match compare(iter.key(), key) {
                Ordering::Less => iter.next()?,
                order => return Ok(Some(order)),
            }
        }
        Ok(None)
    }
}
