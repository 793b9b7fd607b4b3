//! The tree of a page's entries.
//!
//! Keys have levels, from their hashes; a node has the entries of a level between two of higher ones, and children of the level below in
//! the gaps. So the tree depends on its entries alone, and not on the order in which they came: pages with the same entries have the
//! same root, and what differs between two is found without reading what does not. `docs/format/pages.md`, "The tree of entries".

mod apply;
mod cache;
mod cursor;
mod diff;
mod entries;
mod level;
mod node;
mod nodes;
mod tree_at;

pub(crate) use cache::NodeCache;
pub use diff::{Diff, EntryDiff, ThreeWay, ThreeWayDiff};
pub use entries::Entries;
pub use level::Fanout;
pub use tree_at::Tree;

#[cfg(test)]
pub(crate) use node::TreeNode;
#[cfg(test)]
pub(crate) use tests::value as tests_value;

#[cfg(test)]
mod tests;
