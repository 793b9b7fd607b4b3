//! Values in a page: written as streams, referred to, read in parts.

use super::staged::Staged;
use super::{Inner, Page, Pin};
use crate::error::{Error, Result};
use crate::object::{
    ObjectDigest, ObjectIdentifier, ObjectReader, ObjectType, ObjectWriter, Piece, PieceSink,
    PieceSource, Reference, SplitParameters,
};
use crate::rows::PieceStatus;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

/// Bytes that are read of a stream at a time.
const PART_LEN: usize = 64 << 10;
/// Pieces of a stream are written when they have so many bytes together.
const BUFFER_LEN: usize = 512 << 10;

/// A value that is in the page, for any number of entries. Until one of them is committed, it stays as long as this is held.
#[derive(Debug)]
pub struct ValueReference {
    pub(super) identifier: ObjectIdentifier,
    pub(super) page: Arc<Inner>,
    _pin: Pin,
}

impl ValueReference {
    pub(super) fn new(page: &Arc<Inner>, identifier: ObjectIdentifier) -> ValueReference {
        ValueReference {
            identifier,
            page: page.clone(),
            _pin: Pin::piece(page, identifier),
        }
    }

    /// Its name.
    pub fn identifier(&self) -> ObjectIdentifier {
        self.identifier
    }
}

/// What the reader of a value reads from: a page, which stays open, and a pin on the value.
#[derive(Debug)]
pub struct PieceReader {
    page: Arc<Inner>,
    _pin: Pin,
}

impl PieceReader {
    pub(super) fn open(page: &Arc<Inner>, id: &ObjectIdentifier) -> Result<ObjectReader<Self>> {
        let source = PieceReader {
            page: page.clone(),
            _pin: Pin::piece(page, *id),
        };
        ObjectReader::open(source, id)
    }
}

impl PieceSource for PieceReader {
    fn piece(&self, identifier: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
        self.page.piece(identifier)
    }
}

/// A piece with its bytes.
#[derive(Debug)]
pub(super) struct OwnedPiece {
    id: ObjectIdentifier,
    content: Vec<u8>,
    references: Vec<Reference>,
}

impl OwnedPiece {
    fn of(piece: &Piece<'_>) -> OwnedPiece {
        OwnedPiece {
            id: piece.identifier,
            content: piece.content.to_vec(),
            references: piece.references.to_vec(),
        }
    }

    pub(super) fn put(&self, sink: &mut dyn PieceSink) -> Result<()> {
        sink.put(Piece {
            identifier: self.id,
            content: &self.content,
            references: &self.references,
        })
    }
}

/// Pieces in memory.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) pieces: Vec<OwnedPiece>,
    pub(super) len_bytes: usize,
}

impl PieceSink for &mut Buffer {
    fn put(&mut self, piece: Piece<'_>) -> Result<()> {
        self.len_bytes += piece.content.len();
        self.pieces.push(OwnedPiece::of(&piece));
        Ok(())
    }
}

/// The pieces of a value that is in memory, and its name.
pub(super) fn pieces_of(content: &[u8]) -> Result<(ObjectIdentifier, Buffer)> {
    let mut buffer = Buffer::default();
    let mut writer = ObjectWriter::new(&mut buffer, SplitParameters::LEDGER, 0);
    writer.push(content)?;
    let id = writer.finish(ObjectType::Blob, &[])?;
    Ok((id, buffer))
}

/// Pieces that go to the page as transient ones. Each is pinned until one that refers to it is there.
struct Stream<'a> {
    page: &'a Arc<Inner>,
    buffer: Buffer,
    pins: HashMap<ObjectDigest, Pin>,
}

impl Stream<'_> {
    fn flush(&mut self) -> Result<()> {
        let pieces = std::mem::take(&mut self.buffer).pieces;
        self.page.write_transient(&pieces)?;
        for reference in pieces.iter().flat_map(|piece| &piece.references) {
            self.pins.remove(&reference.identifier.digest);
        }
        Ok(())
    }
}

impl PieceSink for &mut Stream<'_> {
    fn put(&mut self, piece: Piece<'_>) -> Result<()> {
        let id = piece.identifier;
        let pin = || Pin::piece(self.page, id);
        self.pins.entry(id.digest).or_insert_with(pin);
        (&mut self.buffer).put(piece)?;
        match self.buffer.len_bytes >= BUFFER_LEN {
            true => self.flush(),
            false => Ok(()),
        }
    }
}

impl Inner {
    /// Writes pieces, which the caller has pinned, as transient ones.
    pub(super) fn write_transient(&self, pieces: &[OwnedPiece]) -> Result<()> {
        // Under the lock: what is found here cannot be collected before it is pinned.
        let _writing = self.writing();
        let mut staged = Staged::new(self);
        pieces.iter().try_for_each(|piece| piece.put(&mut staged))?;
        self.write(&mut staged.finish(PieceStatus::Transient))
    }
}

impl Page {
    /// Writes a value of any length into the page, for entries to refer to ([`Journal::put_value`](crate::Journal::put_value)). Half a MiB of it
    /// is in memory at a time.
    ///
    /// # Errors
    /// `Usage` if the stream fails; those of the engine.
    pub fn create_value(&self, mut stream: impl Read) -> Result<ValueReference> {
        let mut pieces = Stream {
            page: &self.0,
            buffer: Buffer::default(),
            pins: HashMap::new(),
        };
        let mut writer = ObjectWriter::new(&mut pieces, SplitParameters::LEDGER, 0);
        let mut part = vec![0; PART_LEN];
        loop {
            match stream.read(&mut part) {
                Ok(0) => break,
                Ok(len) => writer.push(&part[..len])?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Error::usage(format!("the value's stream failed: {error}")));
                }
            }
        }
        let identifier = writer.finish(ObjectType::Blob, &[])?;
        pieces.flush()?;
        Ok(ValueReference::new(&self.0, identifier))
    }
}
