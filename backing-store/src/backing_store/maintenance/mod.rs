//! Maintenance: what Chromium does when a store's last connection has closed (`LDB/tombstone_sweeper.cc`,
//! `LDB/compaction_task.cc`): stale index rows are deleted, then tables are compacted, each every few days.
//!
//! When the time comes and how much of it is spent is for the caller; here is one bounded step at a time.

mod compaction;
mod sweeper;

use std::sync::atomic::{AtomicI64, Ordering};

use larder_codec::primitive::int;
use larder_codec::row_key::GlobalKey;
use larder_leveldb::Durability;

use self::compaction::Compaction;
use self::sweeper::Sweep;
use super::cleaning::Budget;
use super::core::Core;
use super::open::global_key;
use crate::error::{Error, ErrorKind, Result};

const SECOND_US: i64 = 1_000_000;
const HOUR_US: i64 = 3600 * SECOND_US;
const DAY_US: i64 = 24 * HOUR_US;

/// From one run in a store to the next.
const STORE_PAUSE_US: (i64, i64) = (DAY_US, 3 * DAY_US);
/// From one run in any store of the process to the next.
const PROCESS_PAUSE_US: (i64, i64) = (300 * SECOND_US, HOUR_US);

/// When maintenance may run again in any store of a process. All stores that share one take turns.
#[derive(Debug, Default)]
pub struct MaintenanceSchedule {
    earliest_sweep_us: AtomicI64,
    earliest_compaction_us: AtomicI64,
}

/// What [`BackingStore::maintain`](super::BackingStore::maintain) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    /// A step; there may be more to do.
    Step,
    /// Nothing: there is something to do, and it waits until no transaction is writing.
    Waiting,
    /// Nothing: all is done that is due.
    Idle,
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    sweep: Option<Sweep>,
    compaction: Option<Compaction>,
}

/// The two jobs.
#[derive(Debug, Clone, Copy)]
enum Job {
    Sweep,
    Compaction,
}

impl Job {
    fn key(self) -> Vec<u8> {
        global_key(&match self {
            Self::Sweep => GlobalKey::EarliestSweep,
            Self::Compaction => GlobalKey::EarliestCompaction,
        })
    }

    fn process_earliest(self, schedule: &MaintenanceSchedule) -> &AtomicI64 {
        match self {
            Self::Sweep => &schedule.earliest_sweep_us,
            Self::Compaction => &schedule.earliest_compaction_us,
        }
    }
}

pub(super) fn step(core: &Core) -> Result<Maintenance> {
    if !core.is_settled() {
        // Opening and reading leaves every row as it is.
        return Ok(Maintenance::Idle);
    }
    if core.remove_released_blobs()? || core.clean_some(&mut Budget::of_step())? {
        return Ok(Maintenance::Step);
    }
    if let Some(row_store) = &core.row_store {
        return Ok(match row_store.maintain()? {
            true => Maintenance::Step,
            false => Maintenance::Idle,
        });
    }
    let under_way = &mut *core.maintenance();
    if let Some(sweep) = &mut under_way.sweep {
        // No transaction begins during a round: one that has rows in the undo log could bring a row back whose stale
        // index rows are deleted here.
        let Some(is_done) = core.while_no_writer_runs(|| sweep.round(core)) else {
            return Ok(Maintenance::Waiting);
        };
        if is_done? {
            under_way.sweep = None;
        }
    } else if let Some(compaction) = &mut under_way.compaction {
        if compaction.step(core)? {
            under_way.compaction = None;
        }
    } else if is_due(core, Job::Sweep)? {
        schedule_next(core, Job::Sweep)?;
        under_way.sweep = Some(Sweep::start(core)?);
    } else if is_due(core, Job::Compaction)? {
        schedule_next(core, Job::Compaction)?;
        under_way.compaction = Some(Compaction::start(core));
    } else if !core.db.do_background_work()? {
        // What reading alone has made due.
        return Ok(Maintenance::Idle);
    }
    Ok(Maintenance::Step)
}

/// Takes away everything that is of no more use, at once and whether it is due or not.
pub(super) fn clean(core: &Core, tick: &mut dyn FnMut()) -> Result<()> {
    core.settle()?;
    while core.remove_released_blobs()? || core.clean_some(&mut Budget::of_step())? {
        tick();
    }
    if core.row_store.is_some() {
        // No entry of an index is stale there.
        return Ok(());
    }
    let mut sweep = Sweep::start(core)?.taking_all();
    loop {
        tick();
        let Some(is_done) = core.while_no_writer_runs(|| sweep.round(core)) else {
            let what = "a transaction is writing: wait for its end";
            return Err(Error::new(ErrorKind::Conflict, what));
        };
        // A sweep that is not asked for ends earlier.
        is_done?;
        if sweep.is_at_end() {
            return Ok(());
        }
    }
}

/// Compacts all tables of all levels, at once.
pub(super) fn compact(core: &Core, tick: &mut dyn FnMut()) -> Result<()> {
    if let Some(row_store) = &core.row_store {
        tick();
        return row_store.compact();
    }
    let mut compaction = Compaction::start(core);
    while !compaction.step(core)? {
        tick();
    }
    Ok(())
}

/// Both times must have passed: the process's and the store's. A store without one has never been maintained.
fn is_due(core: &Core, job: Job) -> Result<bool> {
    let now = core.options.clock.now_us();
    let earliest = job.process_earliest(&core.options.maintenance);
    if now < earliest.load(Ordering::Relaxed) {
        return Ok(false);
    }
    let key = job.key();
    match core.db.get(&key)? {
        Some(row) => int::decode_exact(&row)
            .map(|earliest| now >= earliest)
            .map_err(|error| Error::row(&key, "time of the next maintenance", error)),
        None => Ok(true),
    }
}

fn schedule_next(core: &Core, job: Job) -> Result<()> {
    let now = core.options.clock.now_us();
    let after = |(low, high): (i64, i64)| {
        let span = (high - low).unsigned_abs();
        let random = core.random(span).cast_signed();
        now.saturating_add(low).saturating_add(random)
    };
    job.process_earliest(&core.options.maintenance)
        .store(after(PROCESS_PAUSE_US), Ordering::Relaxed);
    let mut value = Vec::new();
    // A clock that stands before 1601 has no Int.
    int::encode(after(STORE_PAUSE_US).max(0), &mut value);
    let _turn = core.direct();
    Ok(core.db.put(&job.key(), &value, Durability::Strict)?)
}

#[cfg(test)]
mod tests;
