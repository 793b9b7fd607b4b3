//! What comes from the source that the database is a copy of, beside what has been changed here and the source has not yet.

use std::collections::BTreeSet;

use larder_idb::codec::external_object::ExternalObject as Info;
use larder_idb::codec::feed;
use larder_idb::codec::value::{Decoder, Overlay, Payload, RevisionKind, Side};
use larder_idb::{
    ExternalObject, JsString, Key, NewExternalObject, ObjectStore, StoredValue, Transaction,
    TransactionMode, TransactionOptions, Value,
};

use crate::error::{Error, Result};
use crate::feed::{Feed, versions_of};
use crate::lookup::changes_at;
use crate::mark::Marks;
use crate::revision::revision_of_version;
use crate::value::Changes;

/// What has been changed in a record here, behind a revision, by anything but the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedHere {
    /// Nothing.
    Nothing,
    /// These top-level properties, by value, at one time or another: what they are now stays.
    Properties(BTreeSet<JsString>),
    /// The record as a whole: its value was no plain object, or what a change has changed is not known any more, since a program without the
    /// feed has overwritten it.
    Whole,
    /// The record was removed.
    Removed,
}

/// What has become of a record that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The record's key.
    pub key: Key,
    /// What was kept.
    pub kept: ChangedHere,
}

/// A transaction with what comes from the source ([`Feed::from_source`]). Let go of without [`commit`](Self::commit) it is aborted.
///
/// ```
/// # use futures_executor::block_on;
/// # use larder_feed::{Error, Feed};
/// # use larder_idb::{Database, ObjectStoreParameters, Value};
/// # use serde_json::{Value as Json, json};
/// # let mail = Database::in_memory("mail", 1, |upgrade| {
/// #     upgrade.transaction.create_object_store("messages", ObjectStoreParameters::new())?;
/// #     upgrade.transaction.set_change_feed(true)
/// # })?
/// # .wait()?;
/// # let put = |value: Json| {
/// #     let writing = mail.write("messages")?;
/// #     writing.object_store("messages")?.put(Value::serialize(&value)?, Some(7.into()))?.detach();
/// #     writing.commit()?.wait()
/// # };
/// let feed = Feed::of(mail.connection())?;
/// // The source has this, and has not heard of the flag yet.
/// put(json!({ "subject": "Tea", "flagged": false }))?;
/// let base = block_on(feed.last())?;
/// put(json!({ "subject": "Tea", "flagged": true }))?;
/// block_on(async {
///     let from_source = feed.from_source(&["messages"], base).await?;
///     let theirs = json!({ "subject": "Tea at four", "flagged": false });
///     from_source.put("messages", Value::serialize(&theirs)?, Some(7.into())).await?;
///     from_source.commit().await
/// })?;
/// let reading = mail.read("messages")?;
/// let now: Json = reading.object_store("messages")?.get(7)?.wait()?.unwrap().deserialize()?;
/// assert_eq!(now, json!({ "subject": "Tea at four", "flagged": true }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FromSource {
    transaction: Transaction,
    base: u64,
}

impl Feed {
    /// Begins a transaction that writes to these object stores what comes from the source: its revisions are
    /// [from the source](crate::Revision::is_from_source).
    ///
    /// `base` is the last revision that the source had when it made these changes: the
    /// [position](crate::Consumer::position) of the consumer that writes back to it, as it was when the source was asked. What has been
    /// changed here behind that, the source has not seen, and must not overwrite.
    ///
    /// # Errors
    /// [`Error::LeftBehind`] if revisions behind the base have been cleaned up: it cannot be known what was changed here. Clean-up keeps
    /// what is behind a consumer's position; 0 is the base of a source that has had nothing. `NotFoundError` for an object store that is not
    /// there; if the database fails.
    pub async fn from_source(&self, object_stores: &[&str], base: u64) -> Result<FromSource> {
        let mut names = object_stores.to_vec();
        names.extend([feed::REVISIONS, feed::HISTORY, feed::CONSUMERS]);
        let options = TransactionOptions::new().reserved(true).from_source(true);
        let connection = self.connection();
        let transaction = connection.transaction(names, TransactionMode::ReadWrite, options)?;
        let cleaned = Marks::read(&transaction).await?.cleaned;
        if base != 0 && base < cleaned {
            let position = base;
            return Err(Error::LeftBehind { position, cleaned });
        }
        Ok(FromSource { transaction, base })
    }
}

impl FromSource {
    /// The transaction, for whatever else the source has done: deletions take a record as it is, and what was changed in it here with it.
    /// [`changed_here`](Self::changed_here) says before whether there is something.
    #[must_use]
    pub const fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// What has been changed in a record here since the base.
    ///
    /// # Errors
    /// `NotFoundError` for an object store that the transaction was not made with; if the database fails.
    pub async fn changed_here(
        &self,
        object_store: &str,
        key: impl Into<Key>,
    ) -> Result<ChangedHere> {
        let object_store = self.transaction.object_store(object_store)?;
        self.changed_in(&object_store, &key.into()).await
    }

    /// Puts a record as the source has it, but for what has been changed here since the base: those properties stay as they are here. A record
    /// that was removed here, or changed as a whole, stays so, and nothing is put.
    ///
    /// A property is kept also if it was changed and changed back.
    ///
    /// # Errors
    /// Those of [`ObjectStore::put`] and of its request; `NotFoundError` for an object store that the transaction was not made with; if the
    /// database fails.
    pub async fn put(&self, object_store: &str, value: Value, key: Option<Key>) -> Result<Merged> {
        let object_store = self.transaction.object_store(object_store)?;
        let known = match &key {
            Some(key) => Some(key.clone()),
            None => object_store.key_in(&value)?,
        };
        let Some(known) = known else {
            // One that gets its key now is new.
            let key = object_store.put(value, None)?.await?;
            let kept = ChangedHere::Nothing;
            return Ok(Merged { key, kept });
        };
        let mut kept = self.changed_in(&object_store, &known).await?;
        let value = match &kept {
            ChangedHere::Nothing => Some(value),
            ChangedHere::Removed => None,
            ChangedHere::Properties(_) | ChangedHere::Whole => {
                match (object_store.get(known.clone())?.await?, &kept) {
                    (None, _) => Some(value),
                    (Some(here), ChangedHere::Properties(names)) => overlaid(&value, &here, names)?,
                    (Some(_), _) => None,
                }
            }
        };
        match value {
            Some(value) => {
                object_store.put(value, key)?.await?;
            }
            None if kept != ChangedHere::Removed => kept = ChangedHere::Whole,
            None => {}
        }
        Ok(Merged { key: known, kept })
    }

    /// Commits what was put, and what was done in the [`transaction`](Self::transaction).
    ///
    /// # Errors
    /// Those of [`Transaction::commit`] and of its request.
    pub async fn commit(self) -> Result<()> {
        Ok(self.transaction.commit()?.await?)
    }

    async fn changed_in(&self, object_store: &ObjectStore, key: &Key) -> Result<ChangedHere> {
        let number = object_store.number()?;
        let (mut names, mut is_whole, mut is_first) = (BTreeSet::new(), false, true);
        for version in versions_of(object_store, key).await?.into_iter().rev() {
            let found = revision_of_version(&self.transaction, number, version).await?;
            // What this transaction has done becomes a revision with its commit; the history has at once what was before.
            let Some(revision) = found else { continue };
            if revision.number() <= self.base {
                break;
            }
            let is_last = std::mem::take(&mut is_first);
            if revision.is_from_source() {
                continue;
            }
            if is_last && revision.kind() == RevisionKind::Removal {
                return Ok(ChangedHere::Removed);
            }
            match changes_at(&self.transaction, &revision).await? {
                Some(Changes::Properties(changed)) => names.extend(changed),
                Some(Changes::Whole) | None => is_whole = true,
            }
        }
        Ok(match is_whole {
            true => ChangedHere::Whole,
            false if names.is_empty() => ChangedHere::Nothing,
            false => ChangedHere::Properties(names),
        })
    }
}

/// The source's value with properties of the one that is here; `None` if one of them is no plain object, or refers to a blob that is not there.
fn overlaid(
    source: &Value,
    here: &StoredValue,
    names: &BTreeSet<JsString>,
) -> Result<Option<Value>> {
    let (under, over) = (Payload::read(source.bytes())?, here.payload()?);
    let (under, over) = (
        Decoder::new().decode(&under)?,
        Decoder::new().decode(&over)?,
    );
    let mut bytes = Vec::new();
    let Some(overlay) = Overlay::encode(&under, &over, names, &mut bytes) else {
        return Ok(None);
    };
    let of_source = source.objects().iter().cloned();
    let (blobs, tokens) = of_source.partition(|object| object.content().is_some());
    let (here_blobs, here_tokens) = (here.objects().iter())
        .partition(|object| !matches!(object.info(), Info::FileSystemAccessHandle { .. }));
    let found = [
        find(&overlay.blobs, blobs, here_blobs),
        find(&overlay.tokens, tokens, here_tokens),
    ];
    let [Some(blobs), Some(tokens)] = found else {
        return Ok(None);
    };
    let value = Value::from_written(bytes, overlay.needs);
    Ok(Some(value.and_objects([blobs, tokens].concat())))
}

fn find(
    places: &[(Side, u32)],
    of_source: Vec<NewExternalObject>,
    here: Vec<&ExternalObject>,
) -> Option<Vec<NewExternalObject>> {
    let place = |(side, at): &(Side, u32)| match side {
        Side::Under => of_source.get(*at as usize).cloned(),
        Side::Over => here.get(*at as usize).map(|object| object.to_new()),
    };
    places.iter().map(place).collect()
}
