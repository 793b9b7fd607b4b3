//! `feed`: a database's change feed, from the oldest transaction on.

use futures_executor::block_on;
use larder_feed::{ReadOptions, Revision, TransactionRevisions};
use larder_view::{Answer, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::read;
use super::preview::Previewed;
use super::shown::key;
use super::stores::Stores;
use super::{answer_json, failed, tree};
use crate::feed::OpenFeeds;

/// So many transactions come at most, and so many revisions of one.
const LIMIT_MAX: usize = 200;
const REVISIONS_MAX: usize = 500;

#[derive(Deserialize)]
struct Asked {
    store: usize,
    database: i64,
    #[serde(default)]
    after: u64,
    limit: usize,
}

pub(super) fn feed(stores: &Stores, asked: &Value, answer: &mut dyn Answer) -> Result<(), Refusal> {
    let asked: Asked = read(asked)?;
    let open = stores.open(asked.store)?;
    let name = &open.database(asked.database)?.name;
    let limit = asked.limit.clamp(1, LIMIT_MAX);
    let feeds =
        OpenFeeds::open(stores.fs.clone(), &open.store.paths().leveldb, false).map_err(failed)?;
    let feed = feeds.of(name).map_err(failed)?;
    // What clean-up has left begins there.
    let start = asked.after.max(block_on(feed.cleaned()).map_err(failed)?);
    let mut reader = feed.read_from(start, ReadOptions::new().values(true));
    let (mut transactions, mut more) = (Vec::new(), false);
    while let Some(batch) = block_on(reader.next()).map_err(failed)? {
        for one in batch.transactions() {
            if transactions.len() == limit {
                more = true;
                break;
            }
            transactions.push(transaction(&one)?);
        }
        if more {
            break;
        }
    }
    drop(reader);
    answer_json(answer, &json!({"transactions": transactions, "more": more}))?;
    feeds.close().map_err(failed)
}

fn transaction(one: &TransactionRevisions<'_>) -> Result<Value, Refusal> {
    let revisions = one.revisions.iter().take(REVISIONS_MAX).map(revision);
    let mut shown = json!({
        "position": one.position,
        "fromSource": one.revisions.first().is_some_and(Revision::is_from_source),
        "revisions": revisions.collect::<Result<Vec<_>, _>>()?,
    });
    if let Some(committed) = one.committed_at_ms {
        shown["committed"] = committed.into();
    }
    if one.revisions.len() > REVISIONS_MAX {
        shown["more"] = (one.revisions.len() - REVISIONS_MAX).into();
    }
    Ok(shown)
}

fn revision(revision: &Revision) -> Result<Value, Refusal> {
    let mut shown = json!({
        "operation": revision.kind().name(),
        "objectStore": tree::name(revision.object_store_name()),
        "key": key(revision.raw_key()),
    });
    if let Some(value) = revision.value() {
        let tree = value.tree().map_err(failed)?;
        let previewed = Previewed {
            tree: &tree,
            objects: &[],
        };
        shown["value"] = previewed.to_json();
    }
    Ok(shown)
}
