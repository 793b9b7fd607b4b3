//! How a page is opened.

use crate::tree::Fanout;
use larder_leveldb::{Durability, Options};

/// No key is longer, whatever [`PageOptions::key_len_max`] says.
pub const KEY_LEN_MAX: usize = 65_535;

/// Which pieces that nothing needs [`Page::collect`](crate::Page::collect) deletes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CollectPolicy {
    /// None.
    Never,
    /// What commits left that were pruned, and journals that were dropped; and the trees of commits that have been synced, unless they are
    /// heads or in use: they can be fetched again.
    #[default]
    EagerRootNodes,
    /// Those, and whatever has just been in use and is needed no more.
    EagerLiveReferences,
}

/// Which commits [`Page::prune`](crate::Page::prune) deletes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrunePolicy {
    /// None: the history stays.
    #[default]
    Never,
    /// Those that the latest common ancestor of all commits in use came of. A device that has last met this one before that cannot merge
    /// with it any more.
    LocalImmediate,
}

/// How a page is opened.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// How long keys may be (256 bytes, as in Ledger), at most [`KEY_LEN_MAX`].
    pub key_len_max: usize,
    /// The fan-out of a page that is made ([`Fanout::Of256`]). A page that is there has its own.
    pub fanout: Fanout,
    /// What `collect` deletes ([`CollectPolicy::EagerRootNodes`]).
    pub collect: CollectPolicy,
    /// What `prune` deletes ([`PrunePolicy::Never`]).
    pub prune: PrunePolicy,
    /// What a commit survives once it is made ([`Durability::Strict`]: the death of the machine).
    pub durability: Durability,
    /// How the engine is opened; the comparator must be the bytewise one.
    pub db: Options,
}

impl Default for PageOptions {
    fn default() -> PageOptions {
        PageOptions {
            key_len_max: 256,
            fanout: Fanout::default(),
            collect: CollectPolicy::default(),
            prune: PrunePolicy::default(),
            durability: Durability::Strict,
            db: Options::default(),
        }
    }
}
