//! The suite of catalogues.

use super::{Check, Violation, expect};
use crate::catalogue::{
    CONDITIONS_MAX, Catalogue, Commit, KEY_LEN_MAX, Outcome, PAGE_ROWS_MAX, Row, Snapshot,
    VALUE_LEN_MAX, WRITES_MAX, Write,
};
use std::ops::Range;

/// All keys of the suite begin so. No row of a namespace does.
const PREFIX: &[u8] = &[0xfe, 0x00, 0xff];

fn key(rest: &[u8]) -> Vec<u8> {
    [PREFIX, rest].concat()
}

fn all() -> Range<Vec<u8>> {
    key(b"")..vec![0xfe, 0x01]
}

/// Runs the suite. Its rows are none that this crate writes; they are deleted at its beginning and at its end.
///
/// # Errors
/// What was wrong.
pub fn catalogue(catalogue: &dyn Catalogue) -> Check {
    clear(catalogue)?;
    reading_and_writing(catalogue)?;
    conditions(catalogue)?;
    replacing(catalogue)?;
    order_and_pages(catalogue)?;
    one_revision(catalogue)?;
    limits(catalogue)?;
    racing(catalogue)?;
    crossing(catalogue)?;
    clear(catalogue)?;
    expect(
        keys_in(catalogue, &all(), 10)?.is_empty(),
        "a range that was deleted is empty",
    )
}

fn made(catalogue: &dyn Catalogue, commit: &Commit) -> Check {
    match catalogue.commit(commit)? {
        Outcome::Committed => Ok(()),
        Outcome::Refused => Err(Violation(
            "a commit whose conditions hold was refused".to_owned(),
        )),
    }
}

fn refused(catalogue: &dyn Catalogue, commit: &Commit, what: &str) -> Check {
    expect(catalogue.commit(commit)? == Outcome::Refused, what)
}

fn put(catalogue: &dyn Catalogue, rows: &[(&[u8], &[u8])]) -> Check {
    let mut commit = Commit::default();
    for (rest, value) in rows {
        commit.put(key(rest), value.to_vec());
    }
    made(catalogue, &commit)
}

fn clear(catalogue: &dyn Catalogue) -> Check {
    let mut commit = Commit::default();
    commit.writes.push(Write::DeleteRange(all()));
    made(catalogue, &commit)
}

fn get(catalogue: &dyn Catalogue, rest: &[u8]) -> Result<Option<Vec<u8>>, Violation> {
    let mut values = catalogue.get(&[key(rest)])?;
    expect(values.len() == 1, "one value for one key")?;
    Ok(values.remove(0))
}

/// The rows of a range, by pages of a size: a page may have fewer rows than were asked for.
fn rows(
    snapshot: &mut dyn Snapshot,
    range: &Range<Vec<u8>>,
    rows_max: usize,
) -> Result<Vec<Row>, Violation> {
    let (mut range, mut seen) = (range.clone(), Vec::<Row>::new());
    loop {
        let page = snapshot.page(&range, rows_max)?;
        expect(
            page.rows.len() <= rows_max,
            "a page has no more rows than were asked for",
        )?;
        expect(
            !(page.has_more && page.rows.is_empty()),
            "a page that is not the last has a row",
        )?;
        seen.extend(page.rows);
        match seen.last() {
            Some(last) if page.has_more => range.start = [&last.key[..], &[0]].concat(),
            _ => return Ok(seen),
        }
    }
}

/// The keys of a range, without what they have in common.
fn keys_in(
    catalogue: &dyn Catalogue,
    range: &Range<Vec<u8>>,
    rows_max: usize,
) -> Result<Vec<Vec<u8>>, Violation> {
    let rows = rows(&mut *catalogue.snapshot()?, range, rows_max)?;
    let keys = rows.iter().map(|row| row.key[PREFIX.len()..].to_vec());
    Ok(keys.collect())
}

fn reading_and_writing(catalogue: &dyn Catalogue) -> Check {
    let bytes: Vec<u8> = (0..=255).collect();
    put(catalogue, &[(b"a", b"1"), (b"", b""), (&bytes, &bytes)])?;
    expect(
        get(catalogue, b"a")?.as_deref() == Some(b"1"),
        "a row that was put is read",
    )?;
    expect(
        get(catalogue, b"")?.as_deref() == Some(b""),
        "an empty value is a value",
    )?;
    expect(
        get(catalogue, &bytes)?.as_ref() == Some(&bytes),
        "keys and values are any bytes",
    )?;
    let values = catalogue.get(&[key(b"none"), key(b"a"), key(b"a")])?;
    let one = Some(b"1".to_vec());
    expect(
        values == [None, one.clone(), one],
        "values come in the order of the keys",
    )?;
    expect(catalogue.get(&[])?.is_empty(), "no keys, no values")?;
    let mut commit = Commit::default();
    commit.put(key(b"a"), b"2".to_vec());
    commit.delete(key(b""));
    commit.delete(key(b"none"));
    made(catalogue, &commit)?;
    expect(
        get(catalogue, b"a")?.as_deref() == Some(b"2"),
        "a row is replaced",
    )?;
    expect(get(catalogue, b"")?.is_none(), "a row is deleted")?;
    clear(catalogue)
}

fn conditions(catalogue: &dyn Catalogue) -> Check {
    put(catalogue, &[(b"held", b"me"), (b"empty", b"")])?;
    let wrong: [(&[u8], Option<&[u8]>); 5] = [
        (b"held", None),
        (b"held", Some(b"m")),
        (b"held", Some(b"me too")),
        (b"none", Some(b"")),
        (b"empty", None),
    ];
    for (rest, expected) in wrong {
        let mut commit = Commit::default();
        commit.require(key(b"empty"), Some(Vec::new()));
        if rest != b"empty" {
            commit.require(key(rest), expected.map(<[u8]>::to_vec));
        } else {
            commit.conditions[0].expected = None;
        }
        commit.put(key(b"written"), b"x".to_vec());
        commit.delete(key(b"held"));
        refused(
            catalogue,
            &commit,
            "a commit is refused when one condition does not hold",
        )?;
    }
    expect(
        get(catalogue, b"written")?.is_none(),
        "a refused commit puts nothing",
    )?;
    expect(
        get(catalogue, b"held")?.is_some(),
        "a refused commit deletes nothing",
    )?;
    let mut commit = Commit::default();
    commit.require(key(b"held"), Some(b"me".to_vec()));
    commit.require(key(b"none"), None);
    commit.put(key(b"held"), b"you".to_vec());
    commit.writes.push(Write::DeleteRange(key(b"e")..key(b"f")));
    made(catalogue, &commit)?;
    expect(
        get(catalogue, b"held")?.as_deref() == Some(b"you"),
        "a row may be required and written",
    )?;
    expect(get(catalogue, b"empty")?.is_none(), "a range is deleted")?;
    expect(
        get(catalogue, b"none")?.is_none(),
        "a row whose absence was required is still absent",
    )?;
    refused(
        catalogue,
        &commit,
        "the conditions of a commit that was made do not hold any more",
    )?;
    clear(catalogue)
}

/// The commit that every writer makes: it requires one row, replaces it, and puts others.
fn replacing(catalogue: &dyn Catalogue) -> Check {
    put(catalogue, &[(b"lock", b"1"), (b"there", b"old")])?;
    let replace = |current: &[u8], next: &[u8]| {
        let mut commit = Commit::default();
        commit.require(key(b"lock"), Some(current.to_vec()));
        commit.put(key(b"there"), next.to_vec());
        commit.put(key(b"lock"), next.to_vec());
        commit.put(key(b"new"), next.to_vec());
        commit
    };
    let rows = || -> Result<Vec<Option<Vec<u8>>>, Violation> {
        Ok(catalogue.get(&[key(b"lock"), key(b"there"), key(b"new")])?)
    };
    refused(
        catalogue,
        &replace(b"2", b"3"),
        "a row that is not as required is not replaced",
    )?;
    let untouched = [Some(b"1".to_vec()), Some(b"old".to_vec()), None];
    expect(
        rows()? == untouched,
        "what was to be put with the row is not put",
    )?;
    made(catalogue, &replace(b"1", b"2"))?;
    let next = Some(b"2".to_vec());
    expect(
        rows()? == [next.clone(), next.clone(), next],
        "all rows are put with the one that is replaced",
    )?;
    refused(
        catalogue,
        &replace(b"1", b"2"),
        "a commit that was made is refused when it comes again",
    )?;
    clear(catalogue)?;
    refused(
        catalogue,
        &replace(b"1", b"2"),
        "a row that is not there is not replaced",
    )?;
    expect(rows()? == [None, None, None], "and nothing is put")
}

fn order_and_pages(catalogue: &dyn Catalogue) -> Check {
    // In the order of bytes, which is no language's.
    let keys: [&[u8]; 9] = [
        b"",
        &[0],
        b"A",
        b"B",
        b"a",
        b"a\0",
        b"aa",
        &[0x7f],
        &[0xff, 0xff],
    ];
    for rest in keys.iter().rev() {
        put(catalogue, &[(rest, b"v")])?;
    }
    for rows_max in [1, 2, 8, 9, 10] {
        let seen = keys_in(catalogue, &all(), rows_max)?;
        expect(seen == keys, "pages have all rows, in the order of bytes")?;
    }
    let found = keys_in(catalogue, &(key(b"B")..key(b"aa")), 100)?;
    let wanted: [&[u8]; 3] = [b"B", b"a", b"a\0"];
    expect(found == wanted, "a range has its start and not its end")?;
    expect(
        keys_in(catalogue, &(key(b"z")..key(b"z")), 10)?.is_empty(),
        "an empty range is empty",
    )?;
    expect(
        keys_in(catalogue, &(key(b"z")..key(b"b")), 10)?.is_empty(),
        "so is one that ends before it starts",
    )?;
    clear(catalogue)
}

fn one_revision(catalogue: &dyn Catalogue) -> Check {
    put(catalogue, &[(b"a", b"1"), (b"b", b"1"), (b"c", b"1")])?;
    let mut snapshot = catalogue.snapshot()?;
    let first = snapshot.page(&all(), 1)?;
    put(catalogue, &[(b"b", b"2"), (b"bb", b"2")])?;
    let mut commit = Commit::default();
    commit.delete(key(b"c"));
    made(catalogue, &commit)?;
    let rest = rows(&mut *snapshot, &(key(b"a\0")..all().end), 10)?;
    let seen: Vec<(&[u8], &[u8])> = first
        .rows
        .iter()
        .chain(&rest)
        .map(|row| (&row.key[PREFIX.len()..], &row.value[..]))
        .collect();
    let wanted: [(&[u8], &[u8]); 3] = [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")];
    expect(
        seen == wanted,
        "all pages of a snapshot are of one revision",
    )?;
    drop(snapshot);
    let found = keys_in(catalogue, &all(), 10)?;
    let wanted: [&[u8]; 3] = [b"a", b"b", b"bb"];
    expect(found == wanted, "the next snapshot sees what was committed")?;
    clear(catalogue)
}

fn limits(catalogue: &dyn Catalogue) -> Check {
    // Of bytes that no engine can make fewer.
    let mut state = 1u32;
    let random = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let long: Vec<u8> = (PREFIX.len()..KEY_LEN_MAX).map(random).collect();
    let value: Vec<u8> = (0..VALUE_LEN_MAX).map(|at| (at % 251) as u8).collect();
    put(
        catalogue,
        &[
            (&long, &value),
            (b"l1", &value),
            (b"l2", &value),
            (b"l3", &value),
        ],
    )?;
    expect(
        get(catalogue, &long)? == Some(value),
        "the longest key and value are kept",
    )?;
    clear(catalogue)?;
    let mut commit = Commit::default();
    for at in 0..CONDITIONS_MAX {
        commit.require(key(format!("{at:05}").as_bytes()), None);
    }
    for at in 0..WRITES_MAX {
        commit.put(key(format!("{at:05}").as_bytes()), b"v".to_vec());
    }
    made(catalogue, &commit)?;
    for start in (WRITES_MAX..PAGE_ROWS_MAX + 10).step_by(WRITES_MAX) {
        let mut commit = Commit::default();
        for at in start..start + WRITES_MAX {
            commit.put(key(format!("{at:05}").as_bytes()), vec![b'v'; 100]);
        }
        made(catalogue, &commit)?;
    }
    let largest = catalogue.snapshot()?.page(&all(), PAGE_ROWS_MAX)?;
    expect(
        largest.has_more && !largest.rows.is_empty(),
        "the largest page",
    )?;
    clear(catalogue)
}

/// Threads raise one number, each by commits that require what it has read.
fn racing(catalogue: &dyn Catalogue) -> Check {
    const THREADS: usize = 4;
    const ROUNDS: usize = 10;
    put(catalogue, &[(b"n", b"0")])?;
    let results: Vec<Check> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| raise(catalogue, ROUNDS)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|result| {
                result.unwrap_or_else(|_| Err(Violation("a thread has panicked".to_owned())))
            })
            .collect()
    });
    results.into_iter().collect::<Check>()?;
    let wanted = (THREADS * ROUNDS).to_string().into_bytes();
    expect(
        get(catalogue, b"n")? == Some(wanted),
        "of commits that require one value, one is made",
    )?;
    clear(catalogue)
}

fn raise(catalogue: &dyn Catalogue, rounds: usize) -> Check {
    let mut done = 0;
    while done < rounds {
        let before = get(catalogue, b"n")?.unwrap_or_default();
        let number: usize = String::from_utf8_lossy(&before)
            .parse()
            .unwrap_or(usize::MAX / 2);
        let mut commit = Commit::default();
        commit.require(key(b"n"), Some(before));
        commit.put(key(b"n"), (number + 1).to_string().into_bytes());
        match catalogue.commit(&commit) {
            Ok(Outcome::Committed) => done += 1,
            Ok(Outcome::Refused) => {}
            // Nothing was changed; a conflict may be reported so.
            Err(error) if error.kind() == crate::ErrorKind::Unavailable => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Two commits at once, each of which changes what the other one requires: not both are made.
fn crossing(catalogue: &dyn Catalogue) -> Check {
    for round in 0..16 {
        put(catalogue, &[(b"a", b"1"), (b"b", b"1")])?;
        let change = |commit: &mut Commit, rest: &[u8]| match round % 4 {
            0 => commit
                .writes
                .push(Write::DeleteRange(key(rest)..key(&[rest, &[0]].concat()))),
            1 => commit.delete(key(rest)),
            _ => commit.put(key(rest), b"2".to_vec()),
        };
        let cross = |required: &[u8], changed: &[u8]| {
            let mut commit = Commit::default();
            commit.require(key(required), Some(b"1".to_vec()));
            if round % 8 == 7 {
                commit.put(key(required), b"2".to_vec());
            }
            change(&mut commit, changed);
            commit
        };
        let both = [cross(b"a", b"b"), cross(b"b", b"a")];
        let start = std::sync::Barrier::new(2);
        let send = |commit| {
            start.wait();
            catalogue.commit(commit)
        };
        let outcomes = std::thread::scope(|scope| {
            let other = scope.spawn(|| send(&both[1]));
            let one = send(&both[0]);
            [Some(one), other.join().ok()]
        });
        let made = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Some(Ok(Outcome::Committed))));
        expect(
            made.count() <= 1,
            "of two commits that change what the other one requires, one is made",
        )?;
        clear(catalogue)?;
    }
    Ok(())
}
