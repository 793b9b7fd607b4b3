//! What every store does in [`stores`](crate::stores). The program of SlateDB (`peers/slate/`) includes this file, too: both sides
//! have the same keys and values, and are measured alike.

use std::time::Instant;

/// Bytes of a value.
pub(crate) const VALUE_LEN: usize = 200;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Puts that are awaited one after the other.
    pub(crate) strict_puts: u64,
    /// Puts of which only the last one is awaited.
    pub(crate) records: u64,
    /// Gets of random keys, one after the other.
    pub(crate) gets: u64,
}

/// A store that is open.
pub(crate) trait Subject {
    fn put(&mut self, key: &[u8], value: &[u8]);

    /// Returns when this record, and everything before it, is durable.
    fn put_strict(&mut self, key: &[u8], value: &[u8]);

    /// Whether there is one.
    fn get(&mut self, key: &[u8]) -> bool;

    /// The number of all records.
    fn scan(&mut self) -> u64;

    /// Requests of its server since opening began, those of background work included. `None` if it has no server.
    fn requests(&self) -> Option<u64>;

    fn close(self);
}

/// The rows of the table.
pub(crate) const ROWS: [&str; 14] = [
    "a strict put, ms",
    "filling, MB/s",
    "filling and closing: CPU, s",
    "filling: requests",
    "closing after filling, ms",
    "opening, ms",
    "opening: requests",
    "a get, nothing cached at first, ms",
    "a get: requests",
    "a get: CPU, ms",
    "a get again, ms",
    "a scan, MB/s",
    "a scan: requests",
    "a scan: CPU, ms",
];

/// What each row took; none where there is nothing to count.
pub(crate) type Costs = [Option<f64>; ROWS.len()];

/// CPU time of the process, seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// SplitMix64: the bijection makes of each number another one, so that keys come in no order and none comes twice.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The key of a record, 16 bytes.
pub(crate) fn key(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed(number).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Fills a value with bytes that nothing makes fewer.
pub(crate) fn fill_value(number: u64, value: &mut [u8]) {
    for (at, bytes) in value.chunks_mut(8).enumerate() {
        let word = mixed(number << 16 | at as u64).to_le_bytes();
        bytes.copy_from_slice(&word[..bytes.len()]);
    }
}

/// The least of the numbers that half of them do not exceed.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Milliseconds of a call.
pub(crate) fn ms(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1e3
}

/// The median of gets of these records, milliseconds.
pub(crate) fn get_ms(numbers: &[u64], mut get: impl FnMut(&[u8]) -> bool) -> f64 {
    let each = numbers.iter().map(|number| {
        let key = key(*number);
        ms(|| assert!(get(&key), "record {number} is not there"))
    });
    median(each.collect())
}

/// So many random records of a store.
pub(crate) fn some(gets: u64, records: u64) -> Vec<u64> {
    (0..gets)
        .map(|at| mixed(at ^ 0x5555_5555) % records)
        .collect()
}

/// Does all the work in an empty store; `open` opens it, and again after it was closed.
pub(crate) fn run<S: Subject>(work: &Work, mut open: impl FnMut() -> S) -> Costs {
    let mut value = [0; VALUE_LEN];
    let mut subject = open();
    let strict = (0..work.strict_puts).map(|at| {
        // Behind the records of filling.
        let number = work.records + at;
        fill_value(number, &mut value);
        ms(|| subject.put_strict(&key(number), &value))
    });
    let strict = median(strict.collect());
    let (cpu, requests) = (cpu_seconds(), subject.requests());
    let filling = ms(|| {
        for number in 0..work.records {
            fill_value(number, &mut value);
            match number + 1 == work.records {
                true => subject.put_strict(&key(number), &value),
                false => subject.put(&key(number), &value),
            }
        }
    });
    let since = |subject: &S, before: Option<u64>| Some((subject.requests()? - before?) as f64);
    let filling_requests = since(&subject, requests);
    let closing = ms(|| subject.close());
    let filling_cpu = cpu_seconds() - cpu;
    let mut subject = None;
    let opening = ms(|| subject = Some(open()));
    let mut subject = subject.unwrap();
    let opening_requests = subject.requests().map(|requests| requests as f64);
    let numbers = some(work.gets, work.records);
    let (cpu, requests) = (cpu_seconds(), subject.requests());
    let cold = get_ms(&numbers, |key| subject.get(key));
    let gets_cpu = cpu_seconds() - cpu;
    let get_requests = since(&subject, requests);
    let warm = get_ms(&numbers, |key| subject.get(key));
    subject.close();
    let mut subject = open();
    let (cpu, requests) = (cpu_seconds(), subject.requests());
    let scan = ms(|| assert_eq!(subject.scan(), work.records + work.strict_puts));
    let scan_cpu = cpu_seconds() - cpu;
    let scan_requests = since(&subject, requests);
    subject.close();
    let rate = |records: u64, ms: f64| records as f64 * (16 + VALUE_LEN) as f64 / ms / 1e3;
    [
        Some(strict),
        Some(rate(work.records, filling)),
        Some(filling_cpu),
        filling_requests,
        Some(closing),
        Some(opening),
        opening_requests,
        Some(cold),
        get_requests.map(|requests| requests / work.gets as f64),
        Some(gets_cpu * 1e3 / work.gets as f64),
        Some(warm),
        Some(rate(work.records + work.strict_puts, scan)),
        scan_requests,
        Some(scan_cpu * 1e3),
    ]
}
