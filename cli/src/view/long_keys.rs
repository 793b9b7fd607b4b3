//! Keys that are too long to go to the page and back in every question: it gets a name for each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::stores::locked;
use crate::display::Hex;

/// Longer keys have names.
const KEY_BYTES_MAX: usize = 4096;
/// So many bytes of keys are kept, and the newest in any case.
const KEPT_BYTES_MAX: usize = 64 << 20;
/// What a name begins with, and no hex digits do.
const MARK: char = '~';
/// Members of questions that have keys.
const MEMBERS: [&str; 4] = ["primaryKey", "key", "hex", "after"];

/// The keys that have names, oldest first.
#[derive(Default)]
pub(super) struct LongKeys(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    keys: VecDeque<(String, Arc<[u8]>)>,
    bytes: usize,
}

impl LongKeys {
    /// What the page has in place of a key's bytes: their hex digits, or a name.
    pub(super) fn shown(&self, key: &[u8]) -> String {
        if key.len() <= KEY_BYTES_MAX {
            return Hex(key).to_string();
        }
        let digest = Sha256::digest(key);
        let name = format!("{MARK}{}", Hex(&digest));
        let mut kept = locked(&self.0);
        let known = kept.keys.iter().position(|(other, _)| *other == name);
        let entry = match known.and_then(|at| kept.keys.remove(at)) {
            Some(entry) => entry,
            None => {
                kept.bytes += key.len();
                (name.clone(), key.into())
            }
        };
        kept.keys.push_back(entry);
        while kept.bytes > KEPT_BYTES_MAX && kept.keys.len() > 1 {
            let oldest = kept.keys.pop_front();
            kept.bytes -= oldest.map_or(0, |(_, key)| key.len());
        }
        name
    }

    /// Puts hex digits where a question has names. One that is not kept any more stays, and is no key.
    pub(super) fn put_in(&self, asked: &mut Map<String, Value>) {
        for (member, value) in asked {
            match value {
                Value::Object(members) => self.put_in(members),
                Value::String(text) if text.starts_with(MARK) && MEMBERS.contains(&&**member) => {
                    if let Some(key) = self.key(text) {
                        *text = Hex(&key).to_string();
                    }
                }
                _ => {}
            }
        }
    }

    fn key(&self, name: &str) -> Option<Arc<[u8]>> {
        let kept = locked(&self.0);
        let found = kept.keys.iter().find(|(other, _)| other == name);
        found.map(|(_, key)| Arc::clone(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn put_in(keys: &LongKeys, asked: Value) -> Value {
        let mut asked = asked.as_object().unwrap().clone();
        keys.put_in(&mut asked);
        asked.into()
    }

    #[test]
    fn a_short_key_is_its_digits_and_a_long_one_comes_back_by_its_name() {
        let keys = LongKeys::default();
        assert_eq!(keys.shown(&[0, 0xff]), "00ff");
        let long = vec![7; KEY_BYTES_MAX + 1];
        let name = keys.shown(&long);
        assert_eq!((name.len(), keys.shown(&long)), (65, name.clone()));
        let asked = json!({"primaryKey": name, "lower": {"hex": name}, "text": name});
        let digits = "07".repeat(long.len());
        let expected = json!({"primaryKey": digits, "lower": {"hex": digits}, "text": name});
        assert_eq!(put_in(&keys, asked), expected);
        let unknown = json!({"after": format!("~{}", "0".repeat(64))});
        assert_eq!(put_in(&keys, unknown.clone()), unknown);
    }

    #[test]
    fn the_oldest_keys_go_and_one_that_is_asked_for_again_is_not_old() {
        let keys = LongKeys::default();
        let key = |n: u8| vec![n; KEPT_BYTES_MAX / 4];
        let names: Vec<String> = (0..4).map(|n| keys.shown(&key(n))).collect();
        assert!(names.iter().all(|name| keys.key(name).is_some()));
        keys.shown(&key(0));
        keys.shown(&key(4));
        assert!(keys.key(&names[0]).is_some() && keys.key(&names[1]).is_none());
        // One that is longer than all that may be kept.
        let longest = keys.shown(&vec![9; KEPT_BYTES_MAX + 1]);
        assert!(keys.key(&longest).is_some() && keys.key(&names[0]).is_none());
        assert_eq!(locked(&keys.0).keys.len(), 1);
    }
}
