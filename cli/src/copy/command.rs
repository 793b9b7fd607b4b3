//! `larder copy`: copies each store that is found and says what was copied.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, OpenOptions, Store, StorePaths};
use larder_codec::{JsString, Origin};
use larder_leveldb::OnDamage;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};

use super::{
    Copied, CopyOptions, Format, KeySpan, Merged, OnConflict, Part, copy_store, in_place, is_store,
    key_text, merge_store, replace_store, target,
};
use crate::args::{ConflictRule, CopyArgs, StoreFormat};
use crate::open_store::open_store;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::{StoreOrigin, shown};

/// A store that a program has open is tried so many times.
const ATTEMPTS: usize = 3;

/// So many problems of one store are named.
const PROBLEMS_NAMED_MAX: usize = 100;

/// The command.
pub(crate) struct Copy {
    from: PathBuf,
    /// None: the copy takes its store's place.
    to: Option<PathBuf>,
    options: CopyOptions,
    on_conflict: Option<OnConflict>,
    fs: Arc<dyn FileSystem>,
    output: Output,
}

impl Copy {
    /// The command; `from` is the path below which stores were found.
    ///
    /// # Errors
    /// In words, if an argument has no meaning.
    pub(crate) fn new(args: &CopyArgs, from: PathBuf, output: Output) -> Result<Self, String> {
        let origin = args.origin.as_deref().map(|text| {
            Origin::from_url(text.strip_suffix('/').unwrap_or(text))
                .map_err(|error| format!("--origin {text}: {error}"))
        });
        let names = |names: &[String]| names.iter().map(|name| JsString::from(&**name)).collect();
        let end = |option: &str, text: &Option<String>| {
            let parsed = text.as_deref().map(key_text::parse).transpose();
            parsed.map_err(|error| format!("{option}: {error}"))
        };
        let (lower, upper) = match &args.key {
            Some(_) => (end("--key", &args.key)?, end("--key", &args.key)?),
            None => (end("--lower", &args.lower)?, end("--upper", &args.upper)?),
        };
        Ok(Self {
            from,
            to: args.to.clone(),
            options: CopyOptions {
                part: Part {
                    databases: names(&args.database),
                    object_stores: names(&args.store),
                    keys: KeySpan { lower, upper },
                },
                origin: origin.transpose()?,
                format: match args.format {
                    StoreFormat::Leveldb => Format::LevelDb,
                    StoreFormat::Sqlite => Format::Sqlite,
                },
                accept: args.accept,
                dry_run: args.dry_run,
            },
            on_conflict: args.on_conflict.map(|rule| match rule {
                ConflictRule::Skip => OnConflict::Skip,
                ConflictRule::Replace => OnConflict::Replace,
                ConflictRule::KeepBoth => OnConflict::KeepBoth,
                ConflictRule::Fail => OnConflict::Fail,
            }),
            fs: Arc::new(DiskFileSystem::new()),
            output,
        })
    }

    fn copy(&self, scan: &mut Scan<'_>, to: &StorePaths) -> Result<Copied, Error> {
        let progress = &mut scan.progress;
        let mut tick = || progress.tick();
        let copy = |store: &Store, tick: &mut dyn FnMut()| {
            copy_store(store, Arc::clone(&self.fs), to, &self.options, tick)
        };
        let mut result = copy(scan.store, &mut tick);
        for _ in 1..ATTEMPTS {
            match &result {
                // A blob went between reading its row and reading its file.
                Err(error)
                    if error.kind() == ErrorKind::Conflict
                        && scan.store.lock_holder().is_some() => {}
                _ => break,
            }
            let options = OpenOptions {
                on_damage: OnDamage::Skip,
                ..OpenOptions::default()
            };
            let (fs, paths) = (Arc::clone(scan.store.fs()), scan.store.paths().clone());
            let again = open_store(&fs, paths, options)?;
            result = copy(&again, &mut tick);
        }
        result
    }

    /// Merges into a store that is there.
    fn merge(&mut self, scan: &mut Scan<'_>, to: &StorePaths, rule: OnConflict) -> io::Result<()> {
        let from = scan.store.paths().leveldb.clone();
        let progress = &mut scan.progress;
        let mut tick = || progress.tick();
        let merged = merge_store(scan.store, &self.fs, to, &self.options, rule, &mut tick);
        match merged {
            Ok(merged) => {
                named(scan, &from, "not merged", &merged.problems);
                self.say_merged(&from, to, &merged)
            }
            Err(error) => {
                scan.report.failed(to.leveldb.display(), &error);
                Ok(())
            }
        }
    }

    /// Puts the copy in the place of its store.
    fn in_place(&mut self, scan: &mut Scan<'_>, from: &StorePaths) -> io::Result<()> {
        if from.is_sqlite() == (self.options.format == Format::Sqlite) {
            let note = "the store has this form already";
            scan.report.note(from.leveldb.display(), note);
            return Ok(());
        }
        if in_place::is_kept(from) {
            let note = "kept by an earlier copy in place: passed over";
            scan.report.note(from.leveldb.display(), note);
            return Ok(());
        }
        let progress = &mut scan.progress;
        let mut tick = || progress.tick();
        match replace_store(&self.fs, from, &self.options, &mut tick) {
            Ok(replaced) => {
                say_losses(scan, &replaced.place, &replaced.copied);
                self.say(from, &replaced.place, &replaced.copied)?;
                match replaced.kept {
                    Some(kept) => {
                        let (from, kept) = (from.leveldb.display(), kept.display());
                        writeln!(self.output, "{from}: what was there is in {kept}")
                    }
                    None => Ok(()),
                }
            }
            Err(error) => {
                scan.report.failed(from.leveldb.display(), &error);
                Ok(())
            }
        }
    }

    fn say_merged(&mut self, from: &Path, to: &StorePaths, merged: &Merged) -> io::Result<()> {
        let (from, to) = (from.display(), to.leveldb.display());
        match self.options.dry_run {
            true => writeln!(self.output, "{from}: would be merged into {to}: {merged}"),
            false => writeln!(self.output, "{from}: merged into {to}: {merged}"),
        }
    }

    fn say(&mut self, from: &StorePaths, to: &StorePaths, copied: &Copied) -> io::Result<()> {
        let (from, to) = (from.leveldb.display(), to.leveldb.display());
        match self.options.dry_run {
            true => writeln!(self.output, "{from}: would be copied to {to}: {copied}"),
            false => writeln!(self.output, "{from}: copied to {to}: {copied}"),
        }
    }
}

/// Names what Chromium does otherwise with the copy.
fn say_losses(scan: &mut Scan<'_>, to: &StorePaths, copied: &Copied) {
    for loss in copied.losses.iter().take(PROBLEMS_NAMED_MAX) {
        scan.report.note(to.leveldb.display(), loss);
    }
}

/// Names what stayed behind.
fn named(scan: &mut Scan<'_>, from: &Path, what: &str, problems: &[String]) {
    for problem in problems.iter().take(PROBLEMS_NAMED_MAX) {
        scan.report
            .damage(from.display(), format!("{what}: {problem}"));
    }
    let more = problems.len().saturating_sub(PROBLEMS_NAMED_MAX);
    if more > 0 {
        scan.report
            .damage(from.display(), format!("{what}: {more} more"));
    }
}

impl PerStore for Copy {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, _origin: &StoreOrigin) -> Result<(), Stop> {
        let from = scan.store.paths().clone();
        let Some(to) = &self.to else {
            return Ok(self.in_place(scan, &from)?);
        };
        let leveldb = target::place(&self.from, &from, to, self.options.origin.as_ref());
        let (to, other) = match self.options.format {
            Format::LevelDb => (leveldb.clone(), StorePaths::of_sqlite(&leveldb.in_sqlite())),
            Format::Sqlite => (StorePaths::of_sqlite(&leveldb.in_sqlite()), leveldb),
        };
        if is_store(&*self.fs, &other) {
            let what = format!(
                "{} is a store of the other form at this place, and a browser would delete one of the two: choose another place, or move it away first",
                other.leveldb.display()
            );
            scan.report.failed(to.leveldb.display(), what);
            return Ok(());
        }
        let is_there = is_store(&*self.fs, &to);
        match self.on_conflict {
            Some(_) if is_there && to.is_sqlite() => {
                let what = "stores in SQLite files are not merged into: copy this one with --format leveldb, merge into the copy, and copy that back";
                scan.report.failed(to.leveldb.display(), what);
                return Ok(());
            }
            Some(rule) if is_there => return Ok(self.merge(scan, &to, rule)?),
            None if is_there => {
                let what = "there is a store already: choose another place, or merge into it with --on-conflict";
                scan.report.failed(to.leveldb.display(), what);
                return Ok(());
            }
            _ => {}
        }
        let copied = match self.copy(scan, &to) {
            Ok(copied) => copied,
            Err(error) => {
                scan.report.failed(from.leveldb.display(), &error);
                return Ok(());
            }
        };
        named(scan, &from.leveldb, "not copied", &copied.problems);
        say_losses(scan, &to, &copied);
        if let (None, Some(identifier)) = (&self.options.origin, to.identifier())
            && from.identifier().is_some_and(|own| own != identifier)
        {
            let note = format!(
                "the databases are still those of {}: --origin {} makes them the folder's, so that they are shown",
                from.identifier().map(shown).unwrap_or_default(),
                shown(identifier)
            );
            scan.report.note(to.leveldb.display(), note);
        }
        Ok(self.say(&from, &to, &copied)?)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
