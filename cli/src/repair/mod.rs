//! Repairs a damaged store: what is certain becomes a store anew, what is in doubt goes beside it with its reason.
//!
//! A record is certain if the LevelDB rows that make it up are (`evidence`), if they are all there and agree, if its database and object
//! store are known, if its value decodes and its blobs have their files (`survey`). The rows are looked at as a store of their own
//! (`stage`), so that what other commands say of a store is said of them, too.
//!
//! The damaged store is only read. What is made appears whole, or not at all (`place`).

mod blob_files;
mod command;
mod damaged;
mod evidence;
mod place;
mod rows;
mod salvaged;
mod stage;
mod survey;
mod undo_log;

pub(crate) use command::run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{
    Error, ErrorKind, NewStore, RowNames, RowSequence, Store, StoreOrder, StorePaths, files,
};
use larder_leveldb::storage::FileSystem;
use serde::Serialize;

use crate::copy::{Copied, copy_blobs};
use crate::in_use::require_unused;
use damaged::Damaged;
use evidence::Evidence;
use place::REPAIRED;
use rows::RepairedRows;
use stage::{Which, stage};
use survey::{Survey, survey};

/// The folder for what is in doubt.
pub const SALVAGED: &str = "salvaged";
/// The report for programs.
pub const REPORT: &str = "report.json";
/// Chromium's note of damage.
const CORRUPTION_INFO: &str = "corruption_info.json";
/// A longer one Chromium does not read either.
const CORRUPTION_INFO_MAX: usize = 4096;

/// Where the repaired store goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Into this folder, which is made: the store under its name, `salvaged` and the report.
    Folder(PathBuf),
    /// In place of the damaged one, which is set aside first, in a folder beside it.
    InPlace,
    /// Nowhere: it is only said what would be.
    DryRun,
}

/// How to repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOptions {
    /// Where to.
    pub destination: Destination,
    /// Records that may be outdated or deleted are put into the store, too.
    pub with_doubtful: bool,
}

/// Why a record is not among the certain ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    MayBeOutdated,
    Later,
    NotListed,
    NotCommitted,
    Damaged,
    NoMetadata,
    Incomplete,
    Undecodable,
    BlobLost,
    Lost,
}

impl Reason {
    const fn name(self) -> &'static str {
        match self {
            Self::MayBeOutdated => "may-be-outdated",
            Self::Later => "later",
            Self::NotListed => "not-listed",
            Self::NotCommitted => "not-committed",
            Self::Damaged => "damaged",
            Self::NoMetadata => "no-metadata",
            Self::Incomplete => "incomplete",
            Self::Undecodable => "undecodable",
            Self::BlobLost => "blob-lost",
            Self::Lost => "lost",
        }
    }
}

/// A moment in the life of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AsOf {
    /// The sequence number of the last write that counts.
    pub sequence: u64,
    /// What is lost behind it.
    pub why: String,
}

/// What was found and done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairReport {
    /// The damaged store.
    pub source: String,
    /// The LevelDB folder of the repaired store; none if no store is made, or nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repaired: Option<String>,
    /// The folder with what is in doubt, if there is anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salvaged: Option<String>,
    /// The folder with what was in the store's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
    /// Why no record is certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing_certain: Option<String>,
    /// The moment of which the repaired store is, if what came after it is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<AsOf>,
    /// What Chromium has said about the damage for which it has discarded the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chromium_said: Option<String>,
    /// Databases in the repaired store.
    pub databases: u64,
    /// Records in it.
    pub records: u64,
    /// Blobs in it.
    pub blobs: u64,
    /// Bytes of those blobs.
    pub blob_bytes: u64,
    /// How many of those blobs have a length that the store does not say: one that was cut is not noticed.
    pub unmeasured_blobs: u64,
    /// Index entries that were lost and made anew from values.
    pub index_entries_made: u64,
    /// Records in doubt.
    pub doubtful: u64,
    /// How many of them for which reason.
    pub doubtful_by_reason: BTreeMap<&'static str, u64>,
    /// Records that are known to be lost.
    pub lost: u64,
    /// Whether there is a repaired store, or would be: none is made that would be empty and hide that something is lost.
    pub makes_store: bool,
    /// Blob files that no record of the repaired store refers to.
    pub loose_blobs: u64,
    /// Bytes of those files.
    pub loose_blob_bytes: u64,
    /// What is damaged.
    pub damage: Vec<String>,
    /// Logs, and the MANIFEST, that end within a record.
    pub torn: Vec<String>,
    /// Metadata that is lost, and files that could not be read.
    pub problems: Vec<String>,
}

impl RepairReport {
    /// Whether there are records that [`RepairOptions::with_doubtful`] puts into the store.
    pub(crate) fn may_help(&self) -> bool {
        let reasons = [Reason::MayBeOutdated, Reason::Later, Reason::NotListed];
        let mut names = reasons.iter().map(|reason| reason.name());
        names.any(|name| self.doubtful_by_reason.contains_key(name))
    }

    /// Whether everything of the store is certain and in the repaired one.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.doubtful + self.lost == 0
            && self.damage.is_empty()
            && self.torn.is_empty()
            && self.problems.is_empty()
            && self.chromium_said.is_none()
    }
}

/// Repairs a store. `tick` is called for each row.
///
/// # Errors
/// `NotAStore` if there is nothing left of one, no blobs either; `Conflict` if it is open elsewhere; `Usage` if something is at the
/// destination, if the LevelDB is none of `IndexedDB`, or if nothing is certain that could be put in place; `Io`. Nothing is at the
/// destination then, and the store is as it was.
pub fn repair_store(
    fs: &Arc<dyn FileSystem>,
    paths: &StorePaths,
    options: &RepairOptions,
    tick: &mut dyn FnMut(),
) -> Result<RepairReport, Error> {
    let in_place = options.destination == Destination::InPlace;
    let target = match &options.destination {
        Destination::Folder(dir) => Some(dir.clone()),
        Destination::InPlace => Some(place::aside(&**fs, paths)?),
        Destination::DryRun => None,
    };
    if !files::exists(&**fs, &paths.leveldb)? && !files::exists(&**fs, &paths.blob)? {
        let what = format!("{}: there is no such folder", paths.leveldb.display());
        return Err(Error::new(ErrorKind::NotAStore, what));
    }
    let held = require_unused(&**fs, paths, in_place)?;
    let evidence = Evidence::gather(fs, paths, tick)?;
    let order = evidence.as_ref().map(|evidence| evidence.order);
    if let (true, Some(note)) = (in_place, order.and_then(StoreOrder::note)) {
        let what = format!(
            "{note}. Repaired in place, its own browser would not find them: give --to a folder, in which they are in Chromium's order"
        );
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    if evidence.is_none() && !files::exists(&**fs, &paths.blob)? {
        let what = format!(
            "{}: nothing is left of a store here, no blobs either: check the path",
            paths.leveldb.display()
        );
        return Err(Error::new(ErrorKind::NotAStore, what));
    }
    let mut report = RepairReport {
        source: paths.leveldb.display().to_string(),
        chromium_said: corruption_info(&**fs, &paths.leveldb),
        ..RepairReport::default()
    };
    let Some(target) = target else {
        let staging = tempfile::tempdir();
        let failed =
            |error| larder_leveldb::Error::io("the temporary folder", "cannot be made", error);
        let staging = staging.map_err(failed)?;
        let parts = Parts::read(fs, staging.path(), paths, evidence.as_ref(), options, tick)?;
        parts.fill(fs, paths, None, &mut report, tick)?;
        return Ok(report);
    };
    let unfinished = place::begin(fs, &target)?;
    let staging = unfinished.path().join("staged");
    files::make_dir(&**fs, &staging)?;
    let parts = Parts::read(fs, &staging, paths, evidence.as_ref(), options, tick)?;
    let store_dir = match in_place {
        false => unfinished.path().to_owned(),
        true => {
            let dir = unfinished.path().join(REPAIRED);
            files::make_dir(&**fs, &dir)?;
            dir
        }
    };
    parts.fill(
        fs,
        paths,
        Some((unfinished.path(), &store_dir)),
        &mut report,
        tick,
    )?;
    drop(parts);
    files::remove_tree(&**fs, &staging)?;
    let is_empty = report.records == 0 && report.doubtful + report.lost > 0;
    if in_place && (is_empty || !report.makes_store) {
        return Err(nothing_for_its_place(paths, &report));
    }
    let name = paths.leveldb.file_name().unwrap_or_default();
    report.repaired = report.makes_store.then(|| match in_place {
        true => report.source.clone(),
        false => target.join(name).display().to_string(),
    });
    let salvaged = target.join(SALVAGED).display().to_string();
    report.salvaged = report.salvaged.map(|_| salvaged);
    report.set_aside = in_place.then(|| target.display().to_string());
    write_report(&**fs, &unfinished.path().join(REPORT), &report)?;
    unfinished.finish()?;
    if in_place {
        place::exchange(&**fs, paths, &target)?;
    }
    drop(held);
    Ok(report)
}

/// An empty store in the place of a damaged one would look as if nothing had been lost.
fn nothing_for_its_place(paths: &StorePaths, report: &RepairReport) -> Error {
    let what = format!(
        "{}: no record is certain, and a store without any would take its place: it is as it was. {} records and {} blob files can be read that are \
         not certain: give --to a folder, which gets them{}",
        paths.leveldb.display(),
        report.doubtful,
        report.loose_blobs,
        match report.may_help() {
            true =>
                ", or --with-doubtful, by which records that may be outdated or deleted are put into the store",
            false => "",
        }
    );
    Error::new(ErrorKind::Usage, what)
}

/// What the damaged store comes to.
struct Parts<'a> {
    evidence: Option<&'a Evidence>,
    certain: Store,
    /// With the rows in doubt, if there are any.
    all: Option<Store>,
    /// With what unfinished transactions have written, if there are any of which the end may be lost.
    not_undone: Option<Store>,
    /// As before, at the last write before something that is lost.
    not_undone_before: Option<Store>,
    /// With rows out of damaged places, if there are any.
    with_damaged: Option<Store>,
    damaged: Damaged,
    survey: Survey,
    /// Records in doubt are in the store, too.
    is_all: bool,
}

impl<'a> Parts<'a> {
    fn read(
        fs: &Arc<dyn FileSystem>,
        staging: &Path,
        paths: &StorePaths,
        evidence: Option<&'a Evidence>,
        options: &RepairOptions,
        tick: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let is_whole = evidence.is_none_or(Evidence::is_all_certain);
        let is_all = is_whole || options.with_doubtful;
        let mut staged = |name: &str, which: Which<'_>| {
            stage(fs, &staging.join(name), paths, evidence, which, tick)
        };
        let (certain, all) = match is_all {
            true => (staged("certain", Which::All)?, None),
            false => (
                staged("certain", Which::Certain)?,
                Some(staged("all", Which::All)?),
            ),
        };
        let unfinished = &all.as_ref().unwrap_or(&certain).recovery().undone;
        let may_lack_commits = evidence.is_some_and(Evidence::may_lack_commits);
        let not_undone = match may_lack_commits && !unfinished.is_empty() {
            false => None,
            true => Some(staged("not-undone", Which::NotUndone)?),
        };
        let before = match (may_lack_commits, evidence) {
            (true, Some(evidence)) => evidence.unfinished_before_loss(&mut *tick)?,
            _ => None,
        };
        let mut staged = |name: &str, which: Which<'_>| {
            stage(fs, &staging.join(name), paths, evidence, which, tick)
        };
        let not_undone_before = match before {
            Some(at) => Some(staged("not-undone-before", Which::NotUndoneAsOf(at))?),
            None => None,
        };
        let mut damaged = Damaged::gather(evidence)?;
        let with_damaged = match damaged.is_empty() {
            true => None,
            false => Some(match staged("with-damaged", Which::WithDamaged(&damaged)) {
                // What is damaged says of the store what cannot be.
                Err(error) if error.kind() != ErrorKind::Io => {
                    damaged.keep_records();
                    staged("with-damaged-records", Which::WithDamaged(&damaged))?
                }
                staged => staged?,
            }),
        };
        let is_damaged = evidence.is_some_and(|evidence| !evidence.salvage.damage().is_empty());
        let survey = survey(&certain, is_damaged || !is_whole, tick)?;
        Ok(Self {
            evidence,
            certain,
            all,
            not_undone,
            not_undone_before,
            with_damaged,
            damaged,
            survey,
            is_all,
        })
    }

    fn all(&self) -> &Store {
        self.all.as_ref().unwrap_or(&self.certain)
    }

    /// Writes the store and what is in doubt, and says how much it is. `to`: the folder of the repair, and that of the store.
    fn fill(
        &self,
        fs: &Arc<dyn FileSystem>,
        paths: &StorePaths,
        to: Option<(&Path, &Path)>,
        report: &mut RepairReport,
        tick: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        self.describe(report);
        let salvaged = to.map(|(dir, _)| dir.join(SALVAGED));
        if let Some(dir) = &salvaged {
            files::make_dir(&**fs, dir)?;
        }
        let walk = salvaged::Walk {
            all: self.all(),
            not_undone: self.not_undone.as_ref(),
            not_undone_before: self.not_undone_before.as_ref(),
            with_damaged: self.with_damaged.as_ref(),
            damaged: &self.damaged,
            certain: &self.certain,
            survey: &self.survey,
            evidence: self.evidence,
        };
        let found = walk.write(&**fs, salvaged.as_deref(), tick)?;
        report.doubtful = found.by_reason.values().sum();
        report.doubtful_by_reason = found.by_reason;
        report.lost = found.lost;
        let blobs = salvaged.as_ref().map(|dir| dir.join("blobs"));
        let kept = &self.survey.blobs;
        let problems = &mut report.problems;
        let (count, len_bytes) =
            blob_files::copy_others(&**fs, paths, kept, blobs.as_deref(), problems)?;
        (report.loose_blobs, report.loose_blob_bytes) = (count, len_bytes);
        if let Some(dir) = &salvaged {
            match report.doubtful + report.lost + count {
                0 => files::remove_tree(&**fs, dir)?,
                _ => report.salvaged = Some(dir.display().to_string()),
            }
        }
        report.makes_store = self.evidence.is_some() && (report.databases > 0 || report.is_whole());
        if let (Some((_, dir)), true) = (to, report.makes_store) {
            let name = paths.leveldb.file_name().unwrap_or_default();
            self.write_store(fs, &dir.join(name), report, tick)?;
        }
        Ok(())
    }

    fn describe(&self, report: &mut RepairReport) {
        let survey = &self.survey;
        report.databases = survey.databases.len() as u64;
        report.records = survey.records;
        report.blobs = survey.blobs.len() as u64;
        report.blob_bytes = survey.blob_bytes;
        report.unmeasured_blobs = survey.unmeasured_blobs;
        report.index_entries_made = survey.index_rows.len() as u64;
        report.problems.extend(survey.problems.iter().cloned());
        report.problems.extend(self.damaged.left_out());
        let Some(evidence) = self.evidence else {
            let what = "nothing is left of the LevelDB, which had all records";
            report.problems.push(what.to_owned());
            return;
        };
        let names = RowNames::of(self.all());
        let damage = evidence.salvage.damage();
        report.damage = damage.iter().map(|damage| names.damage(damage)).collect();
        let torn = evidence.salvage.torn_tails();
        report.torn = torn.iter().map(ToString::to_string).collect();
        report.nothing_certain = evidence.whole.clone();
        if let Some(sequence) = evidence.as_of {
            let why = evidence.why_as_of();
            match self.is_all {
                false => report.as_of = Some(AsOf { sequence, why }),
                true => report.nothing_certain = Some(why),
            }
        }
    }

    fn write_store(
        &self,
        fs: &Arc<dyn FileSystem>,
        leveldb: &Path,
        report: &mut RepairReport,
        tick: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let new = NewStore::begin(Arc::clone(fs), StorePaths::of_leveldb(leveldb))?;
        let is_whole = self.evidence.is_none_or(Evidence::is_all_certain);
        let (store, all) = (&self.certain, self.all());
        let mut rows = RepairedRows::new(store, all, &self.survey, is_whole, tick)?;
        new.write_rows(RowSequence::Sorted, |key, value| rows.next(key, value))?;
        let mut copied = Copied::default();
        copy_blobs(store, &new, &self.survey.blobs, &mut copied)?;
        report.problems.extend(copied.problems);
        new.finish()
    }
}

/// What Chromium has written down about damage, if it has.
fn corruption_info(fs: &dyn FileSystem, leveldb: &Path) -> Option<String> {
    let file = fs.open_random(&leveldb.join(CORRUPTION_INFO)).ok()?;
    let mut bytes = vec![0; CORRUPTION_INFO_MAX];
    let len = file.read_at(0, &mut bytes).ok()?;
    let text = String::from_utf8_lossy(bytes.get(..len)?).into_owned();
    let document: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let message = document.and_then(|document| Some(document.get("message")?.as_str()?.to_owned()));
    Some(message.unwrap_or(text))
}

fn write_report(fs: &dyn FileSystem, path: &Path, report: &RepairReport) -> Result<(), Error> {
    let failed = |error| salvaged::io_error(path, error);
    let mut file = fs.create(path).map_err(failed)?;
    // Into memory, and of types that have a form.
    let mut text = serde_json::to_vec_pretty(report).unwrap_or_default();
    text.push(b'\n');
    file.append(&text).map_err(failed)?;
    file.sync().map_err(failed)
}
