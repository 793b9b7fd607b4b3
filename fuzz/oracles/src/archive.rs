//! Archives: lines of JSON that may come from anywhere.

/// Bytes taken as an archive are read or refused, line by line, with whatever values are in them.
pub fn archive(data: &[u8]) {
    let whole = larder::archive::check_bytes(data);
    // One text, with line breaks wherever they are: it has a law of its own.
    if crate::dexie::is_dexie(data) {
        return;
    }
    let lines = data.split_inclusive(|byte| *byte == b'\n');
    let all = lines.map(larder::archive::check_bytes);
    // Each line says the same wherever it stands.
    let one_by_one: Option<u64> = all.map(Result::ok).sum();
    assert_eq!(whole.ok(), one_by_one);
}
