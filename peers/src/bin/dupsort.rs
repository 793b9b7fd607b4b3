//! What LMDB says of keys with several values, for `larder-feed`'s test of an index's laws: an index is such a table, of index keys and primary
//! keys. Nothing of Larder is in here.
//!
//! `dupsort FOLDER` reads lines and answers those that ask, in their order. Keys are bytes in hexadecimal, values are numbers.
//!
//! | line | what |
//! |---|---|
//! | `put KEY VALUE`, `delete KEY VALUE` | adds or removes a pair |
//! | `of KEY` | the pairs of a key |
//! | `prefix KEY` | those whose keys begin with it |
//! | `range LOW HIGH` | those with keys from one to the other, both included |
//! | `first LOW HIGH` | the first of each key among them |

#![expect(
    clippy::disallowed_methods,
    reason = "LMDB makes its files in a folder"
)]

use std::io::{BufRead, Write};
use std::ops::Bound;

use heed::byteorder::BigEndian;
use heed::types::{Bytes, U32};
use heed::{Database, DatabaseFlags, EnvOpenOptions, RoTxn};

type Pairs = Database<Bytes, U32<BigEndian>>;

fn bytes(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2);
    digits
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

fn shown(pairs: impl Iterator<Item = heed::Result<(impl AsRef<[u8]>, u32)>>) -> String {
    let pairs = pairs.map(|pair| {
        let (key, value) = pair.expect("a pair");
        let key: String = key
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{key}:{value}")
    });
    Vec::from_iter(pairs).join(" ")
}

fn answer(pairs: &Pairs, transaction: &RoTxn<'_>, what: &str, keys: &[Vec<u8>]) -> String {
    match (what, keys) {
        ("of", [key]) => {
            let found = pairs.get_duplicates(transaction, key).expect("a look-up");
            found.map_or_else(String::new, |found| shown(found))
        }
        ("prefix", [key]) => shown(
            pairs
                .prefix_iter(transaction, key)
                .expect("a walk")
                .move_through_duplicate_values(),
        ),
        ("range" | "first", [low, high]) if low <= high => {
            let range = (
                Bound::Included(low.as_slice()),
                Bound::Included(high.as_slice()),
            );
            let walk = pairs.range(transaction, &range).expect("a walk");
            match what {
                "range" => shown(walk.move_through_duplicate_values()),
                _ => shown(walk.move_between_keys()),
            }
        }
        _ => String::new(),
    }
}

fn main() {
    let folder = std::env::args_os().nth(1).expect("usage: dupsort FOLDER");
    let mut options = EnvOpenOptions::new();
    options.map_size(1 << 30).max_dbs(1);
    // SAFETY: no program else opens or changes the file, which is in a temporary folder of the test's own.
    let env = unsafe { options.open(folder) }.expect("an environment");
    let mut transaction = env.write_txn().expect("a transaction");
    let mut options = env.database_options().types::<Bytes, U32<BigEndian>>();
    options.flags(DatabaseFlags::DUP_SORT).name("index");
    let pairs = options.create(&mut transaction).expect("a table");
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let words: Vec<&str> = line.split(' ').collect();
        match *words {
            ["put", key, value] => {
                let value = value.parse().expect("a number");
                pairs
                    .put(&mut transaction, &bytes(key), &value)
                    .expect("a put");
            }
            ["delete", key, value] => {
                let value = value.parse().expect("a number");
                let done = pairs.delete_one_duplicate(&mut transaction, &bytes(key), &value);
                assert!(done.expect("a deletion"), "{line}: it is not there");
            }
            [what, ref keys @ ..] => {
                let keys: Vec<Vec<u8>> = keys.iter().map(|key| bytes(key)).collect();
                writeln!(out, "{}", answer(&pairs, &transaction, what, &keys)).expect("room");
            }
            [] => {}
        }
    }
}
