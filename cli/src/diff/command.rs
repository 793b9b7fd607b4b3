//! `larder diff`: compares each store of A with the one of B that lies at its place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{ErrorKind, OpenOptions, Store, StorePaths};
use larder_codec::JsString;
use larder_leveldb::OnDamage;
use larder_leveldb::storage::FileSystem;
use serde::Serialize;
use serde_json::Value;

use super::{Change, Compared, DiffOptions, Difference, PropertyChange, diff_stores, text};
use crate::args::DiffArgs;
use crate::canonical::write_key;
use crate::open_store::open_store;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;
use crate::style::Style;

/// So many problems of one store are named.
const PROBLEMS_NAMED_MAX: usize = 100;

/// The stores of B.
pub(crate) struct Others {
    /// Where they were found.
    pub(crate) root: PathBuf,
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) stores: Vec<StorePaths>,
}

/// The command.
pub(crate) struct Diff {
    root: PathBuf,
    /// Whether A is one store: then its partner is the only one of B, wherever that lies.
    is_one: bool,
    /// Whether stores of B without a partner are named.
    names_lone: bool,
    others: Others,
    taken: Vec<PathBuf>,
    options: DiffOptions,
    json: bool,
    output: Output,
    style: Style,
}

/// A difference as `--format json` prints it. Field names are part of the command's contract.
#[derive(Debug, Serialize)]
struct Listing<'a> {
    change: Change,
    /// `store`, `database`, `object store`, `index` or `record`.
    what: &'static str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<&'a JsString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_store: Option<&'a JsString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<&'a JsString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    properties: &'a [PropertyChange],
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
}

impl Diff {
    /// The command. `root` is the path below which the stores of A were found, `stores` how many they are.
    pub(crate) fn new(
        args: &DiffArgs,
        root: PathBuf,
        stores: usize,
        others: Others,
        output: Output,
        color: bool,
    ) -> Self {
        let name = |name: &Option<String>| name.as_deref().map(JsString::from);
        Self {
            root,
            is_one: stores == 1 && others.stores.len() == 1,
            names_lone: args.stores.origin.is_none() && args.stores.bucket.is_none(),
            others,
            taken: Vec::new(),
            options: DiffOptions {
                database: name(&args.content.database),
                with_database: name(&args.with_database),
                object_store: name(&args.content.store),
            },
            json: args.report.is_json(),
            output,
            style: Style::new(color),
        }
    }

    /// The partner of a store of A.
    fn partner(&self, store: &StorePaths) -> Option<StorePaths> {
        if self.is_one {
            return self.others.stores.first().cloned();
        }
        let place = |root: &Path, paths: &StorePaths| {
            let below = paths.leveldb.strip_prefix(root).ok();
            let below = below.filter(|below| *below != Path::new(""));
            let name = || paths.leveldb.file_name().map(PathBuf::from);
            below.map(PathBuf::from).or_else(name)
        };
        let wanted = place(&self.root, store);
        let is_it = |other: &&StorePaths| place(&self.others.root, other) == wanted;
        self.others.stores.iter().find(is_it).cloned()
    }

    fn lone(&mut self, change: Change, path: &Path) -> io::Result<()> {
        let path = path.display().to_string();
        match self.json {
            true => {
                let listing = Listing {
                    change,
                    what: "store",
                    path: &path,
                    database: None,
                    object_store: None,
                    index: None,
                    key: None,
                    records: None,
                    properties: &[],
                    more: None,
                };
                serde_json::to_writer(&mut self.output, &listing)?;
                writeln!(self.output)
            }
            false => {
                let mark = if change == Change::Added { '+' } else { '-' };
                writeln!(self.output, "{mark} {path}")
            }
        }
    }

    fn compare(&mut self, scan: &mut Scan<'_>, other: &Store) -> Result<Compared, Stop> {
        let (output, style, json) = (&mut self.output, self.style, self.json);
        let path = scan.store.paths().leveldb.display().to_string();
        let heads = [scan.store, other].map(|store| store.paths().leveldb.display().to_string());
        let mut has_head = json;
        let mut sink = |difference: &Difference<'_>| {
            if !has_head {
                let [one, other] = &heads;
                writeln!(output, "{}", style.faint(format_args!("--- {one}")))?;
                writeln!(output, "{}", style.faint(format_args!("+++ {other}")))?;
                has_head = true;
            }
            match json {
                true => write_json(output, &path, difference),
                false => text::write(output, style, difference),
            }
        };
        let progress = &mut scan.progress;
        let mut tick = || progress.tick();
        diff_stores(scan.store, other, &self.options, &mut sink, &mut tick)
    }
}

fn write_json(out: &mut Output, path: &str, difference: &Difference<'_>) -> io::Result<()> {
    let key = |key| {
        let mut text = Vec::new();
        write_key(&mut text, key);
        serde_json::from_slice(&text)
    };
    let listing = Listing {
        change: difference.change,
        what: match (difference.object_store, difference.index, difference.key) {
            (_, _, Some(_)) => "record",
            (_, Some(_), None) => "index",
            (Some(_), None, None) => "object store",
            (None, None, None) => "database",
        },
        path,
        database: Some(difference.database),
        object_store: difference.object_store,
        index: difference.index,
        key: difference.key.map(key).transpose()?,
        records: difference.records,
        properties: &difference.properties,
        more: Some(difference.more).filter(|more| *more > 0),
    };
    serde_json::to_writer(&mut *out, &listing)?;
    writeln!(out)
}

impl PerStore for Diff {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, _origin: &StoreOrigin) -> Result<(), Stop> {
        let one = scan.store.paths().clone();
        let Some(other) = self.partner(&one) else {
            scan.report.damage_is_said();
            return Ok(self.lone(Change::Removed, &one.leveldb)?);
        };
        self.taken.push(other.leveldb.clone());
        let options = OpenOptions {
            on_damage: OnDamage::Skip,
            ..OpenOptions::default()
        };
        let place = other.leveldb.display().to_string();
        let other = match open_store(&self.others.fs, other, options) {
            Ok(other) => other,
            Err(error) => {
                scan.report.unreadable(place, &error);
                return Ok(());
            }
        };
        let compared = match self.compare(scan, &other) {
            Err(Stop::Store(error)) if error.kind() == ErrorKind::Usage => {
                scan.report.failed(one.leveldb.display(), &error);
                return Ok(());
            }
            compared => compared?,
        };
        if compared.differences > 0 {
            scan.report.damage_is_said();
        }
        let places = [one.leveldb.display().to_string(), place];
        for (is_other, problem) in compared.problems.iter().take(PROBLEMS_NAMED_MAX) {
            let [of_one, of_other] = &places;
            let place = if *is_other { of_other } else { of_one };
            scan.report.damage(place, problem);
        }
        let more = compared.problems.len().saturating_sub(PROBLEMS_NAMED_MAX);
        if more > 0 {
            let what = format!("{more} more rows, values and blobs");
            scan.report.damage(one.leveldb.display(), what);
        }
        for damage in other.damage() {
            scan.report.damage(&places[1], damage);
        }
        Ok(())
    }

    fn last(&mut self, report: &mut crate::report::Report) -> io::Result<()> {
        let is_lone = |store: &&StorePaths| !self.taken.contains(&store.leveldb);
        let lone: Vec<PathBuf> = match self.names_lone {
            true => {
                let lone = self.others.stores.iter().filter(is_lone);
                lone.map(|store| store.leveldb.clone()).collect()
            }
            false => Vec::new(),
        };
        for path in lone {
            report.damage_is_said();
            self.lone(Change::Added, &path)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
