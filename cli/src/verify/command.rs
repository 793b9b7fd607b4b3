//! `larder verify`: checks each store and reports.

use std::io::{self, Write};

use serde::Serialize;

use super::{Counts, Finding, Verdict, VerifyOptions, text, verify};
use crate::args::VerifyArgs;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;
use crate::style::Style;

/// The command.
pub(crate) struct Verify {
    options: VerifyOptions,
    json: bool,
    output: Output,
    style: Style,
}

/// One store as `--format json` prints it. Field names are part of the command's contract.
#[derive(Debug, Serialize)]
struct Report<'a> {
    origin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<&'a str>,
    path: String,
    full: bool,
    /// Whether nothing is wrong.
    clean: bool,
    faults: u64,
    notes: u64,
    counts: Counts,
    findings: &'a [Finding],
    /// So many findings of further kinds are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<u64>,
}

impl Verify {
    pub(crate) fn new(args: &VerifyArgs, names_all: bool, output: Output, color: bool) -> Self {
        Self {
            options: VerifyOptions {
                full: args.full,
                listed_max: match names_all {
                    true => u64::MAX,
                    false => VerifyOptions::default().listed_max,
                },
            },
            json: args.report.is_json(),
            output,
            style: Style::new(color),
        }
    }

    fn write(&mut self, verdict: &Verdict, origin: &StoreOrigin, path: &str) -> io::Result<()> {
        if !self.json {
            return text::write(&mut self.output, self.style, origin, path, verdict);
        }
        let findings = &verdict.findings;
        let report = Report {
            origin: &origin.shown,
            bucket: origin.bucket.as_deref(),
            path: path.to_owned(),
            full: self.options.full,
            clean: verdict.is_clean(),
            faults: findings.faults(),
            notes: findings.notes(),
            counts: verdict.counts,
            findings: findings.list(),
            unlisted: Some(findings.unlisted()).filter(|count| *count > 0),
        };
        serde_json::to_writer(&mut self.output, &report)?;
        writeln!(self.output)
    }
}

impl PerStore for Verify {
    fn problems(&self) -> Problems {
        Problems::AreTheOutput
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        let progress = &mut scan.progress;
        let verdict = verify(scan.store, self.options, &mut || {
            progress.tick();
            Ok(())
        })?;
        if !verdict.is_clean() {
            scan.report.damage_is_said();
        }
        let path = scan.store.paths().leveldb.display().to_string();
        Ok(self.write(&verdict, origin, &path)?)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
