//! Where a row key leads in a table of SQLite's: the keys of both are in one order.

use larder_backing_store::{Error, ErrorKind};
use larder_codec::primitive::var_int;
use larder_codec::{KeyBound, RawKey, sortable};

/// A place among the rows of a table or an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before all rows.
    First,
    /// Behind all rows.
    Last,
    /// Before all rows with this key.
    Before(Vec<u8>),
    /// At the row with this key, and in an index this primary key.
    At(Vec<u8>, Vec<u8>),
    /// Behind all rows with this key.
    Behind(Vec<u8>),
}

/// The place that what follows the prefix of a row's key leads to. Records have nothing behind their key that counts.
pub(crate) fn of_record(tail: &[u8]) -> Result<Place, Error> {
    Ok(match bound(tail)? {
        Bound::Min => Place::First,
        Bound::Max => Place::Last,
        Bound::Key(key, _) => Place::At(key, Vec::new()),
    })
}

/// As [`of_record`], in an index: behind the key come a sequence number, which is 0 in every row here, and the primary key.
pub(crate) fn of_entry(tail: &[u8]) -> Result<Place, Error> {
    let (key, rest) = match bound(tail)? {
        Bound::Min => return Ok(Place::First),
        Bound::Max => return Ok(Place::Last),
        Bound::Key(key, rest) => (key, rest),
    };
    if rest.is_empty() {
        return Ok(Place::Before(key));
    }
    let (sequence, rest) = var_int::decode(rest).map_err(|error| wrong(&error))?;
    if sequence > 0 {
        return Ok(Place::Behind(key));
    }
    if rest.is_empty() {
        return Ok(Place::Before(key));
    }
    Ok(match bound(rest)? {
        Bound::Min => Place::Before(key),
        Bound::Max => Place::Behind(key),
        Bound::Key(primary, _) => Place::At(key, primary),
    })
}

/// Appends the key in front of what follows the prefix of a row's key.
pub(crate) fn push_key(tail: &[u8], sorted: &mut Vec<u8>) -> Result<(), Error> {
    let (key, _) = RawKey::decode(tail).map_err(|error| wrong(&error))?;
    sortable::encode_raw(key, sorted);
    Ok(())
}

enum Bound<'a> {
    Min,
    Max,
    Key(Vec<u8>, &'a [u8]),
}

fn bound(tail: &[u8]) -> Result<Bound<'_>, Error> {
    if tail.is_empty() {
        return Ok(Bound::Min);
    }
    // The sentinels are single bytes that no key begins with.
    match KeyBound::decode(tail.get(..1).unwrap_or_default()) {
        Ok((KeyBound::Min, _)) => Ok(Bound::Min),
        Ok((KeyBound::Max, _)) => Ok(Bound::Max),
        _ => {
            let (key, rest) = RawKey::decode(tail).map_err(|error| wrong(&error))?;
            let mut sorted = Vec::new();
            sortable::encode_raw(key, &mut sorted);
            Ok(Bound::Key(sorted, rest))
        }
    }
}

fn wrong(error: &larder_codec::Error) -> Error {
    Error::new(
        ErrorKind::Usage,
        format!("the key of a row to look for: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_codec::Key;

    fn encoded(key: &Key, sort: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        match sort {
            true => sortable::encode(key, &mut bytes),
            false => key.encode(&mut bytes),
        }
        bytes
    }

    #[test]
    fn what_follows_an_index_key_says_on_which_side_of_its_entries_the_place_is() {
        let (a, one) = (Key::from("a"), Key::Number(1.0));
        let sorted = encoded(&a, true);
        let place = |rest: &[u8]| of_entry(&[&*encoded(&a, false), rest].concat()).unwrap();
        assert_eq!(place(&[]), Place::Before(sorted.clone()));
        assert_eq!(place(&[0]), Place::Before(sorted.clone()));
        // The sentinels, and a sequence number that no row has.
        assert_eq!(place(&[0, 5]), Place::Before(sorted.clone()));
        assert_eq!(place(&[0, 0]), Place::Behind(sorted.clone()));
        assert_eq!(place(&[1]), Place::Behind(sorted.clone()));
        let at = place(&[&[0][..], &encoded(&one, false)].concat());
        assert_eq!(at, Place::At(sorted, encoded(&one, true)));
        assert_eq!(of_entry(&[]).unwrap(), Place::First);
        assert_eq!(of_record(&[5]).unwrap(), Place::First);
        assert_eq!(of_record(&[0]).unwrap(), Place::Last);
        assert_eq!(of_record(&[77]).unwrap_err().kind(), ErrorKind::Usage);
    }
}
