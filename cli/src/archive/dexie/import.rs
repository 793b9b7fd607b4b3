//! From a file of dexie-export-import to a store.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::StorePaths;
use larder_codec::{JsString, KeyPath, Origin};
use larder_leveldb::storage::FileSystem;

use super::super::error::ArchiveError;
use super::super::import::{ImportOptions, Imported};
use super::super::json::Wrong;
use super::super::line::{Database, ObjectStore, StoreHead};
use super::super::new_store::{NewRecord, StoreWriter};
use super::from_typeson::{inbound, outbound};
use super::json_text::{Node, parse, units};
use super::schema;
use super::stream::Stream;
use crate::display::Quoted;

/// The version of the form that is read.
const FORMAT_VERSION: f64 = 1.0;

/// Makes a store of a file: one database, at the origin that the caller or the store's folder names.
pub(in super::super) fn import(
    (path, input): (&Path, Box<dyn BufRead>),
    target: &Arc<dyn FileSystem>,
    to: &Path,
    options: &ImportOptions,
    tick: &mut dyn FnMut(),
) -> Result<Imported, ArchiveError> {
    let of_folder = || {
        let is_named = StorePaths::is_leveldb_name(to);
        let paths = is_named.then(|| StorePaths::of_leveldb(to))?;
        Origin::from_identifier(paths.identifier()?)
    };
    let origin = options.origin.clone().or_else(of_folder);
    let origin = origin.ok_or_else(|| {
        let what = "a file of dexie-export-import does not say which origin its data is of: give one with --origin, like https://example.com";
        ArchiveError::new(path, what)
    })?;
    let folder = StorePaths::of_leveldb(Path::new(&origin.leveldb_folder_name()));
    let paths = crate::copy::place(Path::new(""), &folder, to, Some(&origin));
    let mut imported = Imported::default();
    imported.counts.stores = 1;
    imported.stores.push(paths.clone());
    let place = (!options.dry_run).then(|| (Arc::clone(target), paths, origin));
    let mut import = Import {
        stream: Stream::new(path, input)?,
        place,
        store: None,
        imported,
        tick,
    };
    import.file()?;
    if let Some(mut store) = import.store.take() {
        let done = store.close().and_then(|()| store.finish());
        done.map_err(|what| ArchiveError::new(to, what))?;
    }
    Ok(import.imported)
}

/// Reads a file, as far as that can be done without a store: how many rows it has.
pub(in super::super) fn check(path: &Path, input: Box<dyn BufRead>) -> Result<u64, ArchiveError> {
    let mut import = Import {
        stream: Stream::new(path, input)?,
        place: None,
        store: None,
        imported: Imported::default(),
        tick: &mut || {},
    };
    import.file()?;
    Ok(import.imported.counts.records)
}

struct Import<'t> {
    stream: Stream,
    /// Where the store is made, until it is begun; none of a dry run.
    place: Option<(Arc<dyn FileSystem>, StorePaths, Origin)>,
    store: Option<StoreWriter>,
    imported: Imported,
    tick: &'t mut dyn FnMut(),
}

/// What comes before the rows.
#[derive(Default)]
struct Head {
    name: Option<JsString>,
    version: Option<i64>,
    tables: Option<Vec<ObjectStore>>,
}

impl Import<'_> {
    fn wrong<T>(&self, done: Result<T, Wrong>) -> Result<T, ArchiveError> {
        done.map_err(|what| self.stream.error(what))
    }

    /// Calls `member` for each member of the object that comes next, with its name.
    fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &str) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        self.stream.expect(b'{')?;
        let (mut is_first, mut name) = (true, Vec::new());
        while self.stream.next(b'}', &mut is_first)? {
            self.stream.name(&mut name)?;
            let name = self.wrong(parse(&name))?;
            // A name with a lone surrogate is none that is asked for.
            member(self, name.text().unwrap_or_default())?;
        }
        Ok(())
    }

    /// The next value.
    fn value(&mut self) -> Result<Node, ArchiveError> {
        let mut text = Vec::new();
        self.stream.value(&mut text)?;
        self.wrong(parse(&text))
    }

    fn file(&mut self) -> Result<(), ArchiveError> {
        let mut has_data = false;
        self.members(|import, name| {
            match name {
                "formatVersion" => {
                    let value = import.value()?;
                    let version = import.wrong(value.number())?;
                    if version > FORMAT_VERSION {
                        let what = format!("the file has format {version}, and this larder reads format 1: a newer one is needed");
                        return Err(import.stream.error(what));
                    }
                }
                "data" if has_data => return Err(import.stream.error("the file has two members data")),
                "data" => has_data = import.data()?,
                _ => drop(import.value()?),
            }
            Ok(())
        })?;
        if !has_data {
            let what = "the file has no member data with one data in it: it has no rows";
            return Err(self.stream.error(what));
        }
        match self.stream.peek()? {
            None => Ok(()),
            Some(_) => Err(self.stream.error("there is more behind the end")),
        }
    }

    /// The database: whether there were rows, if only none.
    fn data(&mut self) -> Result<bool, ArchiveError> {
        let (mut head, mut has_rows) = (Head::default(), false);
        self.members(|import, name| {
            match name {
                "databaseName" => {
                    let name = import.value()?;
                    head.name = Some(import.wrong(js_string(&name))?);
                }
                "databaseVersion" => {
                    let version = import.value()?;
                    head.version = Some(import.wrong(database_version(&version))?);
                }
                "tables" => {
                    let tables = import.value()?;
                    head.tables = Some(import.wrong(object_stores(&tables))?);
                }
                "data" if has_rows => {
                    return Err(import.stream.error("the database has two members data"));
                }
                "data" => {
                    let tables = import.begin(std::mem::take(&mut head))?;
                    import.tables(tables)?;
                    has_rows = true;
                }
                _ => drop(import.value()?),
            }
            Ok(())
        })?;
        Ok(has_rows)
    }

    /// Makes the database: its object stores.
    fn begin(&mut self, head: Head) -> Result<Database, ArchiveError> {
        let (Some(name), Some(version), Some(object_stores)) =
            (head.name, head.version, head.tables)
        else {
            let what = "the rows come before the members databaseName, databaseVersion and tables: put these first, as dexie-export-import does";
            return Err(self.stream.error(what));
        };
        let database = Database {
            name,
            version,
            object_stores,
        };
        self.wrong(database.check())?;
        self.imported.counts.databases = 1;
        self.imported.counts.object_stores = database.object_stores.len() as u64;
        if let Some((target, paths, origin)) = self.place.take() {
            let head = StoreHead {
                origin: String::new(),
                identifier: None,
                folder: Vec::new(),
                schema: None,
                version: None,
            };
            let store = StoreWriter::begin(target, paths, origin, &head, None);
            let mut store = self.wrong(store)?;
            let made = store.database(database.clone());
            self.wrong(made)?;
            self.store = Some(store);
        }
        Ok(database)
    }

    fn tables(&mut self, database: Database) -> Result<(), ArchiveError> {
        self.stream.expect(b'[')?;
        let mut left = database.object_stores;
        let mut is_first = true;
        while self.stream.next(b']', &mut is_first)? {
            let (mut table, mut is_inbound) = (None, None);
            let database = &database.name;
            self.members(|import, name| {
                match name {
                    "tableName" => {
                        let name = import.value()?;
                        let name = import.wrong(js_string(&name))?;
                        let found = left.iter().position(|store| store.parameters.name == name);
                        let found = found.map(|at| left.swap_remove(at)).ok_or_else(|| {
                            format!("table {} is not in the list of tables, or comes twice", Quoted(&name))
                        });
                        table = Some(import.wrong(found)?);
                    }
                    "inbound" => is_inbound = Some(import.value()? == Node::Bool(true)),
                    "rows" => {
                        let (Some(table), Some(is_inbound)) = (&table, is_inbound) else {
                            let what = "rows come before the members tableName and inbound: put these first, as dexie-export-import does";
                            return Err(import.stream.error(what));
                        };
                        import.rows(database, table, is_inbound)?;
                    }
                    _ => drop(import.value()?),
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn rows(
        &mut self,
        database: &JsString,
        table: &ObjectStore,
        is_inbound: bool,
    ) -> Result<(), ArchiveError> {
        let name = &table.parameters.name;
        if is_inbound != (table.parameters.key_path != KeyPath::Null) {
            let what = format!(
                "table {} has its keys where its schema does not say",
                Quoted(name)
            );
            return Err(self.stream.error(what));
        }
        if let Some(store) = &mut self.store {
            let begun = store.records(database, name);
            self.wrong(begun)?;
        }
        self.stream.expect(b'[')?;
        let (mut is_first, mut row) = (true, 0_u64);
        let mut text = Vec::new();
        while self.stream.next(b']', &mut is_first)? {
            row += 1;
            self.stream.value(&mut text)?;
            let read = parse(&text).and_then(match is_inbound {
                true => inbound,
                false => outbound,
            });
            let done = match read {
                Ok(record) => self.record(record)?,
                Err(what) => Some(what),
            };
            if let Some(what) = done {
                let name = Quoted(name);
                let what = format!("table {name}, row {row}, is left out: {what}");
                self.imported.problems.push(what);
            }
        }
        Ok(())
    }

    /// Writes a record; what is wrong with it, if it is left out.
    fn record(&mut self, record: NewRecord) -> Result<Option<String>, ArchiveError> {
        (self.tick)();
        let blobs = record.contents.len() as u64;
        let put = match &mut self.store {
            Some(store) => store.new_record(record),
            None => Ok(record.check().err()),
        };
        let done = self.wrong(put)?;
        if done.is_none() {
            self.imported.counts.records += 1;
            self.imported.counts.blobs += blobs;
        }
        Ok(done)
    }
}

fn js_string(node: &Node) -> Result<JsString, Wrong> {
    match node {
        Node::Text(text) => Ok(JsString::from_units(units(text))),
        other => Err(format!("{} stands where a name should", other.kind())),
    }
}

/// Dexie's versions are tenths: IndexedDB's are ten times as large.
fn database_version(node: &Node) -> Result<i64, Wrong> {
    const MAX: f64 = 9_007_199_254_740_991.0;
    let version = (node.number()? * 10.0 + 0.5).floor();
    match (1.0..=MAX).contains(&version) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole, and within the range"
        )]
        true => Ok(version as i64),
        false => Err("databaseVersion is not above zero".to_owned()),
    }
}

fn object_stores(node: &Node) -> Result<Vec<ObjectStore>, Wrong> {
    let Node::List(tables) = node else {
        return Err(format!("tables is {}", node.kind()));
    };
    let table = |table: &Node| {
        let name = js_string(table.need("name")?)?;
        let shown = Quoted(&name).to_string();
        let schema = table.need("schema")?.text()?;
        schema::object_store(name, schema).map_err(|what| format!("table {shown}: {what}"))
    };
    tables.iter().map(table).collect()
}
