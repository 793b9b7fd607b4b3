//! Clean-up: outdated revisions go, a bounded number at a time.

use larder_idb::Transaction;
use larder_idb::codec::feed;

use crate::consumer::places;
use crate::error::Result;
use crate::feed::{Feed, last};
use crate::mark::Marks;

/// What clean-up keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanUp {
    keep_revisions: u64,
    lag_max: Option<u64>,
}

impl CleanUp {
    /// Keeps what any consumer has not acknowledged.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            keep_revisions: 0,
            lag_max: None,
        }
    }

    /// Keeps so many of the last revisions in any case.
    #[must_use]
    pub const fn keep_revisions(mut self, count: u64) -> Self {
        self.keep_revisions = count;
        self
    }

    /// Keeps nothing for consumers that are more than so many revisions behind the last one. Such a consumer finds out when it reads
    /// ([`Error::LeftBehind`](crate::Error::LeftBehind)), and begins anew.
    #[must_use]
    pub const fn lag_max(mut self, count: u64) -> Self {
        self.lag_max = Some(count);
        self
    }
}

/// What a step of clean-up has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// So many revisions have gone.
    pub revisions: u64,
    /// Whether another step would find more to do.
    pub is_more: bool,
}

/// So many revisions are looked at in one step.
const STEP_LEN: usize = 128;

impl Feed {
    /// Does one step of clean-up, in a transaction of its own: of the revisions up to the lower bound, those go that are removals or have
    /// a newer one of the same record up to there. The lower bound is the position of the consumer that is furthest behind, or what
    /// `options` keep.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn clean(&self, options: CleanUp) -> Result<Cleaned> {
        let transaction = self.writing(&[feed::REVISIONS, feed::HISTORY, feed::CONSUMERS])?;
        let mut marks = Marks::read(&transaction).await?;
        let last = last(&transaction).await?;
        let lower_bound = lower_bound(&transaction, last, options).await?;
        let mut done = Cleaned::default();
        if lower_bound > marks.cleaned {
            let step = transaction.clean_change_feed(marks.cleaned, lower_bound, STEP_LEN)?;
            let step = step.await?;
            done.revisions = step.revisions;
            // If there was none left to look at, all up to the bound have been.
            done.is_more = step.cleaned != 0 && step.cleaned < lower_bound;
            marks.cleaned = marks.cleaned.max(step.cleaned);
            marks.whole = marks.whole.max(step.whole);
            marks.write(&transaction)?;
        }
        transaction.commit()?.await?;
        Ok(done)
    }
}

async fn lower_bound(transaction: &Transaction, last: u64, options: CleanUp) -> Result<u64> {
    let mut bound = last.saturating_sub(options.keep_revisions);
    for (_, place) in places(transaction).await? {
        let lag = last.saturating_sub(place.position);
        if options.lag_max.is_none_or(|lag_max| lag <= lag_max) {
            bound = bound.min(place.position);
        }
    }
    Ok(bound)
}
