//! Transactions that each say in every row which one wrote it, so what is found says up to which all is there.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_idb::{
    Connection, Executor, Factory, FileSystem, FixedClock, GetAllOptions, IndexParameters,
    JsString, Key, KeyPath, KeyRange, LossCallback, ObjectStoreParameters, Origin, Result, Storage,
    StorageOptions, TransactionDurability, TransactionMode, TransactionOptions, Value,
};
use serde::{Deserialize, Serialize};

/// Transactions of a run, of which every fifth is strict.
const TRANSACTIONS: u64 = 240;
/// So many of them between one closing of the storage and the next.
const IN_A_ROW: u64 = 90;
const STRICT_EVERY: u64 = 5;
/// Keys of rows.
const KEYS: u64 = 60;
/// The key under which each transaction writes its number.
const LAST: &str = "last";

/// What a run says of itself, among the steps of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    Begun(u64),
    Relaxed(u64),
    Strict(u64),
}

impl Note {
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Begun(n) => n * 3,
            Self::Relaxed(n) => n * 3 + 1,
            Self::Strict(n) => n * 3 + 2,
        }
    }

    pub(crate) const fn from_number(number: u64) -> Self {
        match number % 3 {
            0 => Self::Begun(number / 3),
            1 => Self::Relaxed(number / 3),
            _ => Self::Strict(number / 3),
        }
    }
}

/// The last transaction that was begun, that was acknowledged, and that was acknowledged as durable.
pub(crate) fn begun_and_acknowledged(notes: &[Note]) -> (u64, u64, u64) {
    let last = |wanted: fn(Note) -> Option<u64>| {
        notes
            .iter()
            .filter_map(|note| wanted(*note))
            .max()
            .unwrap_or(0)
    };
    let begun = last(|note| match note {
        Note::Begun(n) | Note::Relaxed(n) | Note::Strict(n) => Some(n),
    });
    let acknowledged = last(|note| match note {
        Note::Relaxed(n) | Note::Strict(n) => Some(n),
        Note::Begun(_) => None,
    });
    let strict = last(|note| match note {
        Note::Strict(n) => Some(n),
        _ => None,
    });
    (begun, acknowledged, strict)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    transaction: u64,
    text: String,
}

fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 13
}

/// What a transaction puts, `None` for what it deletes. Some values are long enough to become blobs; none packs.
fn changes(transaction: u64) -> Vec<(u64, Option<Row>)> {
    let count = 1 + mix(transaction) % 9;
    let change = |i| {
        let random = mix(transaction * 16 + i);
        let len = match random % 40 {
            0 => 90_000,
            1..=4 => 5000,
            _ => random % 400,
        };
        let letter = |at| char::from(b'!' + (mix(random ^ at) % 90) as u8);
        let row = Row {
            transaction,
            text: (0..len).map(letter).collect(),
        };
        ((random >> 8) % KEYS, (random % 6 != 5).then_some(row))
    };
    (0..count).map(change).collect()
}

/// The rows after so many transactions.
fn expected(transactions: u64) -> BTreeMap<u64, Row> {
    let mut rows = BTreeMap::new();
    for (key, row) in (1..=transactions).flat_map(changes) {
        match row {
            Some(row) => drop(rows.insert(key, row)),
            None => drop(rows.remove(&key)),
        }
    }
    rows
}

fn origin() -> Origin {
    Origin::from_url("https://cut.example").unwrap()
}

pub(crate) fn leveldb_folder(folder: &Path) -> PathBuf {
    folder.join(origin().leveldb_folder_name())
}

pub(crate) struct Place {
    storage: Storage,
    factory: Factory,
}

impl Place {
    fn new(
        fs: Arc<dyn FileSystem>,
        folder: &Path,
        executor: Executor,
        callback: Option<LossCallback>,
    ) -> Self {
        let mut options = StorageOptions::new(fs, folder, Arc::new(FixedClock::default()));
        options.executor = executor;
        options.write_buffer_bytes = 48 << 10;
        options.transaction_memory_bytes = 8 << 10;
        options.on_loss = callback;
        let storage = Storage::new(options).unwrap();
        let factory = storage.factory(&origin());
        Self { storage, factory }
    }

    pub(crate) fn driven(
        fs: Arc<dyn FileSystem>,
        folder: &Path,
        callback: Option<LossCallback>,
    ) -> Self {
        Self::new(fs, folder, Executor::Driven { seed: None }, callback)
    }

    pub(crate) const fn factory(&self) -> &Factory {
        &self.factory
    }

    pub(crate) fn open(&self) -> Result<Connection> {
        let request = self.factory.open("db", Some(1))?;
        let upgrade = |upgrade: &larder_idb::Upgrade| {
            let parameters = || ObjectStoreParameters::new();
            let transaction = &upgrade.transaction;
            let rows = transaction.create_object_store("rows", parameters())?;
            let by_transaction = KeyPath::String("transaction".into());
            rows.create_index("by transaction", by_transaction, IndexParameters::default())?;
            transaction.create_object_store("log", parameters())?;
            Ok(())
        };
        request.with_upgrade(upgrade).wait()
    }

    pub(crate) fn close(self) {
        drop(self.factory);
        self.storage.close().unwrap();
    }
}

/// Runs all transactions, with notes before and after each, closing and opening the storage now and then.
pub(crate) fn run(fs: Arc<dyn FileSystem>, folder: &Path, seed: u64, note: impl Fn(Note)) {
    let mut n = 0;
    while n < TRANSACTIONS {
        let threads = Executor::Threads(NonZeroUsize::new(2).unwrap());
        let place = Place::new(Arc::clone(&fs), folder, threads, None);
        let connection = place.open().unwrap();
        for _ in 0..IN_A_ROW.min(TRANSACTIONS - n) {
            n += 1;
            let is_strict = (n + seed).is_multiple_of(STRICT_EVERY);
            note(Note::Begun(n));
            write(&connection, n, is_strict).unwrap();
            note(if is_strict {
                Note::Strict(n)
            } else {
                Note::Relaxed(n)
            });
        }
        connection.close();
        place.close();
        // Closing has made all of them durable.
        note(Note::Strict(n));
    }
}

/// Writes transaction `n`.
pub(crate) fn write(connection: &Connection, n: u64, is_strict: bool) -> Result<()> {
    let names = [JsString::from("rows"), JsString::from("log")];
    let hint = match is_strict {
        true => TransactionDurability::Strict,
        false => TransactionDurability::Relaxed,
    };
    let options = TransactionOptions::new().durability(hint);
    let transaction = connection.transaction(&names, TransactionMode::ReadWrite, options)?;
    let rows = transaction.object_store(&names[0])?;
    for (key, row) in changes(n) {
        let key = Key::from(key as f64);
        match row {
            Some(row) => rows.put(Value::serialize(&row)?, Some(key))?.detach(),
            None => rows.delete(KeyRange::only(key))?.detach(),
        }
    }
    let log = transaction.object_store(&names[1])?;
    log.put(Value::serialize(&n)?, Some(Key::from(LAST)))?
        .detach();
    transaction.commit()?.wait()
}

/// All rows, blobs included.
pub(crate) fn rows(connection: &Connection) -> Result<BTreeMap<u64, Row>> {
    let name = JsString::from("rows");
    let scope = std::slice::from_ref(&name);
    let transaction = connection.transaction(
        scope,
        TransactionMode::ReadOnly,
        TransactionOptions::default(),
    )?;
    let records = transaction.object_store(&name)?;
    let records = records
        .get_all(KeyRange::all(), GetAllOptions::default())?
        .wait()?;
    records
        .iter()
        .map(|entry| {
            let Key::Number(key) = entry.key() else {
                panic!("not a key of this test: {:?}", entry.key())
            };
            Ok((key as u64, entry.deserialize()?))
        })
        .collect()
}

/// The number of the transaction up to which everything is there, and nothing else.
///
/// # Errors
/// What cannot be read.
pub(crate) fn last_whole(connection: &Connection) -> Result<u64> {
    let name = JsString::from("log");
    let scope = std::slice::from_ref(&name);
    let transaction = connection.transaction(
        scope,
        TransactionMode::ReadOnly,
        TransactionOptions::default(),
    )?;
    let last = transaction
        .object_store(&name)?
        .get(Key::from(LAST))?
        .wait()?;
    let last = last.map_or(Ok(0), |value| value.deserialize())?;
    drop(transaction);
    assert!(
        rows(connection)? == expected(last),
        "not what there was after transaction {last}"
    );
    Ok(last)
}
