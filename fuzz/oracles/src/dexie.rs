//! Files of dexie-export-import: one text of JSON, which may come from anywhere.

use std::path::Path;
use std::sync::Arc;

use larder::archive::{ArchiveError, ImportOptions, Imported, check_bytes, import_archive};
use larder_codec::Origin;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

const HEAD: &[u8] = br#"{"formatName":"dexie""#;

/// Whether the text begins as such a file does.
pub(crate) fn is_dexie(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let written = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    written.take(HEAD.len()).eq(HEAD)
}

/// Text taken as such a file is read or refused with whatever white space is in it, and refused where it is cut; a dry run of an import
/// counts the same records.
pub fn dexie(data: &[u8]) {
    let file = match is_dexie(data) {
        true => data.to_vec(),
        false => [HEAD, data].concat(),
    };
    let read = check_bytes(&file).ok();
    assert_eq!(read, check_bytes(&spaced(&file)).ok(), "white space counts");
    let dry = dry_run(&file).ok().map(|imported| imported.counts.records);
    assert_eq!(read, dry);
    if read.is_some() {
        let cut = file.trim_ascii_end();
        let cut = cut.get(..cut.len() - 1).unwrap_or_default();
        assert!(check_bytes(cut).is_err(), "a file without its end is taken");
    }
}

fn dry_run(file: &[u8]) -> Result<Imported, ArchiveError> {
    let memory = MemoryFileSystem::default();
    let (from, to) = (Path::new("/file.json"), Path::new("/to"));
    let mut written = memory.create(from).expect("a file");
    written.append(file).expect("room");
    written.sync().expect("a sync");
    let fs: Arc<dyn FileSystem> = Arc::new(memory);
    let options = ImportOptions {
        origin: Origin::from_url("https://example.com").ok(),
        dry_run: true,
    };
    import_archive(&fs, from, &fs, to, &options, &mut || {})
}

/// The text with a line break behind everything between which JSON allows white space.
fn spaced(text: &[u8]) -> Vec<u8> {
    let mut spaced = Vec::with_capacity(text.len() * 2);
    let (mut is_in_string, mut is_escaped) = (false, false);
    for byte in text {
        spaced.push(*byte);
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            b'{' | b'[' | b',' | b':' if !is_in_string => spaced.push(b'\n'),
            _ => {}
        }
    }
    spaced
}
