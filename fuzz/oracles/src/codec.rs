//! Laws of keys and rows.

use std::cmp::Ordering;

use larder_codec::blob_journal::BlobJournal;
use larder_codec::external_object::{decode_all, encode_all};
use larder_codec::row_key::{RecordTable, RowKey};
use larder_codec::versioned::{DataRow, IndexRow};
use larder_codec::{DataVersion, Key, RawKey, RowValue, compare, compare_index_keys, sortable};

/// Whatever decodes, encodes to the very bytes it came from.
pub fn codec_round_trip(data: &[u8]) {
    let same = |what: &str, encoded: &[u8], consumed: &[u8]| {
        assert_eq!(encoded, consumed, "{what}: one value, one encoding");
    };
    let encoded = |encode: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        encode(&mut out);
        out
    };
    if let Ok((key, rest)) = Key::decode(data) {
        let consumed = data.len() - rest.len();
        same(
            "key",
            &encoded(&|out| key.encode(out)),
            data.get(..consumed).unwrap_or_default(),
        );
        let (raw, raw_rest) = RawKey::decode(data).expect("whatever is a key is a raw key");
        assert_eq!((raw.as_bytes().len(), raw_rest), (consumed, rest));
        let memcmp = encoded(&|out| sortable::encode(&key, out));
        assert_eq!(
            sortable::decode_exact(&memcmp).as_ref(),
            Ok(&key),
            "sortable form"
        );
    }
    if let Ok(key) = sortable::decode_exact(data) {
        same(
            "sortable key",
            &encoded(&|out| sortable::encode(&key, out)),
            data,
        );
    }
    if let Ok(row) = RowKey::decode_exact(data) {
        same("row key", &encoded(&|out| row.encode(out)), data);
    }
    if let Ok(journal) = BlobJournal::decode_exact(data) {
        same("blob journal", &encoded(&|out| journal.encode(out)), data);
    }
    if let Ok(objects) = decode_all(data) {
        same(
            "external objects",
            &encoded(&|out| encode_all(&objects, out)),
            data,
        );
    }
    if let Ok(row) = DataRow::decode_exact(data) {
        same("data row", &encoded(&|out| row.encode(out)), data);
    }
    if let Ok(row) = IndexRow::decode_exact(data) {
        same("index row", &encoded(&|out| row.encode(out)), data);
    }
    if let Ok(version) = DataVersion::decode_exact(data) {
        let again = encoded(&|out| version.encode(out));
        assert_eq!(DataVersion::decode_exact(&again), Ok(version));
    }
    if let Some((key, value)) = halves(data)
        && let Ok(row) = RowKey::decode_exact(key)
        && let Ok(decoded) = RowValue::decode_exact(&row, value, 5)
    {
        let again = encoded(&|out| decoded.encode(out));
        let twice = RowValue::decode_exact(&row, &again, 5);
        assert_eq!(twice.as_ref(), Ok(&decoded), "row value");
    }
}

/// The comparator is a total preorder, and on decodable keys of one table it is the order of the decoded keys.
pub fn comparator_laws(data: &[u8]) {
    let Some((a, rest)) = halves(data) else {
        return;
    };
    let Some((b, c)) = halves(rest) else { return };
    for order in [compare, compare_index_keys] {
        for (x, y) in [(a, b), (b, c), (a, c)] {
            assert_eq!(order(x, y), order(y, x).reverse(), "antisymmetry");
            assert_eq!(order(x, x), Ordering::Equal, "reflexivity");
        }
        for (x, y, z) in [
            (a, b, c),
            (a, c, b),
            (b, a, c),
            (b, c, a),
            (c, a, b),
            (c, b, a),
        ] {
            if order(x, y) != Ordering::Greater && order(y, z) != Ordering::Greater {
                assert_ne!(order(x, z), Ordering::Greater, "transitivity");
            }
        }
    }
    if let (Ok(RowKey::Record(x)), Ok(RowKey::Record(y))) =
        (RowKey::decode_exact(a), RowKey::decode_exact(b))
    {
        let place = |table: RecordTable| table as u8;
        let naive = x
            .database_id
            .cmp(&y.database_id)
            .then(x.object_store_id.cmp(&y.object_store_id))
            .then(place(x.table).cmp(&place(y.table)))
            .then_with(|| x.key.to_key().cmp(&y.key.to_key()));
        assert_eq!(compare(a, b), naive, "order of records");
    }
}

/// Two parts: the first byte says how long the first is.
fn halves(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = data.split_first()?;
    rest.split_at_checked(usize::from(*len))
}
