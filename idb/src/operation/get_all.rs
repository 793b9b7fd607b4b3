//! Many records of one range (7.4 and 7.5, "retrieve multiple items").

use larder_backing_store::CursorDirection;

use super::Source;
use super::scan::{Fill, Scan, Wanted};
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::operation::Execution;
use crate::value::records::{Buffer, Records};

/// What is asked for.
#[derive(Debug)]
pub(crate) struct GetAll {
    pub(crate) source: Source,
    pub(crate) range: KeyRange,
    pub(crate) direction: CursorDirection,
    pub(crate) wanted: Wanted,
    /// 0 for all.
    pub(crate) count: u32,
}

/// All of them, in one piece of memory.
pub(crate) fn get_all(execution: &mut Execution, ask: &GetAll) -> Result<Records> {
    let source = &ask.source;
    let mut scan = Scan::open(execution, source, &ask.range, ask.direction, ask.wanted)?;
    let fill = Fill {
        request: 0,
        wanted: ask.wanted,
        may_pin: true,
        entries_max: match ask.count {
            0 => usize::MAX,
            count => usize::try_from(count).unwrap_or(usize::MAX),
        },
        bytes_max: usize::MAX,
    };
    let mut buffer = Buffer::default();
    scan.fill(execution, source, fill, false, &mut buffer)?;
    Ok(Records::new(buffer))
}
