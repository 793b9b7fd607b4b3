//! What stands behind a cursor (2.10; 7.9, "iterate a cursor"): a position, and entries that were read ahead of it.
//!
//! Entries are read a page at a time, and a page is of use until the transaction writes. Then the walk goes on from its
//! position with what is there now, one entry at a time until writing ceases: so it shows what a cursor shows that reads
//! one entry at each step (the tests compare the two).

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};
use std::sync::{Arc, Weak};

use larder_backing_store::{CursorDirection, Movement};
use larder_codec::{Key, RawKey};

use super::Source;
use super::scan::{Fill, Scan, Wanted};
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::operation::Execution;
use crate::value::records::{Buffer, Records};

/// The first page, and how pages grow.
const ENTRIES_FIRST: usize = 4;
const GROWTH: usize = 4;
/// No page has more.
pub(crate) const ENTRIES_MAX: usize = 256;
const BYTES_MAX: usize = 64 << 10;

/// Scans that wait for their next step.
#[derive(Debug, Default)]
pub(crate) struct Scans {
    waiting: Vec<Waiting>,
    next_id: u64,
    sweep_at: usize,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    /// Dropped when no step can be asked for any more.
    owner: Weak<()>,
    scan: Scan,
}

impl Scans {
    /// Keeps a scan for its next step.
    pub(super) fn keep(&mut self, id: u64, owner: &Arc<()>, scan: Scan) {
        if self.waiting.len() >= self.sweep_at {
            self.waiting
                .retain(|waiting| waiting.owner.strong_count() > 0);
            self.sweep_at = self.waiting.len() * 2 + 16;
        }
        let owner = Arc::downgrade(owner);
        self.waiting.push(Waiting { id, owner, scan });
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Scan> {
        let at = self.waiting.iter().rposition(|waiting| waiting.id == id)?;
        Some(self.waiting.swap_remove(at).scan)
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

/// One move of a cursor.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// By so many entries, at least one.
    Advance(u32),
    /// To the first entry with this key or behind it.
    To(Key),
    /// To the first entry with this key and primary key or behind it.
    ToEntry(Key, Key),
}

/// Entries that were read at once. A walk has no state of its own: it goes on from a place in its last page.
#[derive(Debug)]
pub(crate) struct WalkPage {
    pub(crate) records: Records,
    /// Nothing comes behind the page.
    is_last: bool,
    /// Its scan stands on the page's last entry.
    in_place: bool,
    /// The transaction's count of writes, and how high it was when the page was read.
    writes: Arc<AtomicU64>,
    writes_seen: u64,
    scan_id: u64,
}

/// Where a move led.
#[derive(Debug)]
pub(crate) enum Landed {
    /// To this place in the page.
    InPage(usize),
    /// To the first entry of the next.
    Ahead(WalkPage),
    Nowhere,
}

/// A walk over a source.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) source: Source,
    pub(crate) direction: CursorDirection,
    pub(crate) wanted: Wanted,
    range: KeyRange,
    entries_max: usize,
    owner: Arc<()>,
}

impl Walk {
    /// A walk that has not begun. Pages have `entries_max` entries at most.
    pub(crate) fn new(
        source: Source,
        range: KeyRange,
        direction: CursorDirection,
        wanted: Wanted,
        entries_max: usize,
    ) -> Self {
        Self {
            source,
            direction,
            wanted,
            range,
            entries_max,
            owner: Arc::default(),
        }
    }

    /// To the first entry: of this page.
    pub(crate) fn begin(&self, execution: &mut Execution) -> Result<Option<WalkPage>> {
        let scan_id = execution.reading().scans.new_id();
        let mut scan = self.open(execution)?;
        let found = scan.next(&mut execution.backing)?;
        let entries = ENTRIES_FIRST.min(self.entries_max);
        let buffer = Buffer::default();
        self.turn_page(execution, scan_id, (entries, buffer), scan, found)
    }

    /// One move from a place in the last page, without asking the store, if nothing was written since the page was read and
    /// the page has the answer: where to in it, or that nothing comes.
    pub(crate) fn step_in_page(
        &self,
        page: &WalkPage,
        at: usize,
        step: &Step,
    ) -> Option<Option<usize>> {
        if page.writes.load(Atomic::Acquire) != page.writes_seen {
            return None;
        }
        let len = page.records.len();
        let to = match step {
            Step::Advance(count) => {
                let count = usize::try_from(*count).unwrap_or(usize::MAX);
                at.saturating_add(count)
            }
            Step::To(key) => self.find_in_page(page, at, key, None).ok()?,
            Step::ToEntry(key, primary_key) => {
                self.find_in_page(page, at, key, Some(primary_key)).ok()?
            }
        };
        match (to < len, page.is_last) {
            (true, _) => Some(Some(to)),
            (false, true) => Some(None),
            (false, false) => None,
        }
    }

    /// One move from a place in the last page. After the end, or an error, there is no other.
    pub(crate) fn step(
        &self,
        execution: &mut Execution,
        page: &WalkPage,
        at: usize,
        step: &Step,
    ) -> Result<Landed> {
        if let Some(found) = self.step_in_page(page, at, step) {
            return Ok(found.map_or(Landed::Nowhere, Landed::InPage));
        }
        let has_written = page.writes.load(Atomic::Acquire) != page.writes_seen;
        let left = page.records.len().saturating_sub(at + 1);
        let scan = execution.reading().scans.take(page.scan_id);
        let entries = match has_written {
            true => 1,
            false => (page.records.len() * GROWTH).clamp(1, self.entries_max),
        };
        // What was read ahead counts for nothing after a write, nor does an end that was met.
        let is_usable = page.in_place && (!has_written || (left == 0 && !page.is_last));
        let (scan, found) = match scan.filter(|_| is_usable) {
            Some(mut scan) => {
                let found = move_by(&mut scan, execution, step, left)?;
                (scan, found)
            }
            None => {
                let mut scan = self.open(execution)?;
                let found = self.move_from(&mut scan, execution, page, at, step)?;
                (scan, found)
            }
        };
        let buffer = Buffer::like(page.records.buffer(), entries);
        let next = self.turn_page(execution, page.scan_id, (entries, buffer), scan, found)?;
        Ok(next.map_or(Landed::Nowhere, Landed::Ahead))
    }

    fn open(&self, execution: &mut Execution) -> Result<Scan> {
        Scan::open(
            execution,
            &self.source,
            &self.range,
            self.direction,
            self.wanted,
        )
    }

    /// Reads a page of so many entries from where the scan stands, if it does.
    fn turn_page(
        &self,
        execution: &mut Execution,
        scan_id: u64,
        (entries_max, mut buffer): (usize, Buffer),
        mut scan: Scan,
        found: bool,
    ) -> Result<Option<WalkPage>> {
        if !found {
            return Ok(None);
        }
        let writes = Arc::clone(execution.writes());
        let writes_seen = writes.load(Atomic::Acquire);
        let fill = Fill {
            request: 0,
            wanted: self.wanted,
            may_pin: false,
            entries_max,
            bytes_max: BYTES_MAX,
        };
        let filled = scan.fill(execution, &self.source, fill, true, &mut buffer);
        if buffer.len() == 0 {
            filled?;
            return Ok(None);
        }
        execution.reading().scans.keep(scan_id, &self.owner, scan);
        Ok(Some(WalkPage {
            records: Records::new(buffer),
            // An error behind the first entry is met again when it is that entry's turn.
            in_place: filled.is_ok(),
            is_last: filled.is_ok_and(|is_more| !is_more),
            writes,
            writes_seen,
            scan_id,
        }))
    }

    /// The first entry behind the position that has the keys or lies behind them.
    fn find_in_page(
        &self,
        page: &WalkPage,
        at: usize,
        key: &Key,
        primary_key: Option<&Key>,
    ) -> Result<usize> {
        let (mut bytes, mut primary_bytes) = (Vec::new(), Vec::new());
        key.encode(&mut bytes);
        let target = RawKey::decode_exact(&bytes)?;
        let primary_target = match primary_key {
            None => None,
            Some(primary_key) => {
                primary_key.encode(&mut primary_bytes);
                Some(RawKey::decode_exact(&primary_bytes)?)
            }
        };
        let page = page.records.buffer();
        let (mut low, mut high) = (at + 1, page.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let mut order = RawKey::decode_exact(page.key(middle))?.cmp(&target);
            if let Some(primary_target) = primary_target {
                let (_, primary_key) = page.key_bytes(middle);
                order = order.then(RawKey::decode_exact(primary_key)?.cmp(&primary_target));
            }
            let is_before = match self.direction.is_forward() {
                true => order == Ordering::Less,
                false => order == Ordering::Greater,
            };
            match is_before {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// Moves a new scan from the position on.
    fn move_from(
        &self,
        scan: &mut Scan,
        execution: &mut Execution,
        page: &WalkPage,
        at: usize,
        step: &Step,
    ) -> Result<bool> {
        let Step::Advance(count) = step else {
            return move_by(scan, execution, step, 0);
        };
        let page = page.records.buffer();
        let (_, primary_bytes) = page.key_bytes(at);
        let key = RawKey::decode_exact(page.key(at))?;
        let primary_key = RawKey::decode_exact(primary_bytes)?;
        let with_primary = self.source.index.is_some() && !self.direction.is_unique();
        let movement = match with_primary {
            true => Movement::ToEntry(key, primary_key),
            false => Movement::To(key),
        };
        if !scan.go(&mut execution.backing, movement)? {
            return Ok(false);
        }
        let (index_bytes, primary_bytes) = scan.key_bytes()?;
        let there_primary = RawKey::decode_exact(primary_bytes)?;
        let there = match index_bytes {
            [] => there_primary,
            bytes => RawKey::decode_exact(bytes)?,
        };
        let is_there = there == key && (!with_primary || there_primary == primary_key);
        // Otherwise the entry of the position is gone, and this is the one behind it.
        match if is_there { *count } else { *count - 1 } {
            0 => Ok(true),
            count => scan.go(&mut execution.backing, Movement::Advance(count)),
        }
    }
}

/// Moves a scan that stands `left` entries behind the position, or has not begun.
fn move_by(scan: &mut Scan, execution: &mut Execution, step: &Step, left: usize) -> Result<bool> {
    let backing = &mut execution.backing;
    let (mut bytes, mut primary_bytes) = (Vec::new(), Vec::new());
    match step {
        Step::Advance(count) => {
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            match count.saturating_sub(left) {
                0 | 1 => scan.next(backing),
                count => scan.go(backing, Movement::Advance(count)),
            }
        }
        Step::To(key) => {
            key.encode(&mut bytes);
            scan.go(backing, Movement::To(RawKey::decode_exact(&bytes)?))
        }
        Step::ToEntry(key, primary_key) => {
            key.encode(&mut bytes);
            primary_key.encode(&mut primary_bytes);
            let key = RawKey::decode_exact(&bytes)?;
            let primary_key = RawKey::decode_exact(&primary_bytes)?;
            scan.go(backing, Movement::ToEntry(key, primary_key))
        }
    }
}
