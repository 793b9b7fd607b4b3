//! A full-text index beside a database, kept up to date from its change feed: `cargo run -p larder-feed --example search_index`.
//!
//! The index (tantivy's) is no part of the database, and both can be cut off at any moment. So the index keeps with each of its own commits
//! the position up to which it has the feed, and goes on from there: nothing is left out, and nothing counts twice. To the feed that
//! position is acknowledged afterwards, which is for clean-up alone.
//!
//! The example writes notes, indexes them at the same time, and is killed, time after time, wherever it may be; then the index is compared
//! with the notes as they were at its position, and, brought up to date, with one that is made anew. `search_index 200 7` kills
//! 200 times with seed 7.

#![expect(clippy::print_stdout, reason = "it prints what it does")]
#![expect(clippy::disallowed_methods, reason = "tantivy's folder lies on a disk")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use futures_executor::block_on;
use larder_feed::{CleanUp, Consumer, Feed, ReadOptions, Reader, RevisionValue};
use larder_fixtures::random::Random;
use larder_idb::codec::value::Value as Decoded;
use larder_idb::{
    Connection, DiskFileSystem, GetAllOptions, Key, KeyRange, ObjectStoreParameters, Origin,
    Storage, StorageOptions, SystemClock, TransactionMode, TransactionOptions, Value,
};
use tantivy::collector::DocSetCollector;
use tantivy::directory::MmapDirectory;
use tantivy::query::{AllQuery, Query, QueryParser};
use tantivy::schema::{Field, STORED, STRING, Schema, TEXT, Value as _};
use tantivy::{Index, IndexWriter, TantivyDocument, Term, doc};

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Texts by the keys of their notes.
type Notes = BTreeMap<String, String>;

const NOTES: &str = "notes";
const WORDS: [&str; 12] = [
    "emma",
    "persuasion",
    "sense",
    "pride",
    "abbey",
    "park",
    "letter",
    "winter",
    "garden",
    "road",
    "house",
    "sea",
];
/// Bytes that the index may use before it writes.
const INDEX_BUFFER_BYTES: usize = 15_000_000;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        // The program that will be killed is this one once more.
        ["write", folder, seed] => write_and_index(Path::new(folder), Random::new(seed.parse()?)),
        [] => be_killed(10, 1),
        [kills] => be_killed(kills.parse()?, 1),
        [kills, seed, ..] => be_killed(kills.parse()?, seed.parse()?),
    }
}

fn text(random: &mut Random) -> String {
    let words = (0..1 + random.below(8)).map(|_| *random.of(&WORDS));
    Vec::from_iter(words).join(" ")
}

fn open_notes(folder: &Path) -> Result<(Storage, Connection)> {
    let (files, clock) = (Arc::new(DiskFileSystem::new()), Arc::new(SystemClock));
    let storage = Storage::new(StorageOptions::new(files, folder.join("notes"), clock))?;
    let factory = storage.factory(&Origin::from_url("https://notes.example")?);
    let opening = factory.open("notes", Some(1))?.with_upgrade(|upgrade| {
        let transaction = &upgrade.transaction;
        transaction.create_object_store(NOTES, ObjectStoreParameters::new())?;
        transaction.set_change_feed(true)
    });
    Ok((storage, opening.wait()?))
}

/// Writes transactions of some changes each, without end.
fn write(connection: &Connection, random: &mut Random) -> Result {
    loop {
        let options = TransactionOptions::new();
        let transaction = connection.transaction([NOTES], TransactionMode::ReadWrite, options)?;
        let notes = transaction.object_store(NOTES)?;
        for _ in 0..1 + random.below(5) {
            let key = Key::from(format!("note {}", random.below(200)).as_str());
            match random.below(20) {
                0 => notes.clear()?.detach(),
                1..6 => notes.delete(key)?.detach(),
                _ => notes
                    .put(Value::serialize(&text(random))?, Some(key))?
                    .detach(),
            }
        }
        transaction.commit()?.wait()?;
        println!("written");
    }
}

/// The index, and the fields of its documents.
struct Search {
    index: Index,
    key: Field,
    text: Field,
}

impl Search {
    fn schema() -> (Schema, Field, Field) {
        let mut schema = Schema::builder();
        let key = schema.add_text_field("key", STRING | STORED);
        let text = schema.add_text_field("text", TEXT | STORED);
        (schema.build(), key, text)
    }

    fn open(folder: &Path) -> Result<Self> {
        let folder = folder.join("index");
        std::fs::create_dir_all(&folder)?;
        let (schema, key, text) = Self::schema();
        let index = Index::open_or_create(MmapDirectory::open(folder)?, schema)?;
        Ok(Self { index, key, text })
    }

    /// A new one, in memory, of all notes.
    fn rebuilt(notes: &Notes) -> Result<Self> {
        let (schema, key, text) = Self::schema();
        let index = Index::create_in_ram(schema);
        let mut writer: IndexWriter = index.writer_with_num_threads(1, INDEX_BUFFER_BYTES)?;
        for (name, content) in notes {
            writer.add_document(doc!(key => name.as_str(), text => content.as_str()))?;
        }
        writer.commit()?;
        Ok(Self { index, key, text })
    }

    /// Up to where it has the feed.
    fn position(&self) -> Result<u64> {
        let payload = self.index.load_metas()?.payload;
        Ok(payload.map_or(Ok(0), |position| position.parse())?)
    }

    /// The notes that a query finds, as they are in the index.
    fn find(&self, query: &dyn Query) -> Result<Notes> {
        let searcher = self.index.reader()?.searcher();
        let mut notes = Notes::new();
        for address in searcher.search(query, &DocSetCollector)? {
            let document: TantivyDocument = searcher.doc(address)?;
            let [key, text] = [self.key, self.text].map(|field| {
                let value = document.get_first(field).and_then(|value| value.as_str());
                value.unwrap_or_default().to_owned()
            });
            if notes.insert(key, text).is_some() {
                return Err("a note is twice in the index".into());
            }
        }
        Ok(notes)
    }

    fn find_word(&self, word: &str) -> Result<Notes> {
        let parser = QueryParser::for_index(&self.index, vec![self.text]);
        self.find(&parser.parse_query(word)?)
    }
}

/// What keeps the index up to date.
struct Indexer {
    search: Search,
    writer: IndexWriter,
    consumer: Consumer,
    reader: Reader,
    report: fn(&str),
}

impl Indexer {
    async fn new(feed: &Feed, search: Search, report: fn(&str)) -> Result<Self> {
        let consumer = feed.consumer("search index").await?;
        let position = search.position()?;
        let options = ReadOptions::new().object_stores([NOTES]).values(true);
        let writer: IndexWriter = search
            .index
            .writer_with_num_threads(1, INDEX_BUFFER_BYTES)?;
        let reader = match position < consumer.position().await? {
            // The index was removed: it begins anew.
            true => {
                writer.delete_all_documents()?;
                consumer.restart(0).await?;
                consumer.read(options).await?
            }
            false => feed.read_from(position, options),
        };
        Ok(Self {
            search,
            writer,
            consumer,
            reader,
            report,
        })
    }

    /// Indexes the next batch, which is waited for or not: whether there was one.
    async fn step(&mut self, waits: bool) -> Result<bool> {
        let batch = match waits {
            true => Some(self.reader.next_live().await?),
            false => self.reader.next().await?,
        };
        let Some(batch) = batch else {
            return Ok(false);
        };
        for revision in batch.revisions() {
            let Key::String(key) = revision.key() else {
                continue;
            };
            let key = key.to_string_lossy();
            let term = Term::from_field_text(self.search.key, &key);
            self.writer.delete_term(term);
            if let Some(value) = revision.value() {
                let text = text_of(value)?;
                let document = doc!(self.search.key => key, self.search.text => text);
                self.writer.add_document(document)?;
            }
        }
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(&batch.position().to_string());
        (self.report)("prepared");
        commit.commit()?;
        (self.report)("indexed");
        self.consumer.acknowledge(batch.position()).await?;
        (self.report)("acknowledged");
        Ok(true)
    }
}

fn text_of(value: &RevisionValue) -> Result<String> {
    match value.tree()?.root() {
        Decoded::String(text) => Ok(text.to_utf8_lossy().into_owned()),
        _ => Err("a note is a text".into()),
    }
}

fn write_and_index(folder: &Path, mut random: Random) -> Result {
    let (_storage, connection) = open_notes(folder)?;
    let feed = Feed::of(&connection)?;
    let search = Search::open(folder)?;
    thread::scope(|scope| {
        let indexing = scope.spawn(|| {
            let mut indexer = block_on(Indexer::new(&feed, search, |step| println!("{step}")))?;
            while block_on(indexer.step(true))? {
                block_on(feed.clean(CleanUp::new()))?;
                println!("cleaned");
            }
            Result::Ok(())
        });
        write(&connection, &mut random)?;
        indexing.join().map_err(|_| "the indexer has panicked")?
    })
}

/// Lets another process write and index, and kills it as it does.
fn be_killed(kills: u64, seed: u64) -> Result {
    println!("seed {seed}");
    let dir = tempfile::tempdir()?;
    let mut random = Random::new(seed);
    let (mut steps, mut behind) = (0, 0);
    for kill in 1..=kills {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["write".as_ref(), dir.path().as_os_str()])
            .arg((seed * 1000 + kill).to_string())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let wanted = 1 + random.below(60) as usize;
        let done = lines.take(wanted).filter(|line| line.is_ok()).count();
        child.kill()?;
        child.wait()?;
        if done < wanted {
            return Err(format!("kill {kill}: the program has ended by itself").into());
        }
        steps += done;
        behind += u64::from(check(dir.path()).map_err(|error| format!("kill {kill}: {error}"))?);
    }
    let (_storage, connection) = open_notes(dir.path())?;
    let last = block_on(Feed::of(&connection)?.last())?;
    println!(
        "{kills} kills after {steps} steps, {last} revisions: the index was what the notes were at its position, {behind} times behind them, \
         and brought up to date what one made anew is"
    );
    Ok(())
}

/// The index is the notes at its position, and brought up to date it is the notes: whether it was behind.
fn check(folder: &Path) -> Result<bool> {
    let (storage, connection) = open_notes(folder)?;
    let feed = Feed::of(&connection)?;
    let search = Search::open(folder)?;
    let (position, last) = (search.position()?, block_on(feed.last())?);
    if search.find(&AllQuery)? != block_on(notes_at(&feed, position))? {
        return Err(format!("the index differs from the notes at {position} of {last}").into());
    }
    let mut indexer = block_on(Indexer::new(&feed, search, |_| ()))?;
    while block_on(indexer.step(false))? {}
    let notes = notes_now(&connection)?;
    let rebuilt = Search::rebuilt(&notes)?;
    for word in WORDS {
        if indexer.search.find_word(word)? != rebuilt.find_word(word)? {
            return Err(format!("the index finds other notes with {word:?} than a new one").into());
        }
    }
    if indexer.search.find(&AllQuery)? != notes {
        return Err("the index is not the notes".into());
    }
    drop(connection);
    storage.close()?;
    Ok(position < last)
}

async fn notes_at(feed: &Feed, position: u64) -> Result<Notes> {
    if position == 0 {
        return Ok(Notes::new());
    }
    let past = feed.at(position).await?;
    let mut records = past
        .object_store(NOTES)
        .await?
        .records(KeyRange::all())
        .await?;
    let mut notes = Notes::new();
    while let Some((revision, value)) = records.next().await? {
        if let Key::String(key) = revision.key() {
            notes.insert(key.to_string_lossy(), text_of(&value)?);
        }
    }
    Ok(notes)
}

fn notes_now(connection: &Connection) -> Result<Notes> {
    let options = TransactionOptions::new();
    let transaction = connection.transaction([NOTES], TransactionMode::ReadOnly, options)?;
    let all = transaction
        .object_store(NOTES)?
        .get_all(KeyRange::all(), GetAllOptions::new())?;
    let mut notes = Notes::new();
    for record in &all.wait()? {
        if let Key::String(key) = record.primary_key() {
            notes.insert(key.to_string_lossy(), record.deserialize()?);
        }
    }
    Ok(notes)
}
