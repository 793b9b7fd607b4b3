//! What a page is like.

use std::sync::Arc;

use larder_leveldb::storage::FileSystem;
use larder_pages::{Dialect, Error, Page, PageUse};
use serde::Serialize;

use super::moment::iso;
use super::place::name_of;
use super::{FoundPage, ShownBytes};
use crate::display::Hex;
use crate::report::Report;
use crate::sizes::sizes_below;

/// What a page is like. Field names are part of the command's contract; `None` is what cannot be read, or is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageState {
    /// The ledger's name: a string, or `{"bytes": HEX}`.
    pub ledger: Option<serde_json::Value>,
    /// The page's id in hexadecimal digits.
    pub page: Option<String>,
    /// The id as text, if it is printable.
    pub name: Option<String>,
    /// The folder of its LevelDB.
    pub path: String,
    /// How its rows are named: `names`, or `bytes` as Ledger's last program has them.
    pub dialect: &'static str,
    /// Its heads, oldest first.
    pub heads: Vec<HeadState>,
    /// How many commits are here. The one that every page begins with is not counted.
    pub commits: Option<u64>,
    /// How many of them have not been synced.
    pub unsynced_commits: Option<u64>,
    /// How many pieces are here, by status.
    pub pieces: Option<PieceState>,
    /// Whether all that is here has been synced.
    pub is_synced: Option<bool>,
    /// Bytes of its files.
    pub bytes_on_disk: u64,
    /// When it was closed last, in UTC.
    pub last_used: Option<String>,
    /// Whether a program has it open, or had when it ended.
    pub is_open: Option<bool>,
}

/// A head of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeadState {
    /// Its id in hexadecimal digits.
    pub id: String,
    /// When it was made, in UTC.
    pub time: String,
    /// The length of the longest way from the first commit.
    pub generation: u64,
    /// How many entries it has.
    pub entries: Option<u64>,
}

/// Numbers of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PieceState {
    /// Written for a commit that is not there yet.
    pub transient: u64,
    /// In a commit, and only on this device.
    pub local: u64,
    /// In the cloud, too.
    pub synced: u64,
}

impl PageState {
    /// What a page is like, which is open for reading. `tick` is called for each entry; what cannot be read goes to `problem`.
    pub fn of(
        fs: &Arc<dyn FileSystem>,
        found: &FoundPage,
        page: &Page,
        uses: &[PageUse],
        tick: &mut dyn FnMut(),
        report: &mut Report,
    ) -> Self {
        let place = found.leveldb.display().to_string();
        let (bytes_on_disk, _) = sizes_below(&**fs, &found.leveldb, 1, report);
        let problem = &mut |error: Error| report.damage(&place, error);
        let page_use = found.place.as_ref().and_then(|(ledger, id)| {
            let is_it = |one: &&PageUse| one.ledger == *ledger && one.page == *id;
            uses.iter().find(is_it)
        });
        Self {
            ledger: found
                .place
                .as_ref()
                .map(|(ledger, _)| ShownBytes(ledger).to_json()),
            page: found.place.as_ref().map(|(_, id)| Hex(&id.0).to_string()),
            name: found.place.as_ref().and_then(|(_, id)| name_of(*id)),
            path: place.clone(),
            dialect: match page.dialect() {
                Dialect::Names => "names",
                Dialect::Bytes => "bytes",
            },
            heads: heads(page, tick, problem),
            commits: commits(page, problem),
            unsynced_commits: seen(page.unsynced_commits(), problem).map(|ids| ids.len() as u64),
            pieces: seen(page.piece_counts(), problem).map(|counts| PieceState {
                transient: counts.transient,
                local: counts.local,
                synced: counts.synced,
            }),
            is_synced: seen(page.is_synced(), problem),
            bytes_on_disk,
            last_used: page_use.and_then(|one| one.closed).map(iso),
            is_open: page_use.map(|one| one.closed.is_none()),
        }
    }
}

fn seen<T>(found: larder_pages::Result<T>, problem: &mut dyn FnMut(Error)) -> Option<T> {
    found.map_err(problem).ok()
}

fn heads(page: &Page, tick: &mut dyn FnMut(), problem: &mut dyn FnMut(Error)) -> Vec<HeadState> {
    let heads = page.heads().into_iter();
    let heads = heads.map(|head| HeadState {
        id: Hex(&head.id().0).to_string(),
        time: iso(head.timestamp()),
        generation: head.generation(),
        entries: entries(page, &head, tick, problem),
    });
    heads.collect()
}

/// How many entries a commit has; `None` if some cannot be read.
fn entries(
    page: &Page,
    commit: &larder_pages::Commit,
    tick: &mut dyn FnMut(),
    problem: &mut dyn FnMut(Error),
) -> Option<u64> {
    let mut count = Some(0_u64);
    for entry in seen(page.tree(commit).entries(b""), problem)?.past_unreadable() {
        tick();
        match entry {
            Ok(_) => count = count.map(|count| count + 1),
            Err(error) => {
                count = None;
                problem(error);
            }
        }
    }
    count
}

fn commits(page: &Page, problem: &mut dyn FnMut(Error)) -> Option<u64> {
    let mut count = Some(0_u64);
    for id in seen(page.commit_ids(b""), problem)? {
        match id {
            Ok(_) => count = count.map(|count| count + 1),
            Err(error) => {
                count = None;
                problem(error);
            }
        }
    }
    count
}
