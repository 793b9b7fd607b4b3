//! An index of a tracked database is a table of keys with several values, of the records as they are now: Sink's is LMDB's, with sorted
//! duplicates. Random programs are compared with a set of pairs. `LARDER_DUPSORT`, the path of `peers`' program `dupsort`, asks LMDB as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use larder_fixtures::random::Random;
use larder_idb::{
    CursorDirection, Database, GetAllOptions, IndexParameters, Key, KeyRange,
    ObjectStoreParameters, Value,
};

/// A key of the index, whose bytes sort as it does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Number(u32),
    Text(String),
}

impl Word {
    /// LMDB has no empty keys.
    fn hex(&self) -> String {
        let bytes = match self {
            Self::Number(number) => [&b"n"[..], &number.to_be_bytes()].concat(),
            Self::Text(text) => [b"t", text.as_bytes()].concat(),
        };
        bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    fn key(&self) -> Key {
        match self {
            Self::Number(number) => f64::from(*number).into(),
            Self::Text(text) => text.as_str().into(),
        }
    }

    fn of(key: &Key) -> Self {
        match key {
            Key::Number(number) => Self::Number(*number as u32),
            Key::String(text) => Self::Text(text.to_string_lossy()),
            _ => panic!("{key:?}"),
        }
    }
}

/// What is asked.
#[derive(Debug)]
enum Question {
    Of(Word),
    Prefix(String),
    Range(Word, Word),
    First(Word, Word),
}

type Pairs = BTreeSet<(Word, u32)>;

fn shown(pairs: impl IntoIterator<Item = (Word, u32)>) -> String {
    let pairs = pairs
        .into_iter()
        .map(|(word, id)| format!("{}:{id}", word.hex()));
    Vec::from_iter(pairs).join(" ")
}

impl Question {
    fn line(&self) -> String {
        match self {
            Self::Of(word) => format!("of {}", word.hex()),
            Self::Prefix(prefix) => format!("prefix {}", Word::Text(prefix.clone()).hex()),
            Self::Range(low, high) => format!("range {} {}", low.hex(), high.hex()),
            Self::First(low, high) => format!("first {} {}", low.hex(), high.hex()),
        }
    }

    fn is_answered_with(&self, word: &Word) -> bool {
        match self {
            Self::Of(of) => word == of,
            Self::Prefix(prefix) => matches!(word, Word::Text(text) if text.starts_with(prefix)),
            Self::Range(low, high) | Self::First(low, high) => low <= word && word <= high,
        }
    }

    fn of_model(&self, pairs: &Pairs) -> String {
        let found = pairs.iter().filter(|(word, _)| self.is_answered_with(word));
        match self {
            Self::First(..) => {
                let mut first = BTreeMap::new();
                for (word, id) in found {
                    first.entry(word.clone()).or_insert(*id);
                }
                shown(first)
            }
            _ => shown(found.cloned()),
        }
    }

    fn of_larder(&self, library: &Database) -> String {
        let range = match self {
            Self::Of(word) => Ok(KeyRange::only(word.key())),
            // No text has a unit above the last.
            Self::Prefix(prefix) => {
                let last = format!("{prefix}\u{ffff}");
                KeyRange::bound(prefix.as_str(), last.as_str(), false, false)
            }
            Self::Range(low, high) | Self::First(low, high) => {
                KeyRange::bound(low.key(), high.key(), false, false)
            }
        };
        // A reversed range has nothing in it; IndexedDB refuses to make one.
        let Ok(range) = range else {
            return String::new();
        };
        let reading = library.read("books").unwrap();
        let index = reading
            .object_store("books")
            .unwrap()
            .index("by word")
            .unwrap();
        let direction = match self {
            Self::First(..) => CursorDirection::NextUnique,
            _ => CursorDirection::Next,
        };
        let options = GetAllOptions::new().direction(direction);
        let keys = index
            .get_all_keys(range.clone(), options)
            .unwrap()
            .wait()
            .unwrap();
        let entries = keys.iter().map(|entry| {
            let Key::Number(id) = entry.primary_key() else {
                panic!("{:?}", entry.primary_key());
            };
            (Word::of(&entry.key()), id as u32)
        });
        let entries = Vec::from_iter(entries);
        if direction == CursorDirection::Next {
            let count = index.count(range).unwrap().wait().unwrap();
            assert_eq!(count, entries.len() as u64, "{self:?}");
        }
        shown(entries)
    }
}

fn library() -> Database {
    let opening = Database::in_memory("library", 1, |upgrade| {
        let books = ObjectStoreParameters::new();
        let books = upgrade.transaction.create_object_store("books", books)?;
        books.create_index("by word", "word", IndexParameters::new())?;
        upgrade.transaction.set_change_feed(true)
    });
    opening.unwrap().wait().unwrap()
}

/// The lines of a program, and what the index and the set of pairs answer.
#[derive(Debug, Default)]
struct Program {
    seed: u64,
    pairs: Pairs,
    words: BTreeMap<u32, Word>,
    lines: Vec<String>,
    answers: Vec<String>,
}

impl Program {
    /// A record gets a word, or goes. The index has the latest alone.
    fn change(&mut self, library: &Database, id: u32, word: Option<Word>) {
        if let Some(before) = self.words.remove(&id) {
            self.lines.push(format!("delete {} {id}", before.hex()));
            self.pairs.remove(&(before, id));
        }
        let writing = library.write("books").unwrap();
        let books = writing.object_store("books").unwrap();
        match &word {
            Some(word) => {
                let word = match word {
                    Word::Number(number) => serde_json::json!({ "word": number }),
                    Word::Text(text) => serde_json::json!({ "word": text }),
                };
                let value = Value::serialize(&word).unwrap();
                books
                    .put(value, Some(f64::from(id).into()))
                    .unwrap()
                    .detach();
            }
            None => books.delete(f64::from(id)).unwrap().detach(),
        }
        writing.commit().unwrap().wait().unwrap();
        if let Some(word) = word {
            self.lines.push(format!("put {} {id}", word.hex()));
            self.pairs.insert((word.clone(), id));
            self.words.insert(id, word);
        }
    }

    fn ask(&mut self, library: &Database, question: &Question) -> usize {
        let expected = question.of_model(&self.pairs);
        let found = question.of_larder(library);
        assert_eq!(found, expected, "seed {}: {question:?}", self.seed);
        let count = expected.split_whitespace().count();
        self.lines.push(question.line());
        self.answers.push(expected);
        count
    }

    /// Whether LMDB was asked. It has to answer the same.
    fn ask_lmdb(&self) -> bool {
        let Some(program) = std::env::var_os("LARDER_DUPSORT") else {
            return false;
        };
        let dir = tempfile::tempdir().unwrap();
        let mut lmdb = Command::new(Path::new(&program))
            .arg(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = lmdb.stdin.take().unwrap();
        let mut text = self.lines.join("\n");
        text.push('\n');
        let output = std::thread::scope(|scope| {
            scope.spawn(move || input.write_all(text.as_bytes()).unwrap());
            lmdb.wait_with_output().unwrap()
        });
        assert!(output.status.success(), "{output:?}");
        let output = String::from_utf8(output.stdout).unwrap();
        assert!(output.lines().eq(self.answers.iter().map(String::as_str)));
        true
    }
}

fn text(text: &str) -> Word {
    Word::Text(text.to_owned())
}

#[test]
fn exact_and_prefix_counts_are_those_of_sinks_index() {
    let library = library();
    let mut program = Program::default();
    for (id, word) in [(1, "key"), (2, "keyFoo"), (3, "keyFoo")] {
        program.change(&library, id, Some(text(word)));
    }
    for (word, count) in [("key", 1), ("keyFoo", 2), ("key3", 0)] {
        assert_eq!(program.ask(&library, &Question::Of(text(word))), count);
    }
    for prefix in ["key", ""] {
        assert_eq!(
            program.ask(&library, &Question::Prefix(prefix.to_owned())),
            3
        );
    }
    program.ask_lmdb();
}

#[test]
fn ranges_are_inclusive_and_may_lie_outside_be_reversed_and_have_numbers_of_several_bytes() {
    let library = library();
    let mut program = Program::default();
    for (id, number) in (1..).zip([0, 1, 255, 256, 257, 512, 65536, 131_072]) {
        program.change(&library, id, Some(Word::Number(number)));
    }
    let ranges = [
        (1, 256, 3),
        (256, 512, 3),
        (0, u32::MAX, 8),
        (512, 256, 0),
        (258, 511, 0),
        (256, 256, 1),
        (131_073, 200_000, 0),
    ];
    for (low, high, count) in ranges {
        let range = Question::Range(Word::Number(low), Word::Number(high));
        assert_eq!(program.ask(&library, &range), count);
    }
    program.ask_lmdb();
}

fn word(random: &mut Random) -> Word {
    match random.below(2) {
        0 => Word::Number(random.below(6) as u32 * 128),
        _ => {
            let letters = (0..random.below(4)).map(|_| *random.of(&['a', 'b', 'K']));
            Word::Text(letters.collect())
        }
    }
}

#[test]
fn random_programs_find_in_an_index_what_a_table_of_pairs_has() {
    let (first, count) = (
        crate::setting("LARDER_SEED", 1),
        crate::setting("LARDER_SEEDS", 30),
    );
    let (mut questions, mut is_asked) = (0, false);
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let (library, mut program) = (library(), Program::default());
        program.seed = seed;
        for _ in 0..100 {
            if random.below(3) > 0 {
                let id = random.below(20) as u32;
                let word = (random.below(4) > 0).then(|| word(&mut random));
                program.change(&library, id, word);
                continue;
            }
            let question = match random.below(4) {
                0 => Question::Of(word(&mut random)),
                1 => Question::Prefix((*random.of(&["", "a", "ab", "K"])).to_owned()),
                2 => Question::Range(word(&mut random), word(&mut random)),
                _ => Question::First(word(&mut random), word(&mut random)),
            };
            program.ask(&library, &question);
        }
        questions += program.answers.len();
        is_asked |= program.ask_lmdb();
    }
    let lmdb = if is_asked { "LMDB" } else { "LMDB not asked" };
    println!(
        "{questions} answers of {count} programs from seed {first} are those of a set of pairs, {lmdb}"
    );
}
