//! Whether a power cut explains a record without its checksum.
//!
//! What a power cut leaves of bytes that no sync has covered is, sector by sector, what was written, or zeros, or what was there
//! of it when the sector was last written back, and zeros after that. So in a record that lost something, some sector ends in
//! zeros. A record without such a sector was damaged otherwise. Values have zeros, too: few of them explain nothing
//! where a single changed byte explains as much, unless that byte can be the only one that was lost. What is there of a sector from an earlier
//! time ends where a write began, and so does a record: of one that begins at a sector's last bytes, nothing but these can be missing.

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
    // The record was not there yet when the sector was written back, and all the rest of it fits.
    let has_right_rest = lost.checksum_right_from.is_some_and(|right| right <= to);
    if from <= lost.damaged_at && has_right_rest {
        return true;
    }
    // Nothing that was written ends in zeros behind its last record: what was to come there is missing, and this record's end with it. A single
    // changed byte explains some of the checksums by chance, one in 17 million for each byte of the record, and never these zeros.
    if lost.has_length && to == file_len && (from + 1..to).contains(&lost.declared_end) {
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

    const SECTOR: usize = SECTOR_LEN as usize;

    /// A log of two records: the second, of which a part of its checksum is the first sector's last bytes, and where it begins.
    fn at_sector_end(checksum_bytes: usize, is_zero_before: bool, seed: u32) -> (Vec<u8>, usize) {
        let fs = MemoryFileSystem::new();
        let mut log = LogWriter::new(fs.create(Path::new(LOG)).unwrap(), 0);
        let mut before = vec![1; SECTOR - checksum_bytes - HEADER_LEN];
        if is_zero_before {
            before[300..].fill(0);
        }
        log.add(&before).unwrap();
        let start = log.len_bytes() as usize;
        log.add(&seed.to_le_bytes().repeat(200)).unwrap();
        log.add(b"behind").unwrap();
        let file = fs.open_random(Path::new(LOG)).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        read_exact_at(&*file, 0, &mut bytes).unwrap();
        (bytes, start)
    }

    /// Whether a power cut explains what is lost of a log; none if nothing is.
    fn is_explained(bytes: &[u8]) -> Option<(Lost, bool)> {
        let fs = MemoryFileSystem::new();
        fs.create(Path::new(LOG)).unwrap().append(bytes).unwrap();
        let lost = first_lost(&fs)?;
        let file = fs.open_random(Path::new(LOG)).unwrap();
        let explained = explains(&*file, &lost).unwrap();
        Some((lost, explained))
    }

    #[test]
    fn a_sector_that_lost_only_a_byte_of_a_checksum_is_explained() {
        let mut single = [0u32; 5];
        for seed in 0..3000 {
            for (checksum_bytes, single) in single.iter_mut().enumerate().skip(1) {
                for is_zero_before in [false, true] {
                    let (mut bytes, start) = at_sector_end(checksum_bytes, is_zero_before, seed);
                    // The sector was synced before the second record was written, and not written back after that.
                    bytes[start..SECTOR].fill(0);
                    let Some((lost, explained)) = is_explained(&bytes) else {
                        continue;
                    };
                    assert_eq!(lost.offset, start as u64);
                    assert!(explained, "seed {seed}, {checksum_bytes} bytes");
                    *single += u32::from(lost.single_byte);
                }
            }
        }
        println!("a single byte is lost, by the checksum's bytes in the sector: {single:?}");
        assert!(single[1] > 5000 && single[2] > 10, "{single:?}");
    }

    #[test]
    fn zeros_from_within_a_record_to_the_file_end_are_explained_whatever_fits_the_checksum() {
        let mut single = 0;
        for seed in 0..60_000_u32 {
            let fs = MemoryFileSystem::new();
            let mut log = LogWriter::new(fs.create(Path::new(LOG)).unwrap(), 0);
            let record: Vec<u8> = (1..100_u32)
                .flat_map(|n| ((n * 7919) ^ seed.wrapping_mul(0x9e37_79b9)).to_le_bytes())
                .collect();
            log.add(&record).unwrap();
            let end = log.len_bytes() as usize;
            log.add(b"behind").unwrap();
            let file = fs.open_random(Path::new(LOG)).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            read_exact_at(&*file, 0, &mut bytes).unwrap();
            bytes[end - 40..].fill(0);
            let (lost, explained) = is_explained(&bytes).unwrap();
            assert!(explained, "seed {seed}: {lost:?}");
            single += u32::from(lost.single_byte);
        }
        println!("a single byte fits the checksum of {single}");
        assert!(single > 0);
    }

    #[test]
    fn a_changed_byte_elsewhere_is_damage_although_a_checksum_begins_with_zero_at_a_sector_end() {
        let mut met = 0;
        for seed in 0..3000 {
            let (whole, start) = at_sector_end(1, false, seed);
            if whole[start] != 0 {
                // Zeros in a checksum, but not at a sector's end.
                let mut bytes = whole;
                bytes[start + 1] = 0;
                assert!(is_explained(&bytes).is_none_or(|(_, explained)| !explained));
                continue;
            }
            for at in (start..whole.len()).filter(|at| !(start + 4..start + 6).contains(at)) {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x20;
                if let Some((lost, explained)) = is_explained(&bytes) {
                    assert!(!explained, "seed {seed}, byte {at} of {}", lost.end);
                    met += 1;
                }
            }
        }
        assert!(met > 1000, "{met}");
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
