//! Random programs against a model: the files as a walk finds them, and the records as a map.

use super::*;

/// Programs and the steps of each.
const PROGRAMS: u64 = 40;
const STEPS: usize = 40;

/// The log's headers and the empty batches that may come before a record.
const HEADERS_MAX: u64 = 120;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// What one transaction does.
#[derive(Debug, Clone)]
enum Act {
    Put { key: u32, len_bytes: usize },
    PutBlob { key: u32, len_bytes: usize },
    Delete { key: u32 },
    Clear,
}

fn acts(random: &mut Random) -> Vec<Act> {
    let count = 1 + random.below(4);
    let act = |_| {
        let key = random.below(12) as u32;
        let len_max = 1 << random.below(16);
        let len_bytes = random.below(len_max) as usize;
        match random.below(12) {
            0..=6 => Act::Put { key, len_bytes },
            7..=8 => Act::PutBlob { key, len_bytes },
            9..=10 => Act::Delete { key },
            _ => Act::Clear,
        }
    };
    (0..count).map(act).collect()
}

type Model = BTreeMap<u32, Option<String>>;

fn apply(model: &mut Model, act: &Act) {
    match act {
        Act::Put { key, len_bytes } => _ = model.insert(*key, Some(text(*key, *len_bytes))),
        Act::PutBlob { key, .. } => _ = model.insert(*key, None),
        Act::Delete { key } => _ = model.remove(key),
        Act::Clear => model.clear(),
    }
}

fn run(connection: &Connection, acts: &[Act]) -> Result<()> {
    let transaction = begin(connection);
    let store = transaction.object_store("a")?;
    for act in acts {
        match *act {
            Act::Put { key, len_bytes } => {
                let value = Value::serialize(&text(key, len_bytes)).unwrap();
                store.put(value, Some(number(key)))?.detach();
            }
            Act::PutBlob { key, len_bytes } => {
                store.put(blob(key, len_bytes), Some(number(key)))?.detach();
            }
            Act::Delete { key } => _ = store.delete(number(key))?,
            Act::Clear => _ = store.clear()?,
        }
    }
    transaction.commit()?.wait()
}

/// The records are those of the model.
fn check(connection: &Connection, model: &Model, what: &str) {
    let transaction = begin(connection);
    let store = transaction.object_store("a").unwrap();
    for key in 0..12 {
        let got = store.get(number(key)).unwrap().wait().unwrap();
        let got = got.map(|value| match value.objects().is_empty() {
            true => Some(value.deserialize::<String>().unwrap()),
            false => None,
        });
        assert!(got == model.get(&key).cloned(), "{what}: key {key}");
    }
}

/// One transaction, at a limit that refuses it, at one byte less than it needs, and at what it needs.
fn step(
    files: &Files,
    (factory, connection): (&Factory, &Connection),
    acts: &[Act],
    has_blobs: bool,
    what: &str,
) {
    let puts = |act: &Act| matches!(act, Act::Put { .. } | Act::PutBlob { .. });
    factory.set_quota_bytes(0);
    let first = run(connection, acts);
    if !acts.iter().any(puts) {
        // What only deletes is never refused.
        first.unwrap_or_else(|error| panic!("{what}: {error}"));
        return;
    }
    // Room may have been made of what was deleted; a second time there is none to be made.
    let over = *refused(first).quota().unwrap();
    let before = files.all();
    assert_eq!(over.usage_bytes, files.bytes(), "{what}");
    factory.set_quota_bytes(over.usage_bytes + over.needed_bytes - 1);
    let again = *refused(run(connection, acts)).quota().unwrap();
    assert_eq!(again.needed_bytes, over.needed_bytes, "{what}");
    assert!(files.all() == before, "{what}: something was written");
    factory.set_quota_bytes(over.usage_bytes + over.needed_bytes);
    run(connection, acts).unwrap_or_else(|error| panic!("{what}: {error}"));
    let grown = files.bytes().saturating_sub(over.usage_bytes);
    assert!(grown <= over.needed_bytes, "{what}: {grown}, {over}");
    assert!(
        has_blobs || grown + HEADERS_MAX >= over.needed_bytes,
        "{what}: {grown}, {over}"
    );
}

#[test]
fn a_commit_is_refused_exactly_where_the_limit_is_and_usage_is_what_a_walk_adds_up() {
    for seed in 1..=PROGRAMS {
        println!("seed {seed}");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let files = Files::new();
        let mut model = Model::new();
        let mut storage = Storage::new(files.options(DRIVEN)).unwrap();
        let mut connection = open(&factory(&storage)).unwrap();
        for n in 0..STEPS {
            let what = format!("seed {seed}, step {n}");
            let factory = factory(&storage);
            match random.below(16) {
                0 => {
                    connection.close();
                    storage.close().unwrap();
                    storage = Storage::new(files.options(DRIVEN)).unwrap();
                    connection = open(&self::factory(&storage)).unwrap();
                }
                1 => {
                    connection.close();
                    factory.delete_database("db").done().wait().unwrap();
                    factory.set_quota_bytes(u64::MAX);
                    connection = open(&factory).unwrap();
                    model.clear();
                }
                _ => {
                    let acts = acts(&mut random);
                    // Those that go are taken out of journals, too.
                    let mut has_blobs = model.values().any(Option::is_none);
                    for act in &acts {
                        apply(&mut model, act);
                        has_blobs |= matches!(act, Act::PutBlob { .. });
                    }
                    step(&files, (&factory, &connection), &acts, has_blobs, &what);
                }
            }
            let factory = self::factory(&storage);
            assert_eq!(usage(&factory), files.bytes(), "{what}");
            check(&connection, &model, &what);
        }
    }
}
