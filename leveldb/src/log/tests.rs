//! Logs: round trips, and what is said of damage.

use super::*;
use crate::storage::{FileSystem, MemoryFileSystem};
use quickcheck::quickcheck;
use std::path::Path;

fn write(records: &[Vec<u8>]) -> Vec<u8> {
    append(Vec::new(), records)
}

fn append(before: Vec<u8>, records: &[Vec<u8>]) -> Vec<u8> {
    let fs = MemoryFileSystem::new();
    let path = Path::new("log");
    let mut file = fs.create(path).unwrap();
    file.append(&before).unwrap();
    let mut log = LogWriter::new(file, before.len() as u64);
    for record in records {
        log.add(record).unwrap();
    }
    let mut bytes = vec![0; fs.metadata(path).unwrap().len_bytes as usize];
    fs.open_random(path)
        .unwrap()
        .read_at(0, &mut bytes)
        .unwrap();
    bytes
}

fn reader(bytes: &[u8]) -> LogReader {
    let fs = MemoryFileSystem::new();
    fs.create(Path::new("log")).unwrap().append(bytes).unwrap();
    LogReader::new(fs.open_random(Path::new("log")).unwrap()).unwrap()
}

#[derive(Debug, PartialEq)]
enum Seen {
    Record(Vec<u8>),
    Recovered(Vec<u8>),
    Lost { offset: u64, single_byte: bool },
    Zeros(u64),
    Torn(u64),
}

fn read(bytes: &[u8]) -> Vec<Seen> {
    let mut reader = reader(bytes);
    let mut seen = Vec::new();
    loop {
        match reader.next_event() {
            LogEvent::Record => seen.push(Seen::Record(reader.record().to_vec())),
            LogEvent::Recovered(_) => seen.push(Seen::Recovered(reader.record().to_vec())),
            LogEvent::Lost(lost) => {
                assert!(
                    lost.offset <= lost.end && lost.end <= bytes.len() as u64,
                    "{lost:?}"
                );
                seen.push(Seen::Lost {
                    offset: lost.offset,
                    single_byte: lost.single_byte,
                });
            }
            LogEvent::Zeros { offset } => seen.push(Seen::Zeros(offset)),
            LogEvent::TornTail { offset } => seen.push(Seen::Torn(offset)),
            LogEvent::End => return seen,
        }
    }
}

/// Records that end near, at and across block boundaries.
fn records() -> Vec<Vec<u8>> {
    let lengths = [
        0,
        1,
        100,
        BLOCK_LEN - 150,
        5,
        0,
        BLOCK_LEN - 27,
        3 * BLOCK_LEN,
        17,
        900,
    ];
    lengths
        .iter()
        .zip(1u8..)
        .map(|(&len, byte)| vec![byte; len])
        .collect()
}

quickcheck! {
    fn records_read_back(lengths: Vec<u16>) -> bool {
        let max = if cfg!(miri) { 3000 } else { u16::MAX };
        let record = |&len: &u16| vec![len as u8; usize::from(len % max)];
        let records: Vec<Vec<u8>> = lengths.iter().map(record).collect();
        read(&write(&records)) == records.into_iter().map(Seen::Record).collect::<Vec<_>>()
    }

    fn any_bytes_come_to_an_end(bytes: Vec<u8>, repeat: u16) -> bool {
        let repeat = repeat % if cfg!(miri) { 20 } else { 2000 };
        let bytes = bytes.repeat(usize::from(repeat));
        read(&bytes).len() <= bytes.len() + 1
    }
}

#[test]
fn the_bytes_are_those_of_the_format_document() {
    // doc/log_format.md: A of 1000 bytes, B of 97270, C of 8000.
    let bytes = write(&[vec![b'A'; 1000], vec![b'B'; 97_270], vec![b'C'; 8000]]);
    let header = |at: usize| {
        (
            u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]),
            bytes[at + 6],
        )
    };
    assert_eq!(header(0), (1000, 1));
    assert_eq!(header(1007), (31_754, 2));
    assert_eq!(header(32_768), (32_761, 3));
    assert_eq!(header(65_536), (32_755, 4));
    // Six bytes are left of the third block: too few for a header.
    assert_eq!(bytes[98_298..98_304], [0; 6]);
    assert_eq!(header(98_304), (8000, 1));
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn a_changed_byte_is_noticed_and_costs_one_record_at_most() {
    let records = records();
    let whole = write(&records);
    for at in (0..whole.len())
        .step_by(151)
        .chain(0..200)
        .chain(BLOCK_LEN - 60..BLOCK_LEN + 60)
    {
        for bits in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= bits;
            let seen = read(&bytes);
            let got: Vec<&Vec<u8>> = seen
                .iter()
                .filter_map(|seen| match seen {
                    Seen::Record(record) | Seen::Recovered(record) => Some(record),
                    _ => None,
                })
                .collect();
            let missing: Vec<_> = records
                .iter()
                .filter(|record| !got.contains(record))
                .collect();
            let is_named = seen
                .iter()
                .any(|seen| matches!(seen, Seen::Lost { .. } | Seen::Recovered(_)));
            assert!(
                missing.len() <= 1 && got.iter().all(|record| records.contains(record)),
                "byte {at} ^ {bits}"
            );
            assert!(is_named || missing.is_empty(), "byte {at} ^ {bits}: silent");
            let explained = |seen: &Seen| {
                !matches!(
                    seen,
                    Seen::Lost {
                        single_byte: false,
                        ..
                    }
                )
            };
            assert!(seen.iter().all(explained), "byte {at} ^ {bits}: {seen:?}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn a_cut_is_a_torn_tail_wherever_it_is() {
    let records = records();
    let whole = write(&records);
    for len in (0..whole.len()).rev().step_by(103) {
        let seen = read(&whole[..len]);
        let torn = seen
            .iter()
            .filter(|seen| matches!(seen, Seen::Torn(_)))
            .count();
        let whole_ones = seen
            .iter()
            .filter(|seen| matches!(seen, Seen::Record(_)))
            .count();
        assert!(
            torn <= 1 && torn + whole_ones == seen.len(),
            "cut to {len}: {seen:?}"
        );
        let expected: Vec<_> = records
            .iter()
            .take(whole_ones)
            .cloned()
            .map(Seen::Record)
            .collect();
        assert_eq!(seen[..whole_ones], expected[..]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn a_last_record_whose_length_was_changed_is_not_taken_for_a_torn_one() {
    let records = [vec![1; 300], vec![2; 300]];
    let whole = write(&records);
    for bits in 1..=255u8 {
        for at in [307 + 4, 307 + 5] {
            let mut bytes = whole.clone();
            bytes[at] ^= bits;
            let expected = [
                Seen::Record(records[0].clone()),
                Seen::Recovered(records[1].clone()),
            ];
            assert_eq!(read(&bytes), expected, "byte {at} ^ {bits}");
        }
    }
}

#[test]
fn records_that_were_added_after_a_torn_one_are_read() {
    let mut torn = write(&[vec![1; 100], vec![2; 5000]]);
    torn.truncate(2000);
    let bytes = append(torn, &[vec![3; 100], vec![4; 40_000]]);
    let seen = read(&bytes);
    let lost = Seen::Lost {
        offset: 107,
        single_byte: false,
    };
    let expected = [
        Seen::Record(vec![1; 100]),
        lost,
        Seen::Record(vec![3; 100]),
        Seen::Record(vec![4; 40_000]),
    ];
    assert!(seen == expected, "{} events", seen.len());
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn zeros_between_blocks_and_at_the_end_are_reported() {
    let mut bytes = write(&[vec![1; 100]]);
    bytes.resize(2 * BLOCK_LEN, 0);
    let expected = [Seen::Record(vec![1; 100]), Seen::Zeros(107)];
    assert_eq!(read(&bytes), expected);
    let bytes = append(bytes, &[vec![2; 100]]);
    let expected = [
        Seen::Record(vec![1; 100]),
        Seen::Zeros(107),
        Seen::Record(vec![2; 100]),
    ];
    assert_eq!(read(&bytes), expected);
    let mut unfinished = write(&[vec![1; 2 * BLOCK_LEN]]);
    unfinished[BLOCK_LEN..].fill(0);
    unfinished.resize(3 * BLOCK_LEN, 0);
    assert!(matches!(
        read(&unfinished)[..],
        [Seen::Lost { offset: 0, .. }, Seen::Zeros(_)]
    ));
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn spans_of_a_record_are_read_again_and_verified() {
    let records = records();
    let bytes = write(&records);
    let fs = MemoryFileSystem::new();
    fs.create(Path::new("log")).unwrap().append(&bytes).unwrap();
    let file = fs.open_random(Path::new("log")).unwrap();
    let mut reader = LogReader::new(file.clone()).unwrap();
    while let LogEvent::Record = reader.next_event() {
        let record = reader.record();
        for at in [0, record.len() / 3, record.len() / 2] {
            let fragments = reader.fragments();
            let fragment =
                fragments[fragments.partition_point(|fragment| fragment.record_at <= at) - 1];
            let len = record.len() - at;
            let span = read_span(&*file, fragment.offset, at - fragment.record_at, len).unwrap();
            assert!(span == record[at..]);
        }
    }
    assert!(read_span(&*file, 3, 0, 10).is_err());
    assert!(read_span(&*file, bytes.len() as u64, 0, 1).is_err());
}
