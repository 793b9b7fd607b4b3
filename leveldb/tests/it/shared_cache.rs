//! One block cache for several stores: each reads its own rows, and a closed one leaves nothing there.

use larder_leveldb::storage::MemoryFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{BlockCache, Db, Durability, Options};
use std::path::Path;
use std::sync::Arc;

const ROWS: u32 = 2000;

/// A store whose rows lie in tables. Two of these have tables of equal numbers, with blocks at equal offsets.
fn store(fs: &Arc<MemoryFileSystem>, name: &str, cache: &BlockCache) -> Db {
    let options = Options {
        create_if_missing: true,
        block_cache: cache.clone(),
        ..Options::default()
    };
    let db = Db::open(fs.clone(), Path::new(name), options).unwrap();
    let mut batch = BatchWriter::new();
    for n in 0..ROWS {
        batch.put(&key(n), format!("{name} {n:0100}").as_bytes());
    }
    db.write(&mut batch, Durability::Relaxed).unwrap();
    db.compact_range(None, None).unwrap();
    db
}

fn key(n: u32) -> Vec<u8> {
    format!("key {n:06}").into_bytes()
}

fn check(db: &Db, name: &str) {
    for n in 0..ROWS {
        let value = db.get(&key(n)).unwrap().unwrap();
        assert_eq!(value, format!("{name} {n:0100}").into_bytes());
    }
    let mut iter = db.snapshot().iter();
    for n in (0..ROWS).rev() {
        iter.seek(&key(n)).unwrap();
        assert!(iter.value().unwrap().starts_with(name.as_bytes()));
    }
}

#[test]
fn stores_with_equal_table_numbers_read_their_own_rows() {
    let cache = BlockCache::new(8 << 20);
    let fs = Arc::new(MemoryFileSystem::new());
    let stores = ["one", "two"].map(|name| (store(&fs, name, &cache), name));
    let tables = stores.each_ref().map(|(db, _)| {
        db.files()
            .into_iter()
            .map(|file| file.number)
            .collect::<Vec<_>>()
    });
    assert_eq!(tables[0], tables[1]);
    for _ in 0..2 {
        stores.iter().for_each(|(db, name)| check(db, name));
    }
    // All data blocks of both are there.
    assert!(cache.used_bytes() > 2 * ROWS as usize * 100);
}

#[test]
fn blocks_of_replaced_tables_and_closed_stores_leave_the_cache() {
    let cache = BlockCache::new(8 << 20);
    let fs = Arc::new(MemoryFileSystem::new());
    let (one, two) = (store(&fs, "one", &cache), store(&fs, "two", &cache));
    check(&one, "one");
    let of_one = cache.used_bytes();
    check(&two, "two");
    let of_both = cache.used_bytes();
    assert!(of_both > of_one && of_one > ROWS as usize * 100);
    // Its tables are written anew, and the old ones removed.
    one.compact_range(None, None).unwrap();
    // Blocks that take the memory of others may have a few bytes more of it.
    assert!(cache.used_bytes() < of_both - of_one + 1000);
    check(&one, "one");
    drop(two);
    assert!(cache.used_bytes() < of_one + 1000);
    drop(one);
    assert_eq!(cache.used_bytes(), 0);
}
