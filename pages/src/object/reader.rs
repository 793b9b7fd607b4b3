//! Any part of an object.

use super::file_index::{self, Child};
use super::{ObjectIdentifier, PieceSource, PieceType};
use crate::error::{Error, ErrorKind, Result};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// Indexes lie at most so deep: with two parts in each, more than any length needs; ours have about sixteen.
const DEPTH_MAX: usize = 64;

/// Reads an object, from anywhere to anywhere: it asks for the pieces that have what is read, and the indexes above them, and keeps one of
/// each level.
///
/// ```
/// use larder_pages::{ObjectIdentifier, ObjectReader, PieceSource, Result};
/// use std::io::Read;
///
/// /// A part in the middle, and then everything.
/// fn read(source: &impl PieceSource, film: &ObjectIdentifier) -> Result<(Vec<u8>, Vec<u8>)> {
///     let mut reader = ObjectReader::open(source, film)?;
///     let minute = reader.read_range(-1_000_000, 500_000)?; // from a million bytes before the end
///     let mut all = Vec::new();
///     reader.read_to_end(&mut all).unwrap();
///     Ok((minute, all))
/// }
/// ```
#[derive(Debug)]
pub struct ObjectReader<S> {
    source: S,
    len: u64,
    position: u64,
    /// From the root down: which part of the object an index has, and its own parts.
    path: Vec<(Range<u64>, Vec<Child>)>,
    chunk: (Range<u64>, Vec<u8>),
}

impl<S: PieceSource> ObjectReader<S> {
    /// Opens an object at its start.
    ///
    /// # Errors
    /// `NeedsFetch` if its root piece is not here; `Corruption`; those of the source.
    pub fn open(source: S, identifier: &ObjectIdentifier) -> Result<ObjectReader<S>> {
        let content = content(&source, identifier)?;
        let mut reader = ObjectReader {
            source,
            len: content.len() as u64,
            position: 0,
            path: Vec::new(),
            chunk: (0..0, Vec::new()),
        };
        match identifier.digest.piece_type() {
            PieceType::Chunk => reader.chunk = (0..reader.len, content),
            PieceType::Index => {
                let children = file_index::decode(&content)?;
                reader.len = children.iter().map(|child| child.size).sum();
                reader.path.push((0..reader.len, children));
            }
        }
        Ok(reader)
    }

    /// How many bytes the object has.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the object has no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// At most `len_max` bytes from `offset`, which counts from the end if it is negative. Outside of the object there is nothing.
    ///
    /// # Errors
    /// `NeedsFetch` if a piece of that part is not here; `Corruption`; those of the source.
    pub fn read_range(&mut self, offset: i64, len_max: u64) -> Result<Vec<u8>> {
        let start = match u64::try_from(offset) {
            Ok(offset) => Some(offset),
            Err(_) => self.len.checked_sub(offset.unsigned_abs()),
        };
        let mut bytes = Vec::new();
        let mut at = start.unwrap_or(self.len);
        let end = at.saturating_add(len_max).min(self.len);
        while at < end {
            let part = self.part(at)?;
            let part = &part[..part.len().min((end - at) as usize)];
            bytes.extend_from_slice(part);
            at += part.len() as u64;
        }
        Ok(bytes)
    }

    /// The rest of the chunk that has the byte at `at`.
    fn part(&mut self, at: u64) -> Result<&[u8]> {
        if !self.chunk.0.contains(&at) {
            self.descend(at)?;
        }
        Ok(&self.chunk.1[(at - self.chunk.0.start) as usize..])
    }

    fn descend(&mut self, at: u64) -> Result<()> {
        while self
            .path
            .last()
            .is_some_and(|(range, _)| !range.contains(&at))
        {
            self.path.pop();
        }
        while let Some((range, children)) = self.path.last() {
            let mut start = range.start;
            let mut children = children.iter();
            let child = loop {
                match children.next() {
                    Some(child) if at - start < child.size => break child,
                    Some(child) => start += child.size,
                    None => {
                        return Err(Error::corruption(
                            "an index without the part it should have",
                        ));
                    }
                }
            };
            let (size, identifier) = (child.size, child.identifier);
            let content = content(&self.source, &identifier)?;
            let is = match identifier.digest.piece_type() {
                PieceType::Chunk => content.len() as u64,
                PieceType::Index => {
                    let children = file_index::decode(&content)?;
                    let is = children.iter().map(|child| child.size).sum();
                    self.path.push((start..start + size, children));
                    is
                }
            };
            if is != size || self.path.len() > DEPTH_MAX {
                return Err(Error::corruption(format!(
                    "piece {:?} has {is} bytes of the object, and {size} by the index above it, at depth {}",
                    identifier.digest,
                    self.path.len()
                )));
            }
            if identifier.digest.piece_type() == PieceType::Chunk {
                self.chunk = (start..start + size, content);
                return Ok(());
            }
        }
        Err(Error::corruption("a chunk without the part it should have"))
    }
}

fn content(source: &impl PieceSource, identifier: &ObjectIdentifier) -> Result<Vec<u8>> {
    if let Some(content) = identifier.digest.inline_content() {
        return Ok(content.to_vec());
    }
    source.piece(identifier)?.ok_or_else(|| {
        Error::new(
            ErrorKind::NeedsFetch,
            format!("piece {:?} is not on this device", identifier.digest),
        )
    })
}

impl<S: PieceSource> Read for ObjectReader<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        let part = self.part(self.position)?;
        let len = part.len().min(buffer.len());
        buffer[..len].copy_from_slice(&part[..len]);
        self.position += len as u64;
        Ok(len)
    }
}

impl<S: PieceSource> Seek for ObjectReader<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
