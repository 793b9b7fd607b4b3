//! Records that the database refuses at first: two of them may have to change places in a unique index.

use std::collections::BTreeMap;

use larder_idb::{ErrorName, Key, ObjectStore, StoredValue, Value};

use super::error::{Error, Result};
use super::record::Stored;
use super::report::Reason;

/// A record of the page that is to be put into the database.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) entry_key: Vec<u8>,
    pub(super) stored: Stored,
    pub(super) object_store: ObjectStore,
    pub(super) key: Key,
}

impl Incoming {
    /// What is to be put, and the key beside it if it is not in it.
    pub(super) fn value(&self) -> Result<std::result::Result<(Value, Option<Key>), Reason>> {
        let (value, is_foreign) = match self.stored.to_value() {
            Ok(value) => value,
            Err(error) => return refused(error).map(Err),
        };
        if is_foreign && !self.object_store.index_names().is_empty() {
            let what = "a value of another engine's in an object store with indexes";
            return Ok(Err(Reason::Refused(what.to_owned())));
        }
        if *self.object_store.key_path() == larder_idb::KeyPath::Null || is_foreign {
            return Ok(Ok((value, Some(self.key.clone()))));
        }
        match self.object_store.key_in(&value) {
            Ok(Some(key)) if key == self.key => Ok(Ok((value, None))),
            Ok(_) => {
                let what = "the record's key is not that in its value";
                Ok(Err(Reason::Refused(what.to_owned())))
            }
            Err(error) => refused(error).map(Err),
        }
    }

    /// Puts it: why not, if the database refuses it.
    async fn put(&self) -> Result<Option<Reason>> {
        let (value, key) = match self.value()? {
            Ok(value) => value,
            Err(reason) => return Ok(Some(reason)),
        };
        match self.object_store.put(value, key) {
            Ok(request) => match request.await {
                Ok(_) => Ok(None),
                Err(error) => refused(error).map(Some),
            },
            Err(error) => refused(error).map(Some),
        }
    }
}

/// Why a record is refused; an error if that is not the record's fault.
pub(super) fn refused(error: larder_idb::Error) -> Result<Reason> {
    match error.name() {
        ErrorName::ConstraintError => Ok(Reason::Unique(error.to_string())),
        ErrorName::DataError | ErrorName::DataCloneError | ErrorName::TypeError => {
            Ok(Reason::Refused(error.to_string()))
        }
        _ => Err(Error::Database(error)),
    }
}

/// Records that were refused, each with why.
pub(super) type Refused = Vec<(Incoming, Reason)>;

/// Tries records again until none can be put any more: how many were.
async fn try_again(refused: &mut Refused) -> Result<u64> {
    let mut put = 0;
    loop {
        let mut still = Vec::new();
        let count = refused.len();
        for (incoming, _) in std::mem::take(refused) {
            if let Some(reason) = incoming.put().await? {
                still.push((incoming, reason));
            }
        }
        *refused = still;
        put += (count - refused.len()) as u64;
        if refused.len() == count || refused.is_empty() {
            return Ok(put);
        }
    }
}

/// Puts records that were refused as far as that can be done, whatever their order: how many were put, and what is left. If `may_replace`,
/// what they are to replace steps aside while they are tried, and comes back where they are refused for good.
pub(super) async fn settle(mut refused: Refused, may_replace: bool) -> Result<(u64, Refused)> {
    let mut put = try_again(&mut refused).await?;
    if refused.is_empty() || !may_replace {
        return Ok((put, refused));
    }
    let mut olds: BTreeMap<Vec<u8>, StoredValue> = BTreeMap::new();
    for (incoming, _) in &refused {
        let key = incoming.key.clone();
        if let Some(old) = incoming.object_store.get(key.clone())?.await? {
            incoming.object_store.delete(key)?.await?;
            olds.insert(incoming.entry_key.clone(), old);
        }
    }
    if !olds.is_empty() {
        put += try_again(&mut refused).await?;
    }
    for (incoming, _) in &refused {
        if let Some(old) = olds.get(&incoming.entry_key) {
            let objects = old.objects().iter().map(|object| object.to_new());
            let value = Value::with_objects(old.bytes().to_vec(), objects.collect());
            let is_inline = *incoming.object_store.key_path() != larder_idb::KeyPath::Null;
            let key = (!is_inline).then(|| incoming.key.clone());
            // If another record has its place by now, it is gone from here, and in the page's history.
            if let Err(error) = incoming.object_store.put(value, key)?.await {
                self::refused(error)?;
            }
        }
    }
    Ok((put, refused))
}
