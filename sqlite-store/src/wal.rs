//! A write-ahead log: which pages its commits have, and where. Source: "WAL File Format" of SQLite's file format documentation.

use std::collections::BTreeMap;
use std::io;

use larder_leveldb::storage::RandomFile;

const HEADER_LEN: usize = 32;
const FRAME_HEADER_LEN: usize = 24;

/// The first four bytes; the last bit says that checksums are of big-endian words.
const MAGIC: u32 = 0x377f_0682;

/// What the commits of a log have written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wal {
    /// Page numbers, from 1, with the place of their newest bytes.
    pub(crate) pages: BTreeMap<u32, u64>,
    pub(crate) page_len: usize,
    /// Pages of the database after the last commit; 0 without one.
    pub(crate) page_count: u32,
}

/// The header, which another log in its place has differently.
pub(crate) type Header = [u8; HEADER_LEN];

/// The header of a log, if it has one.
pub(crate) fn header(file: &dyn RandomFile) -> io::Result<Option<Header>> {
    let mut header = [0; HEADER_LEN];
    Ok(read_exact(file, 0, &mut header)?.then_some(header))
}

/// Reads the frames up to the last commit. What follows was never committed, or was cut off by a crash.
pub(crate) fn read(file: &dyn RandomFile, header: &Header) -> io::Result<Wal> {
    let word = |at: usize| be(header, at);
    let is_big_endian = word(0) & 1 == 1;
    let page_len = word(8) as usize;
    let mut sum = (0, 0);
    add(&mut sum, &header[..24], is_big_endian);
    if word(0) & !1 != MAGIC
        || !page_len.is_power_of_two()
        || !(512..=65536).contains(&page_len)
        || sum != (word(24), word(28))
    {
        return Ok(Wal::default());
    }
    let mut wal = Wal {
        page_len,
        ..Wal::default()
    };
    let mut pending = BTreeMap::new();
    let mut frame = vec![0; FRAME_HEADER_LEN + page_len];
    let mut offset = HEADER_LEN as u64;
    while read_exact(file, offset, &mut frame)? {
        let (head, page) = frame.split_at(FRAME_HEADER_LEN);
        add(&mut sum, &head[..8], is_big_endian);
        add(&mut sum, page, is_big_endian);
        if head[8..16] != header[16..24] || sum != (be(head, 16), be(head, 20)) {
            break;
        }
        pending.insert(be(head, 0), offset + FRAME_HEADER_LEN as u64);
        let page_count = be(head, 4);
        if page_count > 0 {
            wal.pages.append(&mut pending);
            wal.page_count = page_count;
        }
        offset += frame.len() as u64;
    }
    Ok(wal)
}

fn be(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u32::from_be_bytes(*word))
}

/// Goes on with a checksum over bytes of a multiple of 8.
fn add(sum: &mut (u32, u32), bytes: &[u8], is_big_endian: bool) {
    let word = |bytes: [u8; 4]| match is_big_endian {
        true => u32::from_be_bytes(bytes),
        false => u32::from_le_bytes(bytes),
    };
    for &[a, b, c, d, e, f, g, h] in bytes.as_chunks().0 {
        sum.0 = sum.0.wrapping_add(word([a, b, c, d])).wrapping_add(sum.1);
        sum.1 = sum.1.wrapping_add(word([e, f, g, h])).wrapping_add(sum.0);
    }
}

/// Fills the buffer; whether there were enough bytes.
pub(crate) fn read_exact(
    file: &dyn RandomFile,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<bool> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset + filled as u64, rest) {
            Ok(0) => return Ok(false),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
