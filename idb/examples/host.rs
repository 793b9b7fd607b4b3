//! A small host of IndexedDB: it opens a database, upgrades it, writes, asks by key, by index and with a cursor, is killed in
//! the middle of a transaction and goes on where it was. `cargo run --release --example host`; the folder it works in is
//! removed again.

#![expect(clippy::print_stdout, reason = "it prints what it does")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use larder_idb::{
    Connection, CursorDirection, DiskFileSystem, IndexParameters, JsString, Key, KeyPath, KeyRange,
    ObjectStore, ObjectStoreParameters, Origin, Storage, StorageOptions, SystemClock, Transaction,
    TransactionMode, TransactionOptions, Upgrade, Value,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Book {
    title: String,
    author: String,
    year: u32,
}

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result {
    // The host that will be killed is this program once more, with the folder as its argument.
    if let Some(folder) = std::env::args_os().nth(1) {
        return write_without_end(Path::new(&folder));
    }
    let dir = tempfile::tempdir()?;
    let storage = open_storage(dir.path())?;
    let library = open_library(&storage)?;
    println!(
        "opened \"{}\" at version {}",
        library.name(),
        library.version()
    );

    write_and_query(&library)?;
    refuse(&library)?;
    library.close();
    storage.close()?;

    let told = be_killed(dir.path())?;
    let storage = open_storage(dir.path())?;
    let library = open_library(&storage)?;
    let (_reading, loans) = begin(&library, "loans", TransactionMode::ReadOnly)?;
    let count = loans.count(KeyRange::all())?.wait()?;
    println!("killed after {told} transactions of {LOANS_EACH} loans; found again: {count} loans");
    assert!(count >= told * LOANS_EACH && count.is_multiple_of(LOANS_EACH));
    storage.close()?;
    Ok(())
}

/// A folder like the one where Chromium has its IndexedDB: Chromium could open what is in it.
fn open_storage(folder: &Path) -> Result<Storage> {
    let (files, clock) = (Arc::new(DiskFileSystem::new()), Arc::new(SystemClock));
    Ok(Storage::new(StorageOptions::new(files, folder, clock))?)
}

fn open_library(storage: &Storage) -> Result<Connection> {
    let factory = storage.factory(&Origin::from_url("https://library.example")?);
    let request = factory.open("library", Some(1))?;
    // Called if the database is new or has an older version. What it does is done together or not at all.
    let upgrade = |upgrade: &Upgrade| {
        println!(
            "upgrade from version {} to {}",
            upgrade.old_version, upgrade.new_version
        );
        let transaction = &upgrade.transaction;
        let generated = ObjectStoreParameters::new().auto_increment(true);
        let by_title = ObjectStoreParameters::new().key_path("title");
        transaction.create_object_store("loans", generated)?;
        let books = transaction.create_object_store("books", by_title)?;
        let by_author = KeyPath::String("author".into());
        books.create_index("by author", by_author, IndexParameters::default())?;
        Ok(())
    };
    Ok(request.with_upgrade(upgrade).wait()?)
}

/// A transaction over one object store. It lives as long as one of the two does.
fn begin(
    library: &Connection,
    store: &str,
    mode: TransactionMode,
) -> Result<(Transaction, ObjectStore)> {
    let name = JsString::from(store);
    let scope = std::slice::from_ref(&name);
    let transaction = library.transaction(scope, mode, TransactionOptions::default())?;
    let store = transaction.object_store(&name)?;
    Ok((transaction, store))
}

fn book(title: &str, author: &str, year: u32) -> larder_idb::Result<Value> {
    Value::serialize(&Book {
        title: title.into(),
        author: author.into(),
        year,
    })
}

fn write_and_query(library: &Connection) -> Result {
    let (writing, books) = begin(library, "books", TransactionMode::ReadWrite)?;
    // Requests are made one after another and not waited for: the commit reports whether one of them failed.
    books.put(book("Emma", "Austen", 1815)?, None)?.detach();
    books
        .put(book("Persuasion", "Austen", 1817)?, None)?
        .detach();
    books
        .put(book("Middlemarch", "Eliot", 1871)?, None)?
        .detach();
    books.put(book("Villette", "Brontë", 1853)?, None)?.detach();
    writing.commit()?.wait()?;

    let (_reading, books) = begin(library, "books", TransactionMode::ReadOnly)?;
    let villette = books.get(Key::from("Villette"))?.wait()?.ok_or("gone")?;
    println!("by key: {:?}", villette.deserialize::<Book>()?);

    let by_author = books.index("by author")?;
    let from_b_on = KeyRange::lower_bound("B", false);
    let mut cursor = by_author
        .open_cursor(from_b_on, CursorDirection::Next)?
        .wait()?;
    while let Some(at) = cursor {
        let Book {
            title,
            author,
            year,
        } = at.record().deserialize()?;
        println!("by author, from B on: {author}, {title} ({year})");
        cursor = at.next()?.wait()?;
    }
    Ok(())
}

/// One request fails, so the transaction does, and leaves nothing.
fn refuse(library: &Connection) -> Result {
    let (writing, books) = begin(library, "books", TransactionMode::ReadWrite)?;
    books
        .add(book("Silas Marner", "Eliot", 1861)?, None)?
        .detach();
    books.add(book("Emma", "somebody", 1999)?, None)?.detach();
    let error = writing
        .commit()?
        .wait()
        .err()
        .ok_or("Emma is there twice")?;
    let (_reading, books) = begin(library, "books", TransactionMode::ReadOnly)?;
    let count = books.count(KeyRange::all())?.wait()?;
    println!("a second Emma: {error}; still {count} books");
    Ok(())
}

const LOANS_EACH: u64 = 1000;

fn write_without_end(folder: &Path) -> Result {
    let storage = open_storage(folder)?;
    let library = open_library(&storage)?;
    loop {
        let (writing, loans) = begin(&library, "loans", TransactionMode::ReadWrite)?;
        for day in 0..LOANS_EACH {
            loans.add(Value::serialize(&("Emma", day))?, None)?.detach();
        }
        writing.commit()?.wait()?;
        println!("committed");
    }
}

/// Lets another process write, and kills it as it does: how many transactions it reported.
fn be_killed(folder: &Path) -> Result<u64> {
    let mut host = Command::new(std::env::current_exe()?);
    let mut host = host.arg(folder).stdout(Stdio::piped()).spawn()?;
    let output = BufReader::new(host.stdout.take().ok_or("no output")?);
    let told = output
        .lines()
        .filter(|line| matches!(line, Ok(line) if line == "committed"));
    let told = told.take(20).count();
    host.kill()?;
    host.wait()?;
    Ok(u64::try_from(told)?)
}
