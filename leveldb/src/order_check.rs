//! Whether the keys of a store's tables are in the comparator's order, found out when the store is opened.
//!
//! A name of a comparator is a promise that not every program keeps: compiled otherwise, the same code may compare bytes as
//! signed, and writes tables with right checksums whose keys ascend in its own order. Their ranges in the MANIFEST, and
//! which tables a compaction took along, follow that order, too. So one such table makes the whole store one of another
//! order: then no range is relied on, a table is searched only if all its keys were seen to ascend, every other is sorted anew,
//! and sequence numbers alone say what is newer.

use crate::core::Core;
use crate::table::{Ascent, Look, survey};
use crate::table_file::TableFile;
use crate::version::Version;
use std::sync::Arc;

/// The order of a store's keys, against that of its comparator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// In every table, all keys that can be read ascend.
    Own,
    /// The tables are larger than [`Options::order_check_bytes`](crate::Options::order_check_bytes): the keys of their indexes
    /// ascend, the others were not looked at.
    OwnAsIndexed,
    /// The ranges of the tables that the MANIFEST lists do not overlap where they must not; no table was looked at
    /// ([`Options::trusts_order`](crate::Options::trusts_order)).
    OwnAsListed,
    /// Some do not. The store is read all the same, and shown in the comparator's order, with all keys of those tables in memory,
    /// once; it cannot be opened for writing.
    Foreign,
}

/// The tables, and what was found.
pub(crate) struct Checked {
    pub(crate) files: Vec<TableFile>,
    pub(crate) order: KeyOrder,
}

impl Checked {
    /// A table whose keys do not ascend.
    pub(crate) fn first_unsorted(&self) -> Option<&TableFile> {
        self.files.iter().find(|file| file.is_unsorted)
    }
}

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Tables of not more bytes than this together are read whole.
    pub(crate) whole_bytes: u64,
    /// No table is opened.
    pub(crate) trusts: bool,
}

impl Effort {
    /// All keys.
    pub(crate) const WHOLE: Effort = Effort {
        whole_bytes: u64::MAX,
        trusts: false,
    };
}

/// Looks at tables: as much as `effort` says, and at all keys if something speaks for another order already.
pub(crate) fn check(
    core: &Arc<Core>,
    mut files: Vec<TableFile>,
    effort: Effort,
    is_suspect: bool,
) -> Checked {
    let lens = files.iter().map(|file| file.len_bytes.unwrap_or(0));
    let len = lens.fold(0, u64::saturating_add);
    let is_suspect = is_suspect || overlaps(core, &files);
    if effort.trusts && !is_suspect {
        let order = KeyOrder::OwnAsListed;
        return Checked { files, order };
    }
    if len > effort.whole_bytes && !is_suspect {
        let is_broken = |file| look_at(core, file, Look::Index) == Ascent::Broken;
        if !files.iter().any(is_broken) {
            let order = KeyOrder::OwnAsIndexed;
            return Checked { files, order };
        }
    }
    let look = |file: &TableFile| look_at(core, file, Look::Whole);
    let found: Vec<Ascent> = files.iter().map(look).collect();
    let is_foreign =
        found.contains(&Ascent::Broken) || (is_suspect && truly_overlap(core, &files, &found));
    if !is_foreign {
        let order = KeyOrder::Own;
        return Checked { files, order };
    }
    for (file, ascent) in files.iter_mut().zip(found) {
        (file.smallest, file.largest) = match ascent {
            Ascent::Whole(Some((first, last))) => (Some(first), Some(last)),
            Ascent::Whole(None) => (None, None),
            Ascent::Partly | Ascent::Broken => {
                file.is_unsorted = true;
                (None, None)
            }
        };
    }
    let order = KeyOrder::Foreign;
    Checked { files, order }
}

/// The order of a table's keys. One that cannot be opened is [`Ascent::Partly`] in order.
fn look_at(core: &Core, file: &TableFile, look: Look) -> Ascent {
    core.opened(file)
        .map_or(Ascent::Partly, |table| survey(core, &table, file, look))
}

/// Whether tables of one level above 0 overlap, as the MANIFEST has their ranges.
fn overlaps(core: &Core, files: &[TableFile]) -> bool {
    let is_deep = |file: &&TableFile| file.level > 0 && file.smallest.is_some();
    let deep = files.iter().filter(is_deep).cloned();
    Version::new(&core.order, deep.collect()).has_overlap()
}

/// Whether they do by the keys that they have. Ranges that tables do not have are damage of the MANIFEST instead.
fn truly_overlap(core: &Core, files: &[TableFile], found: &[Ascent]) -> bool {
    let with_range = |(file, ascent): (&TableFile, &Ascent)| match ascent {
        Ascent::Whole(Some((first, last))) => Some(TableFile {
            smallest: Some(first.clone()),
            largest: Some(last.clone()),
            ..file.clone()
        }),
        _ => None,
    };
    let files = files.iter().zip(found).filter_map(with_range);
    overlaps(core, &files.collect::<Vec<_>>())
}
