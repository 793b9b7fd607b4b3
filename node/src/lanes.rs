//! [`Lanes`]: which transactions' ends script hears before it hears of another.
//!
//! A transaction that waited for another begins when that one has ended in the engine; its results may come here, from another thread or this one, before the
//! other's end does. Script must not see that: the end comes first (specification, 2.7.2).

use std::collections::HashMap;

use larder_idb::JsString;

/// A transaction's queue: its number, which is used again, and a serial number, which is not.
pub(crate) type Serial = (u32, u64);

/// By engine, database and object store, the last transactions.
#[derive(Debug, Default)]
pub(crate) struct Lanes(HashMap<(u32, JsString), HashMap<JsString, Lane>>);

#[derive(Debug, Default)]
struct Lane {
    writer: Option<Serial>,
    /// Those that were made after it.
    readers: Vec<Serial>,
}

impl Lanes {
    /// Takes a new transaction up: those whose ends come before anything of its own. Others, which these wait for in turn, need not be listed. `is_open` says of which the end
    /// has not been answered.
    pub(crate) fn enter(
        &mut self,
        place: (u32, JsString),
        stores: Vec<JsString>,
        writes: bool,
        this: Serial,
        is_open: impl Fn(Serial) -> bool,
    ) -> Vec<Serial> {
        let mut before = Vec::new();
        let lanes = self.0.entry(place).or_default();
        for store in stores {
            let lane = lanes.entry(store).or_default();
            before.extend(lane.writer.filter(|writer| is_open(*writer)));
            lane.readers.retain(|reader| is_open(*reader));
            if writes {
                before.append(&mut lane.readers);
                lane.writer = Some(this);
            } else {
                lane.readers.push(this);
            }
        }
        before.sort_unstable();
        before.dedup();
        before
    }

    /// Forgets an engine that has been closed.
    pub(crate) fn forget(&mut self, engine: u32) {
        self.0.retain(|(of, _), _| *of != engine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enters a transaction with this serial number; all before it are open, but for those in `ended`.
    fn enter(
        lanes: &mut Lanes,
        serial: u64,
        stores: &[&str],
        writes: bool,
        ended: &[u64],
    ) -> Vec<u64> {
        let stores = stores.iter().map(|name| JsString::from(*name)).collect();
        let is_open = |(_, serial): Serial| !ended.contains(&serial);
        let before = lanes.enter((0, "db".into()), stores, writes, (0, serial), is_open);
        before.into_iter().map(|(_, serial)| serial).collect()
    }

    #[test]
    fn a_transaction_comes_behind_the_writer_before_it_and_a_writer_behind_readers() {
        let mut lanes = Lanes::default();
        assert_eq!(enter(&mut lanes, 1, &["a"], false, &[]), []);
        assert_eq!(enter(&mut lanes, 2, &["a", "b"], false, &[]), []);
        assert_eq!(enter(&mut lanes, 3, &["a", "b"], true, &[]), [1, 2]);
        assert_eq!(enter(&mut lanes, 4, &["c"], true, &[]), []);
        assert_eq!(enter(&mut lanes, 5, &["b", "c"], false, &[]), [3, 4]);
        assert_eq!(enter(&mut lanes, 6, &["a"], true, &[]), [3]);
        assert_eq!(enter(&mut lanes, 7, &["b"], true, &[1, 2, 3, 4]), [5]);
    }

    #[test]
    fn databases_and_engines_are_apart() {
        let mut lanes = Lanes::default();
        let is_open = |_: Serial| true;
        let mut enter = |engine, database: &str, serial| {
            lanes.enter(
                (engine, database.into()),
                vec!["a".into()],
                true,
                (0, serial),
                is_open,
            )
        };
        assert_eq!(enter(0, "x", 1), []);
        assert_eq!(enter(0, "y", 2), []);
        assert_eq!(enter(1, "x", 3), []);
        assert_eq!(enter(0, "x", 4), [(0, 1)]);
        lanes.forget(0);
        let after = lanes.enter((0, "x".into()), vec!["a".into()], true, (0, 5), is_open);
        assert_eq!(after, []);
    }
}
