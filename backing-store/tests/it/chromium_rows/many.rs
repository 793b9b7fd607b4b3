//! `build-lifecycle.js`, `many`: 300 records of a seeded generator, a quarter of them overwritten, a tenth deleted.

use larder_codec::Key;

use super::*;

/// xorshift32, as the page's.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % limit
    }
}

/// The page's `WORDS`.
const WORDS: &str = "larder shelf jar honey salt barley oats plum quince vinegar cellar crate label winter harvest basket loaf \
    butter rind smoke brine pickle kettle ladle spice clove müsli crème jalapeño žito соль мука 蜂蜜 味噌 🍯 🫙";

/// A row's index keys. Its text is not made, but takes as many numbers.
fn row(random: &mut Random) -> PutIndexKeys {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let shelf = format!("shelf {}", random.below(12));
    let weight = f64::from(random.below(100_000)) / 8.0;
    let units = 40 + random.below(60) as usize;
    let mut len = 0;
    while len < units {
        let word = words[random.below(words.len() as u32) as usize];
        len += word.encode_utf16().count() + usize::from(len > 0);
    }
    vec![(31, shelf.as_str().into()), (32, Key::Number(weight))]
}

#[test]
fn many_records_overwritten_in_part_leave_the_rows_that_chromium_leaves() {
    for fixture in FIXTURES {
        let written = Written::new(fixture, "many");
        let ours = Ours::new(written.id);
        ours.version_change(1, |transaction| {
            create_store(transaction, "rows", path("id"), false);
            create_index(transaction, 1, "by shelf", path("shelf"), "");
            create_index(transaction, 1, "by weight", path("weight"), "");
        });
        let mut random = Random(77);
        ours.transact(&[1], |transaction| {
            for id in 0..300 {
                put_ok(transaction, 1, f64::from(id), &row(&mut random));
            }
        });
        ours.transact(&[1], |transaction| {
            for id in (0..300).step_by(4) {
                put_ok(transaction, 1, f64::from(id), &row(&mut random));
            }
            delete(transaction, 1, 150.0, 180.0);
        });
        ours.assert_same(&written);
    }
}
