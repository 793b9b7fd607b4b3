//! Reading requests, which object stores and indexes share.

use std::sync::Arc;

use larder_backing_store::{CursorDirection, PageLimits};
use larder_codec::Key;

use crate::cursor::Cursor;
use crate::error::Result;
use crate::execution::{Length, TransactionCore};
use crate::key_range::KeyRange;
use crate::operation::{self, GetAll, Source, Walk, Wanted};
use crate::pages::Pages;
use crate::request::Request;
use crate::transaction::Transaction;
use crate::value::StoredValue;
use crate::value::records::Records;

/// How many records, and in which order: by default all of them, ascending.
///
/// ```
/// # use larder_idb::{CursorDirection, GetAllOptions, ObjectStore, Result};
/// # fn last(loans: &ObjectStore) -> Result<()> {
/// let last_ten = GetAllOptions::new().count(10).direction(CursorDirection::Prev);
/// for loan in &loans.get_all(.., last_ten)?.wait()? {
///     println!("{:?}", loan.key());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GetAllOptions {
    /// At most so many; all if there is no number, or 0.
    pub count: Option<u32>,
    /// In which order; ascending by default.
    pub direction: CursorDirection,
}

impl GetAllOptions {
    /// All records, ascending.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            count: None,
            direction: CursorDirection::Next,
        }
    }

    /// At most so many; 0 is all.
    #[must_use]
    pub const fn count(mut self, count: u32) -> Self {
        self.count = Some(count);
        self
    }

    /// In this order.
    #[must_use]
    pub const fn direction(mut self, direction: CursorDirection) -> Self {
        self.direction = direction;
        self
    }
}

impl Default for GetAllOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Where requests that read are made, once it has been seen that they can be.
pub(crate) struct Reader<'a> {
    pub(crate) transaction: &'a Transaction,
    pub(crate) source: &'a Source,
}

impl Reader<'_> {
    fn core(&self) -> &Arc<TransactionCore> {
        self.transaction.core()
    }

    pub(crate) fn get(self, range: KeyRange) -> Result<Request<Option<StoredValue>>> {
        // Most ranges are of one key.
        match range.into_only() {
            Ok(key) => self.core().submit_to_run(self.source, key),
            Err(range) => {
                let source = self.source.clone();
                self.core().submit(Length::Short, move |execution| {
                    operation::get(execution, &source, &range)
                })
            }
        }
    }

    pub(crate) fn get_key(self, range: KeyRange) -> Result<Request<Option<Key>>> {
        let source = self.source.clone();
        self.core().submit(Length::Short, move |execution| {
            operation::get_key(execution, &source, &range)
        })
    }

    pub(crate) fn get_many(self, ranges: Vec<KeyRange>) -> Result<Request<Records>> {
        let source = self.source.clone();
        self.core().submit(Length::Long, move |execution| {
            operation::get_many(execution, &source, &ranges)
        })
    }

    pub(crate) fn get_all(
        self,
        range: KeyRange,
        options: GetAllOptions,
        wanted: Wanted,
    ) -> Result<Request<Records>> {
        let ask = GetAll {
            source: self.source.clone(),
            range,
            direction: options.direction,
            wanted,
            count: options.count.unwrap_or(0),
        };
        self.core().submit(Length::Long, move |execution| {
            operation::get_all(execution, &ask)
        })
    }

    pub(crate) fn count(self, range: KeyRange) -> Result<Request<u64>> {
        let source = self.source.clone();
        self.core().submit(Length::Long, move |execution| {
            operation::count(execution, &source, &range)
        })
    }

    pub(crate) fn open_cursor(
        self,
        range: KeyRange,
        direction: CursorDirection,
        wanted: Wanted,
    ) -> Result<Request<Option<Cursor>>> {
        let max = operation::ENTRIES_MAX;
        let walk = Walk::new(self.source.clone(), range, direction, wanted, max);
        Cursor::open(self.transaction.clone(), walk)
    }

    pub(crate) fn pages(
        self,
        range: KeyRange,
        direction: CursorDirection,
        limits: PageLimits,
    ) -> Pages {
        Pages::new(
            self.transaction.clone(),
            self.source.clone(),
            range,
            direction,
            limits,
        )
    }
}

/// The methods of both handles, each behind the checks of its own.
macro_rules! reading_methods {
    ($handle:ident) => {
        impl $handle {
            /// The value of the first record in a range.
            ///
            /// # Errors
            /// Those of every request.
            pub fn get(
                &self,
                range: impl Into<$crate::KeyRange>,
            ) -> $crate::Result<$crate::Request<Option<$crate::StoredValue>>> {
                self.reader()?.get(range.into())
            }

            /// The primary key of the first record in a range. No value is read.
            ///
            /// # Errors
            /// Those of every request.
            pub fn get_key(
                &self,
                range: impl Into<$crate::KeyRange>,
            ) -> $crate::Result<$crate::Request<Option<$crate::Key>>> {
                self.reader()?.get_key(range.into())
            }

            /// The first records of many ranges. Each record has the number of its range
            /// ([`Record::request`]($crate::Record::request)); a range without records has none.
            ///
            /// # Errors
            /// Those of every request.
            pub fn get_many(
                &self,
                ranges: impl IntoIterator<Item = impl Into<$crate::KeyRange>>,
            ) -> $crate::Result<$crate::Request<$crate::Records>> {
                let reader = self.reader()?;
                reader.get_many(ranges.into_iter().map(Into::into).collect())
            }

            /// The records in a range, with keys, primary keys and values: what a page's `getAll` and `getAllRecords`
            /// give. All of them at once: see [`pages`](Self::pages).
            ///
            /// # Errors
            /// Those of every request.
            pub fn get_all(
                &self,
                range: impl Into<$crate::KeyRange>,
                options: $crate::GetAllOptions,
            ) -> $crate::Result<$crate::Request<$crate::Records>> {
                let wanted = $crate::operation::Wanted::Values;
                self.reader()?.get_all(range.into(), options, wanted)
            }

            /// The first keys of a range, as [`get_all`](Self::get_all). Values are not read.
            ///
            /// # Errors
            /// Those of every request.
            pub fn get_all_keys(
                &self,
                range: impl Into<$crate::KeyRange>,
                options: $crate::GetAllOptions,
            ) -> $crate::Result<$crate::Request<$crate::Records>> {
                let wanted = $crate::operation::Wanted::Keys;
                self.reader()?.get_all(range.into(), options, wanted)
            }

            /// How many records or index entries there are in a range. No value is read.
            ///
            /// # Errors
            /// Those of every request.
            pub fn count(
                &self,
                range: impl Into<$crate::KeyRange>,
            ) -> $crate::Result<$crate::Request<u64>> {
                self.reader()?.count(range.into())
            }

            /// A cursor at the first record of a range, in its direction.
            ///
            /// # Errors
            /// Those of every request.
            pub fn open_cursor(
                &self,
                range: impl Into<$crate::KeyRange>,
                direction: $crate::CursorDirection,
            ) -> $crate::Result<$crate::Request<Option<$crate::Cursor>>> {
                let wanted = $crate::operation::Wanted::Values;
                self.reader()?.open_cursor(range.into(), direction, wanted)
            }

            /// Opens a cursor over keys, as [`open_cursor`](Self::open_cursor). Values are not read.
            ///
            /// # Errors
            /// Those of every request.
            pub fn open_key_cursor(
                &self,
                range: impl Into<$crate::KeyRange>,
                direction: $crate::CursorDirection,
            ) -> $crate::Result<$crate::Request<Option<$crate::Cursor>>> {
                let wanted = $crate::operation::Wanted::Keys;
                self.reader()?.open_cursor(range.into(), direction, wanted)
            }

            /// The records of a range page by page: no page is read before it is asked for.
            ///
            /// # Errors
            /// Those of every request.
            pub fn pages(
                &self,
                range: impl Into<$crate::KeyRange>,
                direction: $crate::CursorDirection,
                limits: $crate::PageLimits,
            ) -> $crate::Result<$crate::Pages> {
                Ok(self.reader()?.pages(range.into(), direction, limits))
            }
        }
    };
}

pub(crate) use reading_methods;
