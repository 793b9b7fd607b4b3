//! Records page by page.

use std::sync::Arc;

use larder_backing_store::{CursorDirection, PageLimits};

use super::Source;
use super::scan::{Fill, Scan, Wanted};
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::operation::Execution;
use crate::value::records::{Buffer, Records};

/// Where the next page begins.
#[derive(Debug)]
pub(crate) struct PageWalk {
    source: Source,
    range: KeyRange,
    direction: CursorDirection,
    fill: Fill,
    owner: Arc<()>,
    at: At,
}

#[derive(Debug, Clone, Copy)]
enum At {
    Start,
    /// Where this scan stands.
    Scan(u64),
    End,
}

impl PageWalk {
    pub(crate) fn new(
        source: Source,
        range: KeyRange,
        direction: CursorDirection,
        limits: PageLimits,
    ) -> Self {
        Self {
            source,
            range,
            direction,
            fill: Fill {
                request: 0,
                wanted: Wanted::Values,
                may_pin: false,
                // A page of no entries would be the last.
                entries_max: limits.entries_max.max(1),
                bytes_max: limits.bytes_max.max(1),
            },
            owner: Arc::default(),
            at: At::Start,
        }
    }
}

/// Reads the next page.
pub(crate) fn next_page(execution: &mut Execution, walk: &mut PageWalk) -> Result<Option<Records>> {
    let (id, scan) = match walk.at {
        At::End => return Ok(None),
        At::Scan(id) => (id, execution.reading().scans.take(id)),
        At::Start => {
            let (range, direction) = (&walk.range, walk.direction);
            let wanted = walk.fill.wanted;
            let scan = Scan::open(execution, &walk.source, range, direction, wanted)?;
            (execution.reading().scans.new_id(), Some(scan))
        }
    };
    let Some(mut scan) = scan else {
        walk.at = At::End;
        return Ok(None);
    };
    walk.at = At::Scan(id);
    let mut buffer = Buffer::default();
    let filled = scan.fill(execution, &walk.source, walk.fill, false, &mut buffer);
    match filled {
        Ok(false) => walk.at = At::End,
        Ok(true) | Err(_) => execution.reading().scans.keep(id, &walk.owner, scan),
    }
    filled?;
    Ok((buffer.len() > 0).then(|| Records::new(buffer)))
}
