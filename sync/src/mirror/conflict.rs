//! What has lost when two devices changed a record, kept in the page until it is settled.

use std::io::Read;
use std::sync::Arc;

use larder_idb::codec::sortable;
use larder_idb::codec::value::{Decoder, Payload, Tree};
use larder_idb::{JsString, Key, NewExternalObject, Value};
use larder_pages::{
    Commit, CommitId, Entry, ObjectReader, Page, Priority, Snapshot, Timestamp, ValueReference,
};

use super::bytes::{Bad, Bytes, put_bytes};
use super::entry_key::{CONFLICT, LONG_RECORD, of_conflict, place};
use super::error::{Error, Result};
use super::mirror::Mirror;
use super::record::{Stored, open, read_head};

const VERSION: u8 = 1;
const REMOVED: u8 = 0;
const VALUE: u8 = 1;

/// What stands in the place of a removal's bytes, for its hash.
const REMOVAL: &[u8] = b"removed";

/// Longer values go into the page as streams.
pub(super) const WHOLE_LEN_MAX: u64 = 64 << 10;

/// A value on its way into an entry.
#[derive(Debug)]
pub(super) enum NewValue {
    Bytes(Vec<u8>),
    Reference(ValueReference),
}

/// The entry that keeps what has lost: its key and value. `lost` is `None` for a removal. One of the two is there.
pub(super) fn entry_of(
    page: &Page,
    met: [&Commit; 2],
    entry_key: &[u8],
    kept: Option<&Entry>,
    lost: Option<&Entry>,
) -> Result<(Vec<u8>, NewValue)> {
    let mut head = vec![VERSION];
    head.push(if lost.is_some() { VALUE } else { REMOVED });
    for commit in met {
        head.extend_from_slice(&commit.id().0);
    }
    put_bytes(entry_key, &mut head);
    let Some(lost) = lost else {
        // A record has its long key in itself; a removal has it of what is kept.
        if entry_key.first() == Some(&LONG_RECORD) {
            let kept = kept.ok_or_else(|| Error::malformed("a conflict without a value"))?;
            put_bytes(&long_key(page, met[0], kept)?, &mut head);
        }
        return Ok((of_conflict(entry_key, REMOVAL), NewValue::Bytes(head)));
    };
    let key = of_conflict(entry_key, lost.value.digest.as_bytes());
    let mut reader = open(page, lost)?;
    let value = match reader.len() <= WHOLE_LEN_MAX {
        true => {
            head.extend(reader.read_range(0, WHOLE_LEN_MAX)?);
            NewValue::Bytes(head)
        }
        false => NewValue::Reference(page.create_value(head.as_slice().chain(reader))?),
    };
    Ok((key, value))
}

/// The key of a record, sortable; nothing if the record is not as a mirror writes it, which is no reason for not merging what is beside it.
fn long_key(page: &Page, commit: &Commit, kept: &Entry) -> Result<Vec<u8>> {
    let snapshot = Arc::new(page.snapshot(commit, b""));
    let mut bytes = Vec::new();
    match Stored::key_of(page, &snapshot, kept) {
        Ok(key) => sortable::encode(&key, &mut bytes),
        Err(Error::Malformed { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(bytes)
}

/// A record that two devices have changed: what is in the place of what. [`Mirror::settle`] takes it off the list.
#[derive(Debug)]
#[non_exhaustive]
pub struct Conflict {
    /// The object store.
    pub object_store: JsString,
    /// The record's key.
    pub key: Key,
    /// What the page has now, as another change may have come since; `None` if it has no such record.
    pub kept: Option<MirroredValue>,
    /// What is not kept; `None` for a removal.
    pub other: Option<MirroredValue>,
    /// The commits that met: that whose record was kept, and the other. They are one if the database had never had what it overwrote, since
    /// it could not take it.
    pub commits: [CommitId; 2],
    entry_key: Vec<u8>,
}

/// A value in a page. Its blobs are read when they are asked for.
#[derive(Debug)]
pub struct MirroredValue(Stored);

impl MirroredValue {
    /// The bytes, as Blink and V8 serialise them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0.head.wire
    }

    /// The value.
    ///
    /// # Errors
    /// If the bytes are not those of a value.
    pub fn tree(&self) -> Result<Tree<'_>> {
        let decode = || Decoder::new().decode(&Payload::read(self.bytes())?);
        Ok(decode().map_err(larder_idb::Error::from)?)
    }

    /// Its blobs and files, by their places.
    #[must_use]
    pub fn objects(&self) -> Vec<NewExternalObject> {
        self.0.objects()
    }

    /// The value, to be put into the database.
    ///
    /// # Errors
    /// If the bytes are not those of a value.
    pub fn to_value(&self) -> Result<Value> {
        Ok(self.0.to_value()?.0)
    }
}

impl Mirror {
    /// The conflicts that are listed in the page's latest head, by object store and key. Their values are read, without contents of blobs.
    ///
    /// ```
    /// # async fn show(mirror: &larder_sync::Mirror) -> Result<(), larder_sync::MirrorError> {
    /// for conflict in mirror.conflicts()? {
    ///     println!("{} {:?}", conflict.object_store.to_string_lossy(), conflict.key);
    ///     let kept = conflict.kept.as_ref().map(|kept| kept.bytes().len());
    ///     let other = conflict.other.as_ref().map(|other| other.bytes().len());
    ///     println!("kept {kept:?} bytes, not kept {other:?} bytes");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// One that is not as a mirror writes it, or whose values cannot be read, is left out; [`conflict_count`](Self::conflict_count) counts it, and
    /// [`settle_all`](Self::settle_all) takes it off the list.
    ///
    /// # Errors
    /// If the page fails.
    pub fn conflicts(&self) -> Result<Vec<Conflict>> {
        let Some(snapshot) = self.latest() else {
            return Ok(Vec::new());
        };
        let listed = listed(&snapshot)?;
        let mut conflicts = Vec::new();
        for entry in listed {
            match read(&self.page, &snapshot, entry?) {
                Err(error) if error.of_entry().is_some() => {}
                conflict => conflicts.push(conflict?),
            }
        }
        Ok(conflicts)
    }

    /// How many conflicts are listed. None of their values is read.
    ///
    /// # Errors
    /// If the page fails.
    pub fn conflict_count(&self) -> Result<u64> {
        let mut count = 0;
        if let Some(snapshot) = self.latest() {
            for entry in listed(&snapshot)? {
                entry?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn latest(&self) -> Option<Arc<Snapshot>> {
        let heads = self.page.heads();
        let head = heads.last()?;
        Some(Arc::new(self.page.snapshot(head, b"")))
    }

    /// Takes a conflict off the list, in a commit of the page: the host has looked at it, and put the record again if the other value is the
    /// better one. Whether it was listed.
    ///
    /// # Errors
    /// If the page fails.
    pub fn settle(&self, conflict: &Conflict, now: Timestamp) -> Result<bool> {
        let mut journal = self.page.begin()?;
        let before = journal.base().id();
        journal.delete(&conflict.entry_key)?;
        Ok(self.page.commit(journal, now)?.id() != before)
    }

    /// Takes all conflicts off the list, in one commit of the page: how many.
    ///
    /// # Errors
    /// If the page fails.
    pub fn settle_all(&self, now: Timestamp) -> Result<u64> {
        let mut settled = 0;
        let mut journal = self.page.begin()?;
        for entry in listed(&self.page.snapshot(journal.base(), b""))? {
            journal.delete(&entry?.key)?;
            settled += 1;
        }
        self.page.commit(journal, now)?;
        Ok(settled)
    }
}

/// The entries of the conflicts in a commit.
fn listed(snapshot: &Snapshot) -> Result<impl Iterator<Item = Result<Entry>>> {
    let entries = snapshot.entries(&[CONFLICT])?;
    let entries = entries.map(|entry| Ok(entry?));
    Ok(entries.take_while(|entry: &Result<Entry>| {
        entry
            .as_ref()
            .is_ok_and(|entry| entry.key.first() == Some(&CONFLICT))
            || entry.is_err()
    }))
}

fn read(page: &Page, snapshot: &Arc<Snapshot>, entry: Entry) -> Result<Conflict> {
    let mut reader = ObjectReader::open(page.clone(), &entry.value)?;
    let (head, start) = read_head(&mut reader, 0, ConflictHead::decode)?;
    let ConflictHead {
        has_value,
        commits,
        record_key,
        long_key,
    } = head;
    let place = place(&record_key)?;
    let stored = |value, start| Stored::read(page, snapshot, &record_key, value, start);
    let other = match has_value {
        true => Some(stored(entry.value, start)?),
        false => None,
    };
    let key = match (&place.key, &other) {
        (Some(key), _) => key.clone(),
        (None, Some(other)) => other.key(&record_key, &place)?,
        (None, None) => sortable::decode_exact(&long_key)
            .map_err(|error| Error::malformed(error.to_string()))?,
    };
    let kept = snapshot.entry(&record_key)?;
    let kept = kept.map(|kept| stored(kept.value, 0)).transpose()?;
    Ok(Conflict {
        object_store: place.object_store,
        key,
        kept: kept.map(MirroredValue),
        other: other.map(MirroredValue),
        commits,
        entry_key: entry.key,
    })
}

/// What stands in front of the value that was not kept.
struct ConflictHead {
    has_value: bool,
    commits: [CommitId; 2],
    record_key: Vec<u8>,
    /// The record's own key, sortable, if it is in no value.
    long_key: Vec<u8>,
}

impl ConflictHead {
    fn decode(bytes: &mut Bytes<'_>) -> Result<Self, Bad> {
        match bytes.byte()? {
            VERSION => {}
            other => return Err(Bad::Wrong(format!("a conflict of version {other}"))),
        }
        let has_value = bytes.byte()? == VALUE;
        let commits = [CommitId(bytes.array()?), CommitId(bytes.array()?)];
        let record_key = bytes.bytes()?.to_vec();
        let long_key = match !has_value && record_key.first() == Some(&LONG_RECORD) {
            true => bytes.bytes()?.to_vec(),
            false => Vec::new(),
        };
        Ok(Self {
            has_value,
            commits,
            record_key,
            long_key,
        })
    }
}

/// Values of conflicts come with the page, as those of records do.
pub(super) const PRIORITY: Priority = Priority::Eager;
