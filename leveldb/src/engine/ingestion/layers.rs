//! The tables of an ingestion, in layers: within one none overlap, and what is newer lies in a later one.

use super::super::compaction::{largest, smallest};
use crate::internal_key::{InternalOrder, user_key};
use crate::table_file::TableFile;
use std::cmp::Ordering;

/// So many layers of one size are merged into one.
const FAN_IN: usize = 16;

/// Tables that overlap no others: of each layer those that it has, the newest layer first.
pub(super) type Group = Vec<Vec<TableFile>>;

/// The layers, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Layers(Vec<Layer>);

#[derive(Debug, Default)]
struct Layer {
    /// How often its tables were merged.
    merges: u32,
    /// In order.
    files: Vec<TableFile>,
}

impl Layer {
    /// The first table that does not end before another one begins.
    fn first_not_before(&self, order: &InternalOrder, file: &TableFile) -> usize {
        let is_before = |own: &TableFile| ends_before(order, own, file);
        self.files.partition_point(is_before)
    }

    fn overlaps(&self, order: &InternalOrder, file: &TableFile) -> bool {
        let next = self.files.get(self.first_not_before(order, file));
        next.is_some_and(|next| !ends_before(order, file, next))
    }

    fn insert(&mut self, order: &InternalOrder, file: TableFile) {
        let at = self.first_not_before(order, &file);
        self.files.insert(at, file);
    }
}

/// Whether one ends before the other begins.
fn ends_before(order: &InternalOrder, a: &TableFile, b: &TableFile) -> bool {
    order.compare_user(user_key(largest(a)), user_key(smallest(b))) == Ordering::Less
}

impl Layers {
    /// Adds the tables of a run, which do not overlap. Each goes down as far as it overlaps none, so rows that are ingested in order
    /// are in one layer, however many runs there are.
    pub(super) fn add(&mut self, order: &InternalOrder, tables: Vec<TableFile>) {
        let mut newest = Layer::default();
        for file in tables {
            let free = |layer: &&mut Layer| !layer.overlaps(order, &file);
            match self.0.iter_mut().rev().take_while(free).last() {
                Some(layer) => layer.insert(order, file),
                None => newest.files.push(file),
            }
        }
        if !newest.files.is_empty() {
            self.0.push(newest);
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &TableFile> {
        self.0.iter().flat_map(|layer| &layer.files)
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = &[TableFile]> {
        self.0.iter().rev().map(|layer| &*layer.files)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&TableFile) -> bool) {
        for layer in &mut self.0 {
            layer.files.retain(&keep);
        }
    }

    /// Where the newest layers begin that are to be merged, since they are many.
    pub(super) fn crowd(&self) -> Option<usize> {
        let from = self.0.len().checked_sub(FAN_IN)?;
        let newest = self.0.get(from..)?;
        let merges = newest.last()?.merges;
        let are_alike = newest.iter().all(|layer| layer.merges == merges);
        are_alike.then_some(from)
    }

    /// The tables of the layers from one on, in groups that overlap no other group, in order. `None` if there is but one layer.
    pub(super) fn groups(&self, order: &InternalOrder, from: usize) -> Option<Vec<Group>> {
        let layers = self.0.get(from..).filter(|layers| layers.len() > 1)?;
        let ages = layers.iter().rev().enumerate();
        let mut files: Vec<(usize, &TableFile)> = ages
            .flat_map(|(age, layer)| layer.files.iter().map(move |file| (age, file)))
            .collect();
        files.sort_by(|(_, a), (_, b)| order.compare(smallest(a), smallest(b)));
        let mut groups: Vec<Vec<(usize, &TableFile)>> = Vec::new();
        let mut last: Option<&TableFile> = None;
        for (age, file) in files {
            let goes_on = last.is_some_and(|last| !ends_before(order, last, file));
            match groups.last_mut().filter(|_| goes_on) {
                Some(group) => group.push((age, file)),
                None => groups.push(vec![(age, file)]),
            }
            let is_further = last.is_none_or(|last| {
                order.compare_user(user_key(largest(last)), user_key(largest(file)))
                    == Ordering::Less
            });
            if is_further {
                last = Some(file);
            }
        }
        let by_layer = |mut group: Vec<(usize, &TableFile)>| {
            group.sort_by_key(|(age, _)| *age);
            let layers = group.chunk_by(|(a, _), (b, _)| a == b);
            let files = |layer: &[(usize, &TableFile)]| {
                layer.iter().map(|(_, file)| (*file).clone()).collect()
            };
            layers.map(files).collect()
        };
        Some(groups.into_iter().map(by_layer).collect())
    }

    /// Puts one layer in place of those from one on.
    pub(super) fn replace(&mut self, from: usize, files: Vec<TableFile>) {
        let merges = self
            .0
            .get(from..)
            .unwrap_or_default()
            .iter()
            .map(|layer| layer.merges)
            .max();
        self.0.truncate(from);
        self.0.push(Layer {
            merges: merges.unwrap_or(0) + 1,
            files,
        });
    }
}
