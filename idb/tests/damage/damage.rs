//! What happens to a row: a bit flips, in its value or its key; its value is cut; it is lost; two values change places.

use larder_codec::row_key::RowKey;

use super::golden::{Golden, is_record};

/// Rows that go, and rows that come or change.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    pub(crate) deleted: Vec<Vec<u8>>,
    pub(crate) put: Vec<(Vec<u8>, Vec<u8>)>,
}

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn flip(&mut self, bytes: &mut [u8]) {
        let at = self.below(bytes.len());
        let bit = self.below(8);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }
}

/// So many damages of rows of metadata: of each once if there are not as many, and further ones of any if `count` has room for each
/// several times.
pub(crate) fn damages(golden: &Golden, random: &mut Random, count: usize) -> Vec<Damage> {
    let metadata: Vec<(&Vec<u8>, &Vec<u8>)> = golden
        .rows
        .iter()
        .filter(|(key, _)| !is_record(key))
        .filter(|(key, _)| !matches!(RowKey::decode_exact(key), Ok(RowKey::Scopes(_))))
        .collect();
    let mut order: Vec<usize> = (0..metadata.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    let rounds = (count / metadata.len().max(1)).max(1);
    let chosen = order.iter().cycle().take((rounds * order.len()).min(count));
    let places: Vec<usize> = chosen.copied().collect();
    let rows = |at: usize| (metadata[at].0.clone(), metadata[at].1.clone());
    places
        .into_iter()
        .map(|at| damage_of(rows(at), rows(random.below(metadata.len())), random))
        .collect()
}

/// A damage of a row, perhaps of another with it.
fn damage_of(
    (key, mut value): (Vec<u8>, Vec<u8>),
    (other_key, other_value): (Vec<u8>, Vec<u8>),
    random: &mut Random,
) -> Damage {
    let (mut deleted, mut put) = (Vec::new(), Vec::new());
    match random.below(6) {
        0 | 1 => {
            random.flip(&mut value);
            put.push((key, value));
        }
        2 => {
            value.truncate(random.below(value.len()));
            put.push((key, value));
        }
        3 => deleted.push(key),
        4 => {
            let mut other = key.clone();
            random.flip(&mut other);
            deleted.push(key);
            put.push((other, value));
        }
        _ => put.extend([(key, other_value), (other_key, value)]),
    }
    Damage { deleted, put }
}
