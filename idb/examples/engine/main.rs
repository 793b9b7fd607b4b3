//! A browser engine whose values are its own: a trait as engines have for the place where their databases are kept
//! ([`backend`]), `larder-idb` behind it ([`on_idb`]), and an engine that uses it. `cargo run --example engine`.
//!
//! Values are bytes that only the engine reads; it says which keys they have. A version change happens as a whole or not at all:
//! `tests` shows that for an abort, a failure and a crash.

#![expect(clippy::print_stdout, reason = "it tells what it does")]

mod backend;
mod on_idb;
mod operations;
#[cfg(test)]
mod tests;
mod values;

use std::sync::Arc;
use std::sync::mpsc;

use larder_idb::{
    CursorDirection, Factory, IndexParameters, KeyRange, ObjectStoreParameters, Origin, Storage,
    StorageOptions, SystemClock,
};

use backend::{Answer, Backend, Operation, Request, Result, Upgrade};
use on_idb::Database;
use values::{Book, keys_at, path};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let storage = Storage::new(StorageOptions::in_memory(Arc::new(SystemClock)))?;
    let factory = storage.factory(&Origin::from_url("https://library.example")?);
    let library = make_library(&factory)?;
    println!("version {} with {:?}", library.version(), library.stores());

    let books = [
        ("Emma", "Austen"),
        ("Persuasion", "Austen"),
        ("Villette", "Brontë"),
    ];
    let puts = books.map(|(title, author)| put(&library, &Book::new(title, author)));
    let puts = puts.into_iter().collect::<Result<Vec<_>>>()?;
    println!("put: {:?}", transact(&library, true, puts)?);

    let first_by_author = Operation::Iterate {
        index: Some("by author".into()),
        range: KeyRange::all(),
        direction: CursorDirection::Prev,
    };
    println!(
        "last author: {:?}",
        transact(&library, false, vec![first_by_author])?
    );
    println!("deleted at version {}", library.delete()?);
    storage.close()?;
    Ok(())
}

/// Version 1: books by their titles, with an index of their authors.
fn make_library(factory: &Factory) -> Result<Database> {
    let upgrade = Database::open(factory, "library")?.upgrade(1)?;
    let by_title = ObjectStoreParameters::new().key_path(path("title"));
    upgrade.create_store("books", by_title)?;
    let author = path("author");
    let options = IndexParameters::default();
    upgrade.create_index(
        "books",
        "by author",
        author.clone(),
        options,
        move |bytes| keys_at(bytes, &author, false),
    )?;
    upgrade.commit()
}

/// What a page's `put` is for the backend: the engine finds the keys.
fn put(database: &Database, book: &Book) -> Result<Operation> {
    let bytes = book.serialize();
    let key = keys_at(&bytes, &database.key_path("books")?, false).pop();
    let indexes = database.indexes("books")?.into_iter();
    let index_keys = indexes.map(|(name, path, multi_entry)| {
        let keys = keys_at(&bytes, &path, multi_entry);
        (name, keys)
    });
    Ok(Operation::Put {
        key,
        index_keys: index_keys.collect(),
        bytes,
        overwrite: true,
    })
}

/// A transaction over "books": the answers, or why it was aborted.
fn transact(database: &Database, writes: bool, operations: Vec<Operation>) -> Result<Vec<Answer>> {
    let (requests, replies) = requests("books", operations);
    let ended = database.process(writes, requests)?;
    let answers = replies.iter().collect();
    // It ends in any case, if only with the storage.
    ended.recv().unwrap_or(Ok(()))?;
    answers
}

/// Requests to an object store, whose answers come in their order.
fn requests(
    store: &str,
    operations: Vec<Operation>,
) -> (Vec<Request>, mpsc::Receiver<Result<Answer>>) {
    let (reply, replies) = mpsc::channel();
    let request = |operation| Request {
        store: store.to_owned(),
        operation,
        reply: reply.clone(),
    };
    (operations.into_iter().map(request).collect(), replies)
}
