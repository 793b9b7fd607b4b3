//! Look-ups of many rows, as many as possible by one statement.

use std::ops::ControlFlow;
use std::sync::Arc;

use larder_backing_store::{Error, FirstRow, OnFirstRow, OnRow, RowIter};
use larder_codec::compare;

use crate::database::Looked;
use crate::page::{Found, Page};
use crate::parts::{Content, Part, Table};

/// So many keys at once, at most: their rows are in memory together.
const KEYS_AT_A_TIME: usize = 64;

/// Which parts have the rows of a key's database; none if there is no such database.
pub(crate) type PartsOf<'a> = &'a dyn Fn(&[u8]) -> Option<Arc<Vec<Part>>>;

/// The table whose rows a key may lead to.
pub(crate) fn table_of<'p>(parts: &'p [Part], key: &[u8]) -> Option<&'p Table> {
    let at = parts.partition_point(|part| compare(&part.high, key).is_lt());
    match parts.get(at).map(|part| &part.content) {
        Some(Content::Table(table)) if table.has_prefix_of(key) => Some(table),
        _ => None,
    }
}

/// What came of looking for a key together with others.
enum Came<'a> {
    Row(&'a Table, Found<'a>),
    Nothing,
    /// It has to be looked up alone.
    Alone,
}

/// Looks for keys in tables in which many may be looked up at once: calls `came` for each, with its number, until it breaks. No connection is locked then.
fn each<'k>(
    keys: &mut dyn Iterator<Item = &'k [u8]>,
    parts_of: PartsOf<'_>,
    is_such: impl Fn(&Table) -> bool,
    mut came: impl FnMut(usize, &'k [u8], Came<'_>) -> ControlFlow<()>,
) {
    let mut keys = keys.peekable();
    let (mut page, mut taken) = (Page::default(), Vec::new());
    let mut done = 0;
    while let Some(first) = keys.next() {
        taken.clear();
        taken.push(first);
        let parts = parts_of(first);
        let table = parts.as_ref().and_then(|parts| table_of(parts, first));
        let table = table.filter(|table| is_such(table));
        if let Some(table) = table {
            while taken.len() < KEYS_AT_A_TIME
                && let Some(key) = keys.next_if(|key| table.has_prefix_of(key))
            {
                taken.push(key);
            }
        }
        let mut left = &*taken;
        while let Some(first) = left.first() {
            let looked = table.and_then(|table| table.look_up(&mut page, left).ok());
            let looked = looked.unwrap_or_default();
            if looked.is_empty() {
                if came(done, first, Came::Alone).is_break() {
                    return;
                }
                done += 1;
            }
            for (key, looked) in left.iter().zip(&looked) {
                let row = match looked {
                    Looked::Row(n) => table.zip(page.row(*n)),
                    Looked::Nothing | Looked::Failed => None,
                };
                let what = match (row, looked) {
                    (Some((table, row)), _) => Came::Row(table, row),
                    (None, Looked::Nothing) => Came::Nothing,
                    (None, _) => Came::Alone,
                };
                if came(done, key, what).is_break() {
                    return;
                }
                done += 1;
            }
            left = left.get(looked.len().max(1)..).unwrap_or_default();
        }
    }
}

/// Does what [`RowSource::multi_get`](larder_backing_store::RowSource::multi_get) does. One row alone is looked up by `get_into`.
pub(crate) fn multi_get(
    keys: &mut dyn Iterator<Item = &[u8]>,
    found: OnRow<'_>,
    parts_of: PartsOf<'_>,
    get_into: impl Fn(&[u8], &mut Vec<u8>) -> Result<bool, Error>,
) {
    let mut value = Vec::new();
    let is_such = |table: &Table| table.looks_up_many() && table.is_of_records();
    each(keys, parts_of, is_such, |n, key, came| match came {
        Came::Nothing => found(n, Ok(None)),
        Came::Row(
            _,
            Found {
                value: Some(row), ..
            },
        ) => found(n, Ok(Some(row))),
        // Where the value cannot be unpacked, this finds out what is wrong with it.
        Came::Row(..) | Came::Alone => {
            let is_there = get_into(key, &mut value);
            found(n, is_there.map(|is_there| is_there.then_some(&*value)))
        }
    });
}

/// Does what [`RowIter::multi_seek`] does. One row alone is found by `iter`.
pub(crate) fn multi_seek(
    prefixes: &mut dyn Iterator<Item = &[u8]>,
    found: OnFirstRow<'_>,
    parts_of: PartsOf<'_>,
    iter: &mut dyn RowIter,
) {
    let mut value = Vec::new();
    let is_such = |table: &Table| table.looks_up_many() && !table.is_of_records();
    each(prefixes, parts_of, is_such, |n, prefix, came| {
        match came {
            Came::Nothing => found(n, Ok(None)),
            Came::Row(table, row) if table.entry(row, &mut value).is_ok() => {
                let record = row.value;
                let value = &*value;
                found(n, Ok(Some(FirstRow { value, record })));
            }
            Came::Row(..) | Came::Alone => found(n, iter.first_row(prefix)),
        }
        ControlFlow::Continue(())
    });
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use larder_backing_store::{DatabaseMetadata, IndexMetadata, ObjectStoreMetadata, RowSource};
    use larder_codec::row_key::RowKey;
    use larder_codec::{
        DataVersion, DatabaseId, IndexId, Key, KeyPath, KeyPrefix, ObjectStoreId, RawKey,
    };
    use larder_fixtures::random::Random;
    use larder_leveldb::storage::{DiskFileSystem, FileSystem};

    use super::*;
    use crate::rows::Parts;
    use crate::write::NewDatabase;

    /// Rows that are looked up one by one, by what the trait itself does.
    #[derive(Debug)]
    struct OneByOne(Parts);

    impl RowSource for OneByOne {
        fn iter(&self) -> Box<dyn RowIter> {
            self.0.iter()
        }
    }

    fn open(path: &Path) -> Parts {
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        crate::open::read(&fs, path, Path::new("")).unwrap().0
    }

    /// Keys of all rows and of some that are not there, in any order, and some twice; what entries of indexes begin with.
    fn keys_of(rows: &Parts, random: &mut Random) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut keys, mut prefixes) = (Vec::new(), Vec::new());
        let mut cursor = rows.iter();
        cursor.seek(&[0; 5]).unwrap();
        while cursor.valid() {
            let key = cursor.key().to_vec();
            let of_table = KeyPrefix::decode(&key).unwrap();
            if let Ok(RowKey::IndexData(entry)) = RowKey::decode_exact(&key) {
                let front = key.len() - of_table.1.len();
                prefixes.push([&key[..front], entry.index_key.as_bytes()].concat());
                if random.one_in(4) {
                    let mut missing = prefixes.last().unwrap().clone();
                    *missing.last_mut().unwrap() ^= 1;
                    prefixes.push(missing);
                }
            }
            if random.one_in(4) {
                let mut missing = key.clone();
                *missing.last_mut().unwrap() ^= 1;
                keys.push(missing);
            }
            keys.push(key);
            cursor.next().unwrap();
        }
        for list in [&mut keys, &mut prefixes] {
            list.extend_from_within(..list.len() / 8);
            // Those of a table stay together for the most part.
            for _ in 0..list.len() / 4 {
                let (a, b) = (random.index(list.len()), random.index(list.len()));
                list.swap(a, b);
            }
        }
        (keys, prefixes)
    }

    /// A store whose keys have -0 in them, of which notes of our own say so.
    fn with_negative_zeros(folder: &Path) {
        let id = ObjectStoreId::MIN;
        let index = IndexMetadata {
            id: IndexId::new(31).unwrap(),
            name: "i".into(),
            key_path: KeyPath::String("i".into()),
            unique: false,
            multi_entry: true,
        };
        let metadata = DatabaseMetadata {
            id: DatabaseId::MIN,
            origin: "https_a.example_0@1".into(),
            name: "".into(),
            version: Some(1),
            object_stores: Vec::new(),
        };
        let object_store = ObjectStoreMetadata {
            id,
            name: "s".into(),
            key_path: KeyPath::Null,
            auto_increment: false,
            indexes: vec![index.clone()],
        };
        let version = DataVersion { v8: 15, blink: 21 };
        let mut database = NewDatabase::create(folder, &metadata, version, 7).unwrap();
        database.object_store(&object_store, 1).unwrap();
        let encoded = |key: Key| {
            let mut bytes = Vec::new();
            key.encode(&mut bytes);
            bytes
        };
        for (key, entry) in [(-0.0, -0.0), (1.0, -0.0), (2.0, 0.0), (3.0, 7.0)] {
            let (key, entry) = (encoded(Key::Number(key)), encoded(Key::Number(entry)));
            let raw = |key| RawKey::decode_exact(key).unwrap();
            let value = [&[0xff, 0x15][..], &key].concat();
            database.record(id, raw(&key), &value).unwrap();
            database
                .entry(id, index.id, raw(&entry), raw(&key))
                .unwrap();
        }
        database.finish().unwrap();
    }

    type Gotten = Vec<Result<Option<Vec<u8>>, String>>;
    type First = Vec<Result<Option<(Vec<u8>, Option<Vec<u8>>)>, String>>;

    fn gotten(rows: &dyn RowSource, keys: &[Vec<u8>]) -> Gotten {
        let mut all = vec![None; keys.len()];
        rows.multi_get(&mut keys.iter().map(|key| &**key), &mut |n, row| {
            let row = row.map(|row| row.map(<[u8]>::to_vec));
            let before = all[n].replace(row.map_err(|error| error.to_string()));
            assert_eq!(before, None, "twice for {n}");
            ControlFlow::Continue(())
        });
        all.into_iter().map(Option::unwrap).collect()
    }

    fn first(rows: &dyn RowSource, prefixes: &[Vec<u8>], one_by_one: bool) -> First {
        let mut all = vec![None; prefixes.len()];
        let mut cursor = rows.iter();
        cursor.bring_records();
        let mut take = |n: usize, row: Result<Option<FirstRow<'_>>, Error>| {
            let owned = |row: FirstRow<'_>| (row.value.to_vec(), row.record.map(<[u8]>::to_vec));
            let row = row.map(|row| row.map(owned));
            all[n] = Some(row.map_err(|error| error.to_string()));
        };
        match one_by_one {
            true => {
                for (n, prefix) in prefixes.iter().enumerate() {
                    take(n, cursor.first_row(prefix));
                }
            }
            false => cursor.multi_seek(&mut prefixes.iter().map(|prefix| &**prefix), &mut take),
        }
        all.into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn many_at_once_are_what_each_alone_is() {
        let seed = std::env::var("LARDER_SEED").map_or(1, |seed| seed.parse().unwrap());
        let mut random = Random::new(seed);
        let (mut found, mut entries) = (0, 0);
        let written = tempfile::tempdir().unwrap();
        with_negative_zeros(written.path());
        let names = ["s156-lite", "s156-odd", "s156-migrated", "s143-lite"];
        let fixtures = names.map(|name| (name, larder_fixtures::get(name).open()));
        let places = fixtures
            .each_ref()
            .map(|(name, fixture)| (*name, fixture.sqlite()));
        let written = [("-0", written.path().to_owned())];
        for (name, place) in places.into_iter().chain(written) {
            let rows = open(&place);
            let (keys, prefixes) = keys_of(&rows, &mut random);
            let expected = gotten(&OneByOne(rows.clone()), &keys);
            assert_eq!(gotten(&rows, &keys), expected, "{name}, seed {seed}");
            found += expected
                .iter()
                .filter(|row| matches!(row, Ok(Some(_))))
                .count();
            let expected = first(&rows, &prefixes, true);
            assert_eq!(
                first(&rows, &prefixes, false),
                expected,
                "{name}, seed {seed}"
            );
            let is_whole = |row: &&Result<_, _>| matches!(row, Ok(Some((_, Some(_)))));
            entries += expected.iter().filter(is_whole).count();
        }
        assert!(found > 500 && entries > 100, "{found} {entries}");
    }

    /// Where some bytes are others, what is read together is what is read alone, or an error; where alone there is an error, it is what was there.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "SQLite reads files on the disk")]
    fn damage_leaves_what_can_be_read_alone() {
        let seed = std::env::var("LARDER_SEED").map_or(1, |seed| seed.parse().unwrap());
        let mut random = Random::new(seed);
        let store = larder_fixtures::get("s156-lite").open();
        let whole = open(&store.sqlite());
        let (keys, prefixes) = keys_of(&whole, &mut random);
        let before = gotten(&whole, &keys);
        let mut failed = 0;
        for round in 0..30 {
            let copy = tempfile::tempdir().unwrap();
            for entry in std::fs::read_dir(store.sqlite()).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    let mut bytes = std::fs::read(entry.path()).unwrap();
                    // Behind the pages of the schema.
                    if bytes.len() > 32 << 10 {
                        let at = (32 << 10) + random.index(bytes.len() - (32 << 10));
                        bytes[at] ^= 1 << random.below(8);
                    }
                    std::fs::write(copy.path().join(entry.file_name()), bytes).unwrap();
                }
            }
            let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
            let Ok((rows, ..)) = crate::open::read(&fs, copy.path(), Path::new("")) else {
                continue;
            };
            for (n, row) in gotten(&rows, &keys).into_iter().enumerate() {
                let mut value = Vec::new();
                let alone = rows.get_into(&keys[n], &mut value);
                let alone = alone.map(|is_there| is_there.then_some(value));
                failed += usize::from(row.is_err());
                let alone = alone.map_err(|error| error.to_string());
                // Another time SQLite may read what it found damaged the first time.
                let is_right = row == alone || row.is_err() || (alone.is_err() && row == before[n]);
                assert!(
                    is_right,
                    "round {round}, seed {seed}, {:02x?}: {row:?}, {alone:?}",
                    keys[n]
                );
            }
            // What keys that are no more in order lead to depends on the way.
            first(&rows, &prefixes, false);
        }
        assert!(failed > 0, "no damage was met");
    }
}
