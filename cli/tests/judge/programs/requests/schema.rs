//! Random changes of the schema.

use super::Requests;
use crate::programs::generate::StoreGuess;
use crate::programs::literals::{self, weighted};
use crate::programs::tree::Step;

impl Requests<'_> {
    /// A step of an upgrade's first function.
    pub(in crate::programs) fn upgrade_step(mut self) -> Option<Step> {
        match self.stores.is_empty() || self.random.below(5) < 2 {
            true => self.schema(),
            false => self.step(),
        }
    }

    pub(super) fn schema(&mut self) -> Option<Step> {
        let choice = match self.stores.len() {
            0 => 0,
            1 => weighted(self.random, &[30, 60, 4, 6, 6]),
            _ => weighted(self.random, &[10, 60, 6, 12, 12]),
        };
        let store_at = self.random.below(self.stores.len().max(1) as u64) as usize;
        Some(Step::line(match choice {
            0 => self.create_store(),
            1 => self.create_index(store_at),
            2 => {
                let store = self.stores.remove(store_at);
                format!("t.deleteStore('{}');", store.name)
            }
            3 => {
                let store = &mut self.stores[store_at];
                let index = store.indexes.pop()?;
                format!("t.deleteIndex('{}', '{index}');", store.name)
            }
            _ => self.rename(store_at),
        }))
    }

    fn create_store(&mut self) -> String {
        let name = self.random.pick(&["s", "t", "u", "s"]);
        let key_path = literals::store_key_path(self.random);
        let auto_increment = self.random.one_in(2) && key_path != "'tags'";
        if !self.stores.iter().any(|store| store.name == name) {
            self.stores.push(StoreGuess {
                name: name.into(),
                auto_increment,
                inline: !["undefined", "null"].contains(&key_path),
                indexes: Vec::new(),
            });
        }
        format!(
            "t.createStore('{name}', {{ keyPath: {key_path}, autoIncrement: {auto_increment} }});"
        )
    }

    fn create_index(&mut self, store_at: usize) -> String {
        let name = self.random.pick(&["i", "j", "k", "l"]);
        let key_path = literals::index_key_path(self.random);
        let (unique, multi_entry) = (
            self.random.one_in(5),
            key_path == "'tags'" || self.random.one_in(6),
        );
        let store = &mut self.stores[store_at];
        if !store.indexes.iter().any(|known| known == name) {
            store.indexes.push(name.into());
        }
        format!(
            "t.createIndex('{}', '{name}', {key_path}, {{ unique: {unique}, multiEntry: {multi_entry} }});",
            store.name
        )
    }

    fn rename(&mut self, store_at: usize) -> String {
        let to_store = self.random.pick(&["s", "t", "r"]);
        let to_index = self.random.pick(&["i", "q"]);
        let is_free = !self.stores.iter().any(|store| store.name == to_store);
        let store = &mut self.stores[store_at];
        let old = store.name.clone();
        if let (true, Some(index)) = (self.random.one_in(2), store.indexes.last_mut()) {
            let old_index = std::mem::replace(index, to_index.into());
            return format!("t.rename('{old}.{old_index}', '{to_index}');");
        }
        if is_free {
            store.name = to_store.into();
        }
        format!("t.rename('{old}', '{to_store}');")
    }
}
