//! Reading the feed's own rows: records of revisions, and the index that leads to them.

use larder_codec::value::{Payload, RevisionsReader};
use larder_codec::versioned::{DataRow, IndexRow};
use larder_codec::{Key, ObjectStoreId, RawKey, RecordVersion, feed};

use super::Feed;
use crate::error::{Error, Result};
use crate::view::ViewIter;

/// What a row is called in errors.
pub(crate) const RECORD: &str = "record of revisions";

/// A revision, by the version that its record got.
pub(crate) type Place = (ObjectStoreId, RecordVersion);

/// The number of the record of revisions on which a cursor stands, if it is on one.
pub(crate) fn number_at(iter: &ViewIter, feed: &Feed) -> Option<u64> {
    let key = iter.key().strip_prefix(&*feed.revision_data)?;
    match RawKey::decode_exact(key).ok()?.to_key() {
        Key::Number(number) if number >= 1.0 => Some(number as u64),
        _ => None,
    }
}

/// What the row of the index says on which a cursor stands, if it is on one: the last place of an object store in a record, and that
/// record's number.
pub(crate) fn entry_at(iter: &ViewIter, feed: &Feed) -> Result<Option<(Place, u64)>> {
    let Some(key) = iter.key().strip_prefix(&*feed.by_version) else {
        return Ok(None);
    };
    let bad_row = |error| Error::row(iter.key(), "index row of a revision", error);
    let row = IndexRow::decode_exact(iter.value()?).map_err(bad_row)?;
    let Key::Number(number) = row.primary_key.to_key() else {
        return Ok(None);
    };
    let place = RawKey::decode(key).ok();
    let place = place.and_then(|(key, _)| feed::decode_version(key));
    Ok(place.map(|place| (place, number as u64)))
}

/// What is in a record's data row, with its version.
pub(crate) fn read_record(
    row: &[u8],
) -> larder_codec::Result<(RecordVersion, RevisionsReader<'_>)> {
    let row = DataRow::decode_exact(row)?;
    let revisions = RevisionsReader::new(&Payload::read(row.value)?)?;
    Ok((row.version, revisions))
}
