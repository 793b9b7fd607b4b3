//! What happens to a row: a bit flips, in its value or its key; its value is cut; it is lost; two values change places.

use larder_codec::row_key::RowKey;
use larder_fixtures::random::Random;

use super::golden::{Golden, is_record};

/// Rows that go, and rows that come or change.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    pub(crate) deleted: Vec<Vec<u8>>,
    pub(crate) put: Vec<(Vec<u8>, Vec<u8>)>,
}

fn flip(random: &mut Random, bytes: &mut [u8]) {
    let (at, bit) = (random.index(bytes.len().max(1)), random.below(8));
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << bit;
    }
}

/// So many damages of rows of metadata: of each once if there are not as many, and further ones of any if `count` has room
/// for each several times.
pub(crate) fn damages(golden: &Golden, random: &mut Random, count: usize) -> Vec<Damage> {
    let metadata: Vec<(&Vec<u8>, &Vec<u8>)> = golden
        .rows
        .iter()
        .filter(|(key, _)| !is_record(key))
        .filter(|(key, _)| !matches!(RowKey::decode_exact(key), Ok(RowKey::Scopes(_))))
        .collect();
    let mut order: Vec<usize> = (0..metadata.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.index(at + 1));
    }
    let rounds = (count / metadata.len().max(1)).max(1);
    let chosen = order.iter().cycle().take((rounds * order.len()).min(count));
    let places: Vec<usize> = chosen.copied().collect();
    let rows = |at: usize| (metadata[at].0.clone(), metadata[at].1.clone());
    places
        .into_iter()
        .map(|at| damage_of(rows(at), rows(random.index(metadata.len())), random))
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
            flip(random, &mut value);
            put.push((key, value));
        }
        2 => {
            value.truncate(random.index(value.len().max(1)));
            put.push((key, value));
        }
        3 => deleted.push(key),
        4 => {
            let mut other = key.clone();
            flip(random, &mut other);
            deleted.push(key);
            put.push((other, value));
        }
        _ => put.extend([(key, other_value), (other_key, value)]),
    }
    Damage { deleted, put }
}
