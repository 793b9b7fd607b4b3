//! Counting (7.8, "count the records in a range"): no value is read.

use super::Source;
use super::scan::{Scan, Wanted};
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::operation::Execution;

/// Steps between two checks whether the transaction has been aborted.
const STEPS: u64 = 1024;

/// How many records or index entries there are in the range.
pub(crate) fn count(execution: &mut Execution, source: &Source, range: &KeyRange) -> Result<u64> {
    let mut scan = Scan::forward(execution, source, range, Wanted::Keys)?;
    let mut count: u64 = 0;
    loop {
        let passed = scan.pass(&mut execution.backing, STEPS)?;
        count += passed;
        if passed < STEPS {
            return Ok(count);
        }
        execution.check_cancelled()?;
    }
}
