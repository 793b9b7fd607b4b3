//! Laws of logs.

use std::path::Path;
use std::sync::Arc;

use larder_leveldb::log::{LogEvent, LogReader};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{BytewiseComparator, Comparator};

use crate::files::Files;
use crate::input::{Input, noise};
use crate::reading::{self, Written};
use crate::write;

const LOG: &str = "000003.log";

/// The first byte chooses: the rest is a log; or records to write and damage to do to them; or batches of writes and
/// damage.
pub fn log(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 3 {
        0 => any_bytes(input.0),
        1 => damaged_records(input),
        _ => damaged_batches(input),
    }
}

fn any_bytes(bytes: &[u8]) {
    let mut record_bytes = 0;
    events(bytes, |event, record| match event {
        LogEvent::Record => record_bytes += record.len(),
        LogEvent::Recovered(lost) | LogEvent::Lost(lost) => {
            assert!(
                lost.offset <= lost.end && lost.end <= bytes.len() as u64,
                "{lost:?}"
            );
        }
        LogEvent::Zeros { offset } | LogEvent::TornTail { offset } => {
            assert!(*offset <= bytes.len() as u64)
        }
        LogEvent::End => {}
    });
    assert!(record_bytes <= bytes.len(), "no byte is shown twice");
    let comparator: Arc<dyn Comparator> = Arc::new(BytewiseComparator);
    reading::read(&store(bytes.to_vec()), &comparator);
}

/// Reads a log to its end. Every event but the last takes some of the file, so there are no more than it has bytes.
fn events(bytes: &[u8], mut each: impl FnMut(&LogEvent, &[u8])) {
    let fs = Files([(LOG.to_owned(), bytes.to_vec())].into()).mount();
    let file = fs.open_random(Path::new(LOG)).expect("it is there");
    let mut reader = LogReader::new(file).expect("memory has lengths");
    for _ in 0..=bytes.len() {
        let event = reader.next_event();
        each(&event, reader.record());
        if matches!(event, LogEvent::End) {
            assert!(
                matches!(reader.next_event(), LogEvent::End),
                "the end is the end"
            );
            return;
        }
    }
    panic!("more events than bytes");
}

fn store(log: Vec<u8>) -> Files {
    let edits = [write::first_edit(&BytewiseComparator, 3, 0)];
    reading::store([
        ("CURRENT", write::CURRENT.to_vec()),
        ("MANIFEST-000001", write::manifest(&edits)),
        (LOG, log),
    ])
}

/// A change of a file that leaves its length; whether there was anything to change.
pub(crate) fn change_byte(input: &mut Input<'_>, bytes: &mut [u8]) -> bool {
    let at = input.below(bytes.len());
    let bits = input.byte();
    let Some(byte) = bytes.get_mut(at) else {
        return false;
    };
    *byte ^= bits;
    bits != 0
}

fn damaged_records(mut input: Input<'_>) {
    let (seed, count) = (input.byte(), usize::from(input.byte() % 12));
    // Long enough to cross blocks, now and then.
    let records: Vec<Vec<u8>> = (0..count)
        .map(|n| noise(seed, n, usize::from(input.u16()) % 40_000))
        .collect();
    let mut bytes = write::log(&records);
    let mut is_changed = false;
    let cut = (input.byte() == 1).then(|| input.below(bytes.len() + 1));
    for _ in 0..input.byte() % 4 {
        is_changed |= change_byte(&mut input, &mut bytes);
    }
    bytes.truncate(cut.unwrap_or(bytes.len()));
    let (mut shown, mut told) = (Vec::new(), 0);
    events(&bytes, |event, record| match event {
        LogEvent::Record => shown.push(record.to_vec()),
        LogEvent::Recovered(_) => {
            shown.push(record.to_vec());
            told += 1;
        }
        LogEvent::End => {}
        _ => told += 1,
    });
    if !is_changed {
        let before_cut = records
            .get(..shown.len())
            .expect("no more than was written");
        assert_eq!(shown, before_cut, "what is written reads back");
        assert!(told <= usize::from(cut.is_some()), "at most one torn tail");
    }
    let mut rest = records.iter();
    for record in &shown {
        assert!(
            rest.any(|written| written == record),
            "a record of {} bytes that was not written",
            record.len()
        );
    }
    assert!(
        told > 0 || cut.is_some() || shown == records,
        "a record is missing, and nothing tells"
    );
}

fn damaged_batches(mut input: Input<'_>) {
    let mut written = Written::default();
    let (seed, batches) = (input.byte(), usize::from(input.byte() % 20));
    let (mut records, mut sequence) = (Vec::new(), 1);
    for number in 0..batches {
        let mut batch = BatchWriter::new();
        for _ in 0..1 + input.byte() % 4 {
            let (key, kind) = (vec![b'k', input.byte() % 16], input.byte());
            // Long values stay in the log and are read again when asked for.
            let len = if kind > 250 { 5000 } else { usize::from(kind) };
            let value = (kind > 40).then(|| noise(seed, number, len));
            match &value {
                Some(value) => batch.put(&key, value),
                None => batch.delete(&key),
            }
            written.note(key, value);
        }
        records.push(batch.finish(sequence).to_vec());
        sequence += u64::from(batch.entry_count());
    }
    let mut bytes = write::log(&records);
    let changes = input.byte() % 3;
    let changed = (0..changes)
        .filter(|_| change_byte(&mut input, &mut bytes))
        .count();
    let comparator: Arc<dyn Comparator> = Arc::new(BytewiseComparator);
    let shown = reading::read(&store(bytes), &comparator).expect("it is a store");
    match changed {
        0 if changes == 0 => assert!(
            written.is(&shown.rows) && shown.is_whole,
            "what is written reads back"
        ),
        0 | 1 => written.check_one_byte(&shown),
        _ => written.check_damaged(&shown),
    }
}
