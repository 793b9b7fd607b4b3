//! A verdict for eyes.

use std::io::{self, Write};

use super::{Severity, Verdict};
use crate::display::{Counted, Size};
use crate::store_origin::StoreOrigin;
use crate::style::Style;

/// Writes what was found, and how much was looked at.
pub(super) fn write(
    out: &mut dyn Write,
    style: Style,
    origin: &StoreOrigin,
    path: &str,
    verdict: &Verdict,
) -> io::Result<()> {
    writeln!(out, "{}", style.heading(origin.heading()))?;
    writeln!(out, "  {}", style.faint(path))?;
    let findings = &verdict.findings;
    for finding in findings.list() {
        let severity = match finding.severity {
            Severity::Fault => "wrong",
            Severity::Note => "note",
        };
        write!(out, "  {severity:<5}  {:<8}  ", finding.check.name())?;
        if !finding.place.is_empty() {
            write!(out, "{}: ", style.key(&finding.place))?;
        }
        writeln!(out, "{}", finding.problem)?;
        if finding.more > 0 {
            let more = finding.more;
            writeln!(
                out,
                "                   and {more} more of this kind (--verbose lists all)"
            )?;
        }
    }
    if findings.unlisted() > 0 {
        let more = findings.unlisted();
        writeln!(out, "  and {more} findings of further kinds")?;
    }
    let counts = &verdict.counts;
    write!(
        out,
        "  {}: {}, {}, {}, {}",
        match verdict.is_clean() {
            true => "nothing is wrong".to_owned(),
            false => match findings.faults() {
                1 => "1 thing is wrong".to_owned(),
                faults => format!("{faults} things are wrong"),
            },
        },
        Counted(counts.databases, "database"),
        Counted(counts.object_stores, "object store"),
        Counted(counts.records, "record"),
        Counted(counts.index_rows, "index row"),
    )?;
    if counts.stale_index_rows > 0 {
        write!(out, " ({} of them stale)", counts.stale_index_rows)?;
    }
    if counts.blobs > 0 {
        let size = Size(counts.blob_bytes);
        write!(out, ", {} ({size})", Counted(counts.blobs, "blob"))?;
    }
    writeln!(out)
}
