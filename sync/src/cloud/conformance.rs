//! What a [`Cloud`] must do, as a suite: implementations outside this crate run it, too.

use super::{Cloud, OBJECT_LEN_MAX, Put};
use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use std::ops::Range;

/// What an implementation did wrong.
#[derive(Debug)]
pub struct Violation(String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

impl From<Error> for Violation {
    fn from(error: Error) -> Violation {
        Violation(format!("an operation that must succeed failed: {error}"))
    }
}

fn expect(is_so: bool, what: impl fmt::Display) -> Result<(), Violation> {
    match is_so {
        true => Ok(()),
        false => Err(Violation(format!("not so: {what}"))),
    }
}

fn refused<T>(result: Result<T>, what: impl fmt::Display) -> Result<(), Violation> {
    let kind = result.err().map(|error| error.kind());
    expect(kind == Some(ErrorKind::Usage), format!("{what} is refused"))
}

/// Everything, under names in the folder `prefix`, which must be new.
///
/// # Errors
/// The first thing that is not as the contract says.
pub fn cloud(cloud: &dyn Cloud, prefix: &str) -> Result<(), Violation> {
    let name = |rest: &str| format!("{prefix}/{rest}");
    expect(cloud.list(prefix)?.is_empty(), "a new folder is empty")?;
    expect(
        cloud.read(&name("a/1"), 0..10)?.is_none(),
        "nothing is there",
    )?;
    for (rest, len) in [
        ("a/1", 10),
        ("a/2", 0),
        ("b/1", 200_001),
        ("c", 3),
        ("a-b/1", 1),
    ] {
        let bytes: Vec<u8> = (0..len).map(|i: u32| (i % 251) as u8).collect();
        let name = name(rest);
        expect(
            cloud.put(&name, &bytes)? == Put::Done,
            "a free name is taken",
        )?;
        expect(
            cloud.put(&name, b"other")? == Put::Taken,
            "a name is taken once",
        )?;
        let whole = cloud.read(&name, 0..u64::MAX)?;
        expect(whole.as_deref() == Some(&bytes[..]), "what was put is read")?;
        parts(cloud, &name, &bytes)?;
    }
    let folders = ["a", "a-b", "b", "c"];
    expect(
        cloud.list(prefix)? == folders,
        "folders and names are listed, ascending",
    )?;
    expect(
        cloud.list(&name("a"))? == ["1", "2"],
        "names in a folder below are listed",
    )?;
    expect(
        cloud.list(&name("nothing"))?.is_empty(),
        "a folder that is not there is empty",
    )?;
    let large = vec![7; OBJECT_LEN_MAX];
    expect(
        cloud.put(&name("large"), &large)? == Put::Done,
        "the longest is taken",
    )?;
    let read = cloud.read(&name("large"), 0..u64::MAX)?;
    expect(read.as_ref() == Some(&large), "the longest is read")?;
    refused(
        cloud.put(&name("larger"), &vec![7; OBJECT_LEN_MAX + 1]),
        "one byte more",
    )?;
    for wrong in [
        "",
        "/",
        "a//b",
        "..",
        "a/../b",
        "A",
        "a.b",
        "a/b/c/d/e",
        "a/",
    ] {
        refused(cloud.put(wrong, b"x"), format!("to put {wrong:?}"))?;
        refused(cloud.read(wrong, 0..1), format!("to read {wrong:?}"))?;
        refused(cloud.list(wrong), format!("to list {wrong:?}"))?;
    }
    Ok(())
}

fn parts(cloud: &dyn Cloud, name: &str, bytes: &[u8]) -> Result<(), Violation> {
    let ranges: [Range<u64>; 6] = [
        0..1,
        1..3,
        65_536..65_540,
        65_530..131_100,
        2..2,
        9..400_000,
    ];
    for range in ranges {
        let part = cloud.read(name, range.clone())?;
        let end = bytes.len().min(range.end as usize);
        let expected = bytes.get(end.min(range.start as usize)..end);
        expect(
            part.as_deref() == expected,
            format!("{name} has bytes {range:?}"),
        )?;
    }
    Ok(())
}
