//! Files that a disk or a stranger has harmed.

use larder_backing_store::{CursorDirection, ErrorKind};
use larder_fixtures::random::Random;

use crate::support::{Files, files, open, rows_of, walk};

/// Every row that comes out is one of the undamaged store, or a changed byte is in it: SQLite has no checksums. What counts is that
/// reading ends, and nothing panics.
fn check_harmed(files: &Files, what: &str) -> usize {
    let store = match open(files) {
        Ok(store) => store,
        Err(error) => {
            let is_expected = matches!(error.kind(), ErrorKind::NotAStore | ErrorKind::Io);
            assert!(is_expected, "{what}: {error}");
            return 1;
        }
    };
    let mut problems = Vec::new();
    let databases = store.databases(&mut problems).unwrap();
    for database in &databases {
        for object_store in &database.object_stores {
            let mut records = store.records(database.id, object_store.id, CursorDirection::Prev);
            loop {
                match records.next() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}")
                    }
                }
            }
        }
    }
    let (_, lost) = walk(&mut store.rows());
    lost + problems.len() + store.recovery().problems.len()
}

#[test]
fn harm_to_any_byte_or_page_ends_in_rows_and_named_damage() {
    let whole = files("s156-lite");
    let seed = std::env::var("LARDER_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("LARDER_SEED={seed}");
    let (mut random, mut tried, mut noticed) = (Random::new(seed), 0, 0);
    let count = 400 / larder_fixtures::sampled(8);
    for _ in 0..count {
        let mut harmed = whole.clone();
        let file = random.below(harmed.len() as u64) as usize;
        let bytes = &mut harmed[file].1;
        let at = random.below(bytes.len() as u64) as usize;
        let what = match random.below(4) {
            0 => {
                bytes[at] ^= 1 << random.below(8);
                format!("bit of byte {at}")
            }
            1 => {
                bytes.truncate(at);
                format!("cut at {at}")
            }
            2 => {
                let page = at / 4096 * 4096;
                bytes[page..page + 4096].fill(0);
                format!("page at {page} of zeros")
            }
            _ => {
                let (from, to) = (
                    at / 4096 * 4096,
                    random.below(bytes.len() as u64 / 4096) as usize * 4096,
                );
                bytes.copy_within(from..from + 4096, to);
                format!("page at {from} at {to}, too")
            }
        };
        let what = format!("{}: {what}", harmed[file].0);
        noticed += usize::from(check_harmed(&harmed, &what) > 0);
        tried += 1;
    }
    println!("{tried} harms, {noticed} of them noticed");
    assert!(noticed > tried / 4);
}

#[test]
fn a_damaged_page_costs_its_own_rows_and_no_others() {
    let whole = files("s156-killed-upgrade");
    let all = rows_of(&whole);
    let mut pages = 0;
    for (file, (_, bytes)) in whole.iter().enumerate() {
        // Leaves of tables and of indexes. A leaf of the schema, or of metadata, can cost a database.
        let is_leaf = |page: &usize| [0x0a, 0x0d].contains(&bytes[*page]);
        let leaves = (4096..bytes.len()).step_by(4096).filter(is_leaf);
        for page in leaves {
            let mut harmed = whole.clone();
            harmed[file].1[page] = 0xff;
            let Ok(store) = open(&harmed) else { continue };
            let (rows, lost) = walk(&mut store.rows());
            if lost == 0 || !store.recovery().problems.is_empty() {
                continue;
            }
            let known = rows.iter().filter(|row| all.contains(row)).count();
            assert_eq!(known, rows.len(), "page at {page}");
            assert!(
                known * 10 > all.len() * 8,
                "page at {page}: {known} of {}",
                all.len()
            );
            pages += 1;
        }
    }
    assert!(pages > 4, "{pages}");
    println!("{pages} pages with damage of {} rows", all.len());
}

#[test]
fn a_leaf_of_an_index_that_stands_twice_is_noticed() {
    let whole = files("s156-killed-upgrade");
    let mut noticed = 0;
    for (file, (_, bytes)) in whole.iter().enumerate() {
        let leaves: Vec<usize> = (4096..bytes.len())
            .step_by(4096)
            .filter(|page| bytes[*page] == 0x0a)
            .collect();
        for (from, to) in leaves.iter().zip(leaves.iter().skip(1)) {
            let mut harmed = whole.clone();
            harmed[file].1.copy_within(*from..from + 4096, *to);
            // The walk sees that no row comes out of order.
            noticed += usize::from(check_harmed(&harmed, "a leaf twice") > 0);
        }
    }
    assert!(noticed > 0);
}
