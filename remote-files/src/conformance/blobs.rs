//! The suite of stores of blobs.

use super::{Check, expect};
use crate::blobs::{Blobs, Cut, SEGMENT_LEN_MAX, SPAN_LEN_MAX, Segment};
use crate::namespace::Namespace;

fn segment(offset: u64, bytes: &[u8]) -> Segment {
    Segment {
        offset,
        bytes: bytes.to_vec(),
    }
}

/// Runs the suite in a namespace, and in another one whose name begins so. Neither may have blobs; neither has any afterwards.
///
/// # Errors
/// What was wrong.
pub fn blobs(blobs: &dyn Blobs, namespace: &Namespace) -> Check {
    let other = Namespace::new(format!("{namespace}2"))?;
    reading_and_writing(blobs, namespace)?;
    deleting_and_listing(blobs, namespace, &other)?;
    limits(blobs, namespace)?;
    let is_empty =
        blobs.list(namespace, None, 1)?.is_empty() && blobs.list(&other, None, 1)?.is_empty();
    expect(is_empty, "the suite removed all it made")
}

fn reading_and_writing(blobs: &dyn Blobs, namespace: &Namespace) -> Check {
    let bytes: Vec<u8> = (0..=255).collect();
    let written = [segment(0, b"first"), segment(5, &bytes), segment(261, b"")];
    expect(
        blobs.read(namespace, 7, 0..1000)?.is_empty(),
        "a missing blob has no segments",
    )?;
    blobs.append(namespace, 7, &written[..1])?;
    blobs.append(namespace, 7, &written[1..])?;
    expect(
        blobs.read(namespace, 7, 0..1000)? == written,
        "segments come in the order of offsets",
    )?;
    expect(
        blobs.read(namespace, 7, 1..261)? == written[1..2],
        "those whose offsets are in the range",
    )?;
    expect(
        blobs.read(namespace, 7, 262..1000)?.is_empty(),
        "none behind the last",
    )?;
    blobs.append(namespace, 7, &written)?;
    expect(
        blobs.read(namespace, 7, 0..1000)? == written,
        "a segment may be written again",
    )?;
    for (step, frame_len, end) in [(5, 0, 261), (100, 4, 261), (256, 4, 1000), (0, 0, 0)] {
        let cut = Cut {
            step,
            frame_len,
            end,
        };
        expect(
            blobs.read_as_cut(namespace, 7, 1..261, &cut)? == written[1..2],
            "what is cut otherwise is read as it is",
        )?;
    }
    let far = segment(i64::MAX as u64 - 1, b"far");
    blobs.append(namespace, 7, std::slice::from_ref(&far))?;
    let found = blobs.read(namespace, 7, far.offset..far.offset + 1)?;
    expect(found == [far], "the largest offset")?;
    Ok(blobs.delete(namespace, 7)?)
}

fn deleting_and_listing(blobs: &dyn Blobs, namespace: &Namespace, other: &Namespace) -> Check {
    let numbers = [0, 1, 7, 255, 256, 1 << 32, i64::MAX as u64];
    for number in numbers.iter().rev() {
        blobs.append(namespace, *number, &[segment(0, b"x"), segment(1, b"y")])?;
    }
    blobs.append(other, 7, &[segment(0, b"other")])?;
    expect(
        blobs.list(namespace, None, 100)? == numbers,
        "all numbers, ascending, each once",
    )?;
    expect(
        blobs.list(namespace, Some(1), 3)? == numbers[2..5],
        "so many of those after one",
    )?;
    expect(
        blobs.list(namespace, Some(numbers[6]), 3)?.is_empty(),
        "none after the last",
    )?;
    blobs.delete(namespace, 7)?;
    blobs.delete(namespace, 7)?;
    expect(
        blobs.read(namespace, 7, 0..10)?.is_empty(),
        "a deleted blob has no segments",
    )?;
    expect(
        blobs.read(namespace, 1, 0..10)?.len() == 2,
        "its neighbours have theirs",
    )?;
    expect(
        blobs.read(other, 7, 0..10)? == [segment(0, b"other")],
        "namespaces have nothing in common",
    )?;
    for number in numbers {
        blobs.delete(namespace, number)?;
    }
    Ok(blobs.delete(other, 7)?)
}

fn limits(blobs: &dyn Blobs, namespace: &Namespace) -> Check {
    let len = SEGMENT_LEN_MAX as u64;
    let count = SPAN_LEN_MAX / len;
    let content = |at: u64| {
        (0..len)
            .map(|byte| (byte * 7 + at) as u8)
            .collect::<Vec<u8>>()
    };
    let segments: Vec<Segment> = (0..count)
        .map(|at| segment(at * len, &content(at)))
        .collect();
    blobs.append(namespace, 9, &segments)?;
    expect(
        blobs.read(namespace, 9, 0..SPAN_LEN_MAX)? == segments,
        "as much as one call may have",
    )?;
    let cut = Cut {
        step: len,
        frame_len: 0,
        end: count * len,
    };
    expect(
        blobs.read_as_cut(namespace, 9, len..3 * len, &cut)? == segments[1..3],
        "a part of what is cut as it is said",
    )?;
    expect(
        blobs.read_as_cut(namespace, 9, 0..SPAN_LEN_MAX, &cut)? == segments,
        "all of it",
    )?;
    blobs.delete(namespace, 9)?;
    let small: Vec<Segment> = (0..5000).map(|at| segment(at, b"sm")).collect();
    for part in small.chunks(1000) {
        blobs.append(namespace, 9, part)?;
    }
    expect(
        blobs.read(namespace, 9, 0..SPAN_LEN_MAX)? == small,
        "many small segments",
    )?;
    Ok(blobs.delete(namespace, 9)?)
}
