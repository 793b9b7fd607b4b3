//! The value of a record's entry as a stream: its head, then the contents of its blobs, of which none is in memory whole.

use std::io::{self, Cursor, Read};

use larder_idb::ExternalObject;

/// A head, and the contents behind it.
pub(super) struct Content<'a> {
    head: Cursor<Vec<u8>>,
    /// Those that have not been opened, with their lengths.
    left: std::vec::IntoIter<(&'a ExternalObject, u64)>,
    /// The one that is read, and how many bytes of it are to come.
    open: Option<(Box<dyn Read + Send + 'a>, u64)>,
    /// What kept a content from being read.
    pub(super) failed: Option<String>,
}

impl<'a> Content<'a> {
    pub(super) fn new(head: Vec<u8>, objects: Vec<(&'a ExternalObject, u64)>) -> Self {
        Self {
            head: Cursor::new(head),
            left: objects.into_iter(),
            open: None,
            failed: None,
        }
    }

    fn step(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.head.read(buffer)?;
        if read > 0 {
            return Ok(read);
        }
        loop {
            if let Some((content, left)) = &mut self.open {
                let wanted = buffer
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                let read = content.read(&mut buffer[..wanted])?;
                if read == 0 && *left > 0 {
                    let what = format!("a blob ends {left} bytes before its end");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
                }
                *left -= read as u64;
                if read > 0 {
                    return Ok(read);
                }
            }
            let Some((object, len)) = self.left.next() else {
                return Ok(0);
            };
            self.open = Some((object.open().map_err(io::Error::other)?, len));
        }
    }
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = self.step(buffer);
        if let Err(error) = &read
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failed = Some(error.to_string());
        }
        read
    }
}
