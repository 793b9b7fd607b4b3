//! Objects in a map of pieces.

use super::*;
use crate::error::{ErrorKind, Result};
use larder_fixtures::random::Random;
use quickcheck::quickcheck;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

/// Pieces in memory, which counts what is asked for.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pub(crate) pieces: BTreeMap<ObjectIdentifier, (Vec<u8>, Vec<Reference>)>,
    pub(crate) asked: RefCell<Vec<ObjectIdentifier>>,
}

impl PieceSink for &mut Pieces {
    fn put(&mut self, piece: Piece<'_>) -> Result<()> {
        assert!(!piece.identifier.digest.is_inline());
        assert!(piece.identifier.digest.is_of(piece.content));
        for reference in piece.references {
            let digest = reference.identifier.digest;
            assert!(!digest.is_inline());
        }
        let value = (piece.content.to_vec(), piece.references.to_vec());
        if let Some(before) = self.pieces.insert(piece.identifier, value.clone()) {
            assert_eq!(before, value, "one name, one content, the same references");
        }
        Ok(())
    }
}

impl PieceSource for Pieces {
    fn piece(&self, identifier: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
        self.asked.borrow_mut().push(*identifier);
        Ok(self.pieces.get(identifier).map(|piece| piece.0.clone()))
    }
}

fn write(pieces: &mut Pieces, content: &[u8]) -> ObjectIdentifier {
    let mut writer = ObjectWriter::new(pieces, SplitParameters::LEDGER, 0);
    writer.push(content).unwrap();
    writer.finish(ObjectType::Blob, &[]).unwrap()
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.below(256) as u8).collect()
}

fn read(pieces: &Pieces, id: &ObjectIdentifier) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reader = ObjectReader::open(pieces, id).unwrap();
    reader.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, reader.len());
    bytes
}

#[test]
fn short_objects_are_one_piece() {
    for len in [0, 12, 32, 33, 100, 1024, 4096] {
        let mut pieces = Pieces::default();
        let content = noise(1, len);
        let id = write(&mut pieces, &content);
        assert_eq!(pieces.pieces.len(), usize::from(len > 32), "{len}");
        assert_eq!(id.digest.piece_type(), PieceType::Chunk);
        assert!(id.digest.is_of(&content));
        assert_eq!(read(&pieces, &id), content);
    }
}

#[test]
fn long_objects_have_an_index() {
    for len in [65_536, 32 * 65_535] {
        let mut pieces = Pieces::default();
        let content = noise(2, len);
        let id = write(&mut pieces, &content);
        assert!(pieces.pieces.len() >= 3, "{len}");
        assert_eq!(id.digest.piece_type(), PieceType::Index);
        assert_eq!(read(&pieces, &id), content);
        let mut total = 0;
        for (id, (content, _)) in &pieces.pieces {
            assert_eq!(id.digest.object_type(), ObjectType::Blob);
            if id.digest.piece_type() == PieceType::Chunk {
                assert!(content.len() <= 65_535);
                total += content.len();
            }
        }
        assert_eq!(total, len);
    }
}

#[test]
fn zeros_are_cut_at_the_longest_and_equal_pieces_are_one() {
    let mut pieces = Pieces::default();
    let id = write(&mut pieces, &vec![0; 65_536]);
    let (_, references) = &pieces.pieces[&id];
    assert_eq!(
        (pieces.pieces.len(), references.len()),
        (2, 1),
        "the byte left over is inline"
    );
    let mut pieces = Pieces::default();
    let id = write(&mut pieces, &vec![0; 10 * 65_535]);
    assert_eq!(
        pieces.pieces.len(),
        2,
        "one chunk, ten times, and the index"
    );
    assert_eq!(read(&pieces, &id), vec![0; 10 * 65_535]);
}

#[test]
fn only_the_root_of_a_node_is_named_as_one() {
    for len in [10, 3000, 300_000] {
        let (mut node, mut blob) = (Pieces::default(), Pieces::default());
        let content = noise(3, len);
        let mut writer = ObjectWriter::new(&mut node, SplitParameters::LEDGER, 0);
        writer.push(&content).unwrap();
        let id = writer.finish(ObjectType::TreeNode, &[]).unwrap();
        let as_blob = write(&mut blob, &content);
        assert_eq!(id.digest.object_type(), ObjectType::TreeNode);
        assert_eq!(id.digest.as_root(ObjectType::Blob), as_blob.digest);
        node.pieces.remove(&id);
        blob.pieces.remove(&as_blob);
        assert_eq!(node.pieces, blob.pieces, "pieces below the root are shared");
    }
}

#[test]
fn a_change_in_the_middle_leaves_most_pieces() {
    let mut pieces = Pieces::default();
    let mut content = noise(4, 3_000_000);
    write(&mut pieces, &content);
    let before = pieces.pieces.len();
    content.splice(1_500_000..1_500_000, *b"a few bytes more");
    write(&mut pieces, &content);
    let new = pieces.pieces.len() - before;
    assert!(before > 150 && new < 12, "{new} of {before}");
}

#[test]
fn a_part_is_read_by_the_pieces_that_have_it() {
    let mut pieces = Pieces::default();
    let content = noise(5, 5_000_000);
    let id = write(&mut pieces, &content);
    pieces.asked.borrow_mut().clear();
    let mut reader = ObjectReader::open(&pieces, &id).unwrap();
    assert_eq!(
        reader.read_range(2_500_000, 100).unwrap(),
        content[2_500_000..][..100]
    );
    assert_eq!(reader.read_range(-100, 1000).unwrap(), content[4_999_900..]);
    let asked = pieces.asked.borrow().len();
    assert!(asked <= 12, "{asked} of {}", pieces.pieces.len());
    pieces.asked.borrow_mut().clear();
    let mut reader = ObjectReader::open(&pieces, &id).unwrap();
    let mut all = Vec::new();
    reader.read_to_end(&mut all).unwrap();
    assert!(all == content);
    assert_eq!(
        pieces.asked.borrow().len(),
        pieces.pieces.len(),
        "each piece once"
    );
    for (offset, len_max) in [
        (5_000_000, 1),
        (-5_000_001, 1),
        (i64::MIN, 9),
        (i64::MAX, 9),
        (0, 0),
    ] {
        assert!(
            reader.read_range(offset, len_max).unwrap().is_empty(),
            "{offset}"
        );
    }
    assert_eq!(reader.read_range(-5_000_000, 3).unwrap(), content[..3]);
}

#[test]
fn a_missing_piece_is_to_be_fetched_and_a_wrong_one_is_damage() {
    let mut pieces = Pieces::default();
    let content = noise(6, 200_000);
    let id = write(&mut pieces, &content);
    let chunks = pieces
        .pieces
        .keys()
        .filter(|id| id.digest.piece_type() == PieceType::Chunk);
    for chunk in chunks.copied().collect::<Vec<_>>() {
        let (mut bytes, references) = pieces.pieces.remove(&chunk).unwrap();
        let whole = |pieces: &Pieces| ObjectReader::open(pieces, &id)?.read_range(0, u64::MAX);
        assert_eq!(whole(&pieces).unwrap_err().kind(), ErrorKind::NeedsFetch);
        bytes.push(0);
        pieces
            .pieces
            .insert(chunk, (bytes.clone(), references.clone()));
        assert_eq!(whole(&pieces).unwrap_err().kind(), ErrorKind::Corruption);
        bytes.pop();
        pieces.pieces.insert(chunk, (bytes, references));
        assert!(whole(&pieces).unwrap() == content);
    }
}

#[test]
fn indexes_that_lead_in_a_circle_end() {
    let mut pieces = Pieces::default();
    let digest = ObjectDigest::of(PieceType::Index, ObjectType::Blob, &[1; 100]);
    let id = ObjectIdentifier::new(digest);
    let child = file_index::Child {
        size: 5,
        identifier: id,
    };
    pieces
        .pieces
        .insert(id, (file_index::encode(&[child]), Vec::new()));
    let mut reader = ObjectReader::open(&pieces, &id).unwrap();
    assert_eq!(
        reader.read_range(0, 5).unwrap_err().kind(),
        ErrorKind::Corruption
    );
}

quickcheck! {
    fn any_parts_in_any_parts_out(seed: u64, len: u32, parts: Vec<u16>) -> bool {
        let content = noise(seed, len as usize % 400_000);
        let mut pieces = Pieces::default();
        let whole = write(&mut pieces, &content);
        let mut writer = ObjectWriter::new(&mut pieces, SplitParameters::LEDGER, 0);
        let mut rest = &content[..];
        for part in &parts {
            let (part, behind) = rest.split_at(rest.len().min(usize::from(*part)));
            writer.push(part).unwrap();
            rest = behind;
        }
        writer.push(rest).unwrap();
        let id = writer.finish(ObjectType::Blob, &[]).unwrap();
        let mut reader = ObjectReader::open(&pieces, &id).unwrap();
        id == whole && parts.iter().all(|part| {
            let at = usize::from(*part) * 7 % (content.len() + 1);
            reader.seek(SeekFrom::Start(at as u64)).unwrap();
            let mut buffer = vec![0; usize::from(*part)];
            let len = reader.read(&mut buffer).unwrap();
            buffer[..len] == content[at..][..len] && (len > 0 || at == content.len() || *part == 0)
        })
    }
}
