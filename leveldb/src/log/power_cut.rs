//! Whether a power cut explains a record without its checksum.
//!
//! What a power cut leaves of bytes that no sync has covered is, sector by sector, what was written, or zeros, or what was there
//! of it when the sector was last written back, and zeros after that. So in a record that lost something, some sector ends in
//! zeros. A record without such a sector was damaged otherwise. Values have zeros, too: few of them explain nothing
//! where a single changed byte explains as much.

use super::{HEADER_LEN, Lost};
use crate::storage::{RandomFile, read_exact_at};
use std::io;

/// Bytes of a sector, the least that a medium writes at once.
const SECTOR_LEN: u64 = 512;

/// Fewer zeros at a sector's end than these are often what was written.
const ZEROS_MIN: u64 = 16;

/// Whether what was lost of a log may be what a power cut leaves of bytes that were not synced.
pub(crate) fn explains(file: &dyn RandomFile, lost: &Lost) -> io::Result<bool> {
    if lost.source.is_some() {
        return Ok(false);
    }
    let file_len = file.len()?;
    let reach = lost.end.max(lost.declared_end).min(file_len);
    let mut sector = lost.damaged_at / SECTOR_LEN * SECTOR_LEN;
    let mut bytes = [0; SECTOR_LEN as usize];
    while sector < reach {
        let end = (sector + SECTOR_LEN).min(file_len);
        let bytes = &mut bytes[..(end - sector) as usize];
        read_exact_at(file, sector, bytes)?;
        let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count() as u64;
        if zeros > 0 && end - zeros < reach && is_unwritten(lost, end - zeros, end, file_len) {
            return Ok(true);
        }
        sector = end;
    }
    Ok(false)
}

/// Whether zeros from `from` to a sector's end `to` may be bytes that were not written.
fn is_unwritten(lost: &Lost, from: u64, to: u64, file_len: u64) -> bool {
    if to - from == SECTOR_LEN {
        return true;
    }
    let are_few = to - from < ZEROS_MIN && to != file_len;
    let has_zeroed_cause =
        (lost.corrections.iter()).any(|&(at, _)| lost.bytes.get(at).is_some_and(|&byte| byte == 0));
    if lost.single_byte && (are_few || !has_zeroed_cause) {
        return false;
    }
    // If the length is damaged, where the record ends is not known, and with it which zeros are its own.
    !are_few
        || lost.has_length
        || from <= lost.damaged_at + HEADER_LEN as u64
        || (from + 1..=to).contains(&lost.declared_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{LogEvent, LogReader, LogWriter};
    use crate::storage::{CrashImage, FileSystem, MemoryFileSystem};
    use std::path::Path;

    const LOG: &str = "log";

    /// Records of many lengths; where the synced ones end, and the bytes of all.
    fn written(seed: u32) -> (MemoryFileSystem, u64) {
        let fs = MemoryFileSystem::new();
        let mut log = LogWriter::new(fs.create(Path::new(LOG)).unwrap(), 0);
        let mut synced = 0;
        for n in 0..60u32 {
            let random = n
                .wrapping_add(seed)
                .wrapping_mul(0x9e37_79b9)
                .rotate_left(15);
            let len = if random.is_multiple_of(5) { 5000 } else { 90 };
            // Some values end in zeros.
            let record: Vec<u8> = (0..random % len)
                .map(|at| if at % 97 < 60 { (at ^ random) as u8 } else { 0 })
                .collect();
            log.add(&record).unwrap();
            if n == 20 {
                log.file().sync().unwrap();
                synced = fs.metadata(Path::new(LOG)).unwrap().len_bytes;
            }
        }
        (fs, synced)
    }

    fn first_lost(fs: &MemoryFileSystem) -> Option<Lost> {
        let mut reader = LogReader::new(fs.open_random(Path::new(LOG)).unwrap()).unwrap();
        loop {
            match reader.next_event() {
                LogEvent::Lost(lost) => return Some(lost),
                LogEvent::End => return None,
                _ => {}
            }
        }
    }

    #[test]
    fn a_power_cut_explains_every_first_bad_record_that_it_leaves() {
        let mut met = 0;
        for model in CrashImage::POWER_CUTS {
            for seed in 0..3000 {
                let (fs, synced) = written(seed as u32 / 100);
                // Unsynced names are there or not; this one is.
                fs.sync_dir(Path::new("")).unwrap();
                let image = model(seed);
                let after = fs.crash_image(image);
                if let Some(lost) = first_lost(&after) {
                    met += 1;
                    assert!(lost.end > synced, "{image:?}: {lost:?}");
                    let file = after.open_random(Path::new(LOG)).unwrap();
                    assert!(explains(&*file, &lost).unwrap(), "{image:?}: {lost:?}");
                }
            }
        }
        println!("{met} logs with a bad record");
        assert!(met > 5000);
    }

    #[test]
    fn few_changed_bytes_are_explained_by_a_power_cut() {
        let (fs, _) = written(1);
        let file = fs.open_random(Path::new(LOG)).unwrap();
        let mut whole = vec![0; file.len().unwrap() as usize];
        read_exact_at(&*file, 0, &mut whole).unwrap();
        let (mut lost_count, mut explained) = (0, 0);
        for at in 0..whole.len() {
            let damaged = MemoryFileSystem::new();
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            damaged
                .create(Path::new(LOG))
                .unwrap()
                .append(&bytes)
                .unwrap();
            if let Some(lost) = first_lost(&damaged) {
                lost_count += 1;
                let file = damaged.open_random(Path::new(LOG)).unwrap();
                explained += u32::from(explains(&*file, &lost).unwrap());
            }
        }
        println!("{explained} of {lost_count} explained");
        // What is explained are changed lengths: the values have 37 zeros in a row, where many a sector ends.
        assert!(explained * 20 < lost_count && lost_count > 10_000);
    }
}
