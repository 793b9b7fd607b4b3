//! Pieces of a stream.

use super::file_index::{self, Child};
use super::splitter::{SplitParameters, Splitter};
use super::{
    ObjectDigest, ObjectIdentifier, ObjectType, Piece, PieceSink, PieceType, Priority, Reference,
};
use crate::error::Result;
use std::io;

/// Cuts what is written to it into pieces, and gives them to a sink. The name of the object is known at its end.
#[derive(Debug)]
pub struct ObjectWriter<S> {
    sink: S,
    parameters: SplitParameters,
    key_index: u32,
    splitter: Splitter,
    /// What has come since the last cut.
    chunk: Vec<u8>,
    /// By level: the parts of an index that is not complete.
    levels: Vec<Vec<Child>>,
    has_chunk: bool,
    /// The first chunk, until there is an index, and then the latest index. It is the root if it is the last: then its name says of what.
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    digest: ObjectDigest,
    content: Vec<u8>,
    references: Vec<Reference>,
}

impl<S: PieceSink> ObjectWriter<S> {
    /// Begins an object whose pieces are named with the key of number `key_index`.
    pub fn new(sink: S, parameters: SplitParameters, key_index: u32) -> ObjectWriter<S> {
        ObjectWriter {
            sink,
            parameters,
            key_index,
            splitter: Splitter::new(parameters),
            chunk: Vec::new(),
            levels: vec![Vec::new()],
            has_chunk: false,
            last: None,
        }
    }

    /// Adds bytes to the object.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while let Some(cut) = self.splitter.next_cut(rest) {
            let (before, behind) = rest.split_at(cut.consumed);
            if self.chunk.is_empty() && cut.consumed == cut.chunk_len {
                self.add_chunk(before)?;
            } else {
                self.chunk.extend_from_slice(before);
                self.end_chunk(cut.chunk_len)?;
            }
            rest = behind;
            for level in 0..cut.level as usize {
                self.close(level)?;
            }
        }
        self.chunk.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the object: its name. The root piece has `references` beside those to its parts.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(
        mut self,
        object: ObjectType,
        references: &[Reference],
    ) -> Result<ObjectIdentifier> {
        while !self.chunk.is_empty() {
            self.end_chunk(self.splitter.last_chunk_len(self.chunk.len()))?;
        }
        if !self.has_chunk {
            self.end_chunk(0)?;
        }
        let mut level = 0;
        while level + 1 < self.levels.len() || self.levels[level].len() > 1 {
            self.close(level)?;
            level += 1;
        }
        let Some(mut last) = self.last.take() else {
            return Err(crate::Error::usage("an object without a piece"));
        };
        last.digest = last.digest.as_root(object);
        last.references.extend_from_slice(references);
        let identifier = self.identifier(last.digest);
        self.emit(&last)?;
        Ok(identifier)
    }

    fn identifier(&self, digest: ObjectDigest) -> ObjectIdentifier {
        ObjectIdentifier {
            digest,
            key_index: self.key_index,
        }
    }

    /// Ends a chunk with the first `len` bytes of those that wait.
    fn end_chunk(&mut self, len: usize) -> Result<()> {
        let mut chunk = std::mem::take(&mut self.chunk);
        self.add_chunk(&chunk[..len])?;
        chunk.drain(..len);
        self.chunk = chunk;
        Ok(())
    }

    /// A chunk that is not the first is no root: it need not wait.
    fn add_chunk(&mut self, content: &[u8]) -> Result<()> {
        let size = content.len() as u64;
        if !self.has_chunk {
            self.has_chunk = true;
            return self.add(0, size, PieceType::Chunk, content.to_vec(), Vec::new());
        }
        let digest = ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, content);
        let identifier = self.identifier(digest);
        if !digest.is_inline() {
            self.sink.put(Piece {
                identifier,
                content,
                references: &[],
            })?;
        }
        self.levels[0].push(Child { size, identifier });
        self.close_if_full(0)
    }

    /// Makes an index of a level's list, which becomes a part of the level above. A single part goes up as it is.
    fn close(&mut self, level: usize) -> Result<()> {
        if self.levels.len() == level + 1 {
            self.levels.push(Vec::new());
        }
        let children = std::mem::take(&mut self.levels[level]);
        if children.len() <= 1 {
            self.levels[level + 1].extend(children);
            return self.close_if_full(level + 1);
        }
        let is_stored = |child: &&Child| !child.identifier.digest.is_inline();
        let references = children.iter().filter(is_stored).map(|child| Reference {
            identifier: child.identifier,
            priority: Priority::Eager,
        });
        let references = references.collect();
        let size = children.iter().map(|child| child.size).sum();
        let content = file_index::encode(&children);
        self.add(level + 1, size, PieceType::Index, content, references)
    }

    fn add(
        &mut self,
        level: usize,
        size: u64,
        piece: PieceType,
        content: Vec<u8>,
        references: Vec<Reference>,
    ) -> Result<()> {
        if let Some(last) = self.last.take() {
            self.emit(&last)?;
        }
        let digest = ObjectDigest::of(piece, ObjectType::Blob, &content);
        self.last = Some(Last {
            digest,
            content,
            references,
        });
        let identifier = self.identifier(digest);
        self.levels[level].push(Child { size, identifier });
        self.close_if_full(level)
    }

    fn close_if_full(&mut self, level: usize) -> Result<()> {
        match self.levels[level].len() >= self.parameters.children_max {
            true => self.close(level),
            false => Ok(()),
        }
    }

    fn emit(&mut self, last: &Last) -> Result<()> {
        if last.digest.is_inline() {
            return Ok(());
        }
        let identifier = self.identifier(last.digest);
        self.sink.put(Piece {
            identifier,
            content: &last.content,
            references: &last.references,
        })
    }
}

impl<S: PieceSink> io::Write for ObjectWriter<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
