//! Random programs in JavaScript, run by a page of a real Chromium and by our host in four ways: in memory and on disk, the
//! engine driven by the host and on a thread of its own. Whatever a program can see, it logs, and the logs must be equal line
//! by line; what its run leaves on disk must be what Chromium's leaves, for both.
//!
//! `LARDER_SCRIPTS` says how many (200), `LARDER_SEED` where they start; program `n` of seed `s` is that of seed `s + n`. The
//! first that fails is made smaller before it is shown; `LARDER_REPORTS` says how many are. Where Chromium is known to differ
//! from the specification, there is a comment that begins with "Known difference" where it is kept out of the comparison.
//!
//! | file | what it is |
//! |---|---|
//! | `world.js`, `chain.js`, `show.js` | what programs are made of, and what they log |
//! | `generate.rs`, `requests.rs` with `requests/`, `literals.rs` | which programs there are |
//! | `tree.rs` | programs as trees, and how they are made smaller |
//! | `runs.rs` | how they are run |

mod generate;
mod literals;
mod requests;
mod runs;
mod tree;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use serde_json::Value;

use crate::{ORIGIN, agree, dumped, setting};
use larder_fixtures::random::Random;
use runs::{WAYS, Way};
use tree::Program;

/// So many run in one page.
const BATCH: u64 = 100;

/// What differs is run so often again.
const RUNS_AGAIN: usize = 5;

/// The first line of two programs' logs that differs.
fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    let empty = serde_json::Map::new();
    let [a, b] = [ours, theirs].map(|logs| logs.as_object().unwrap_or(&empty));
    let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    // A program of this kind always comes to its end.
    if let Some(why) = b.get("stuck").or(b.get("failed")) {
        return Some(format!("the program itself is at fault: {why}"));
    }
    names.into_iter().find_map(|name| {
        let lines = |logs: &serde_json::Map<String, Value>| -> Vec<String> {
            let lines = logs
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            lines
                .map(|line| line.as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let (a, b) = (lines(a), lines(b));
        let at = (0..a.len().max(b.len())).find(|n| a.get(*n) != b.get(*n))?;
        let before = a[..at].join("\n    ");
        let line = |lines: &[String]| lines.get(at).cloned().unwrap_or("(nothing)".into());
        Some(format!(
            "log \"{name}\", line {at}:\n    {before}\n  ours:   {}\n  theirs: {}",
            line(&a),
            line(&b)
        ))
    })
}

/// Runs programs in one way here and in a page: the logs of each.
fn logs(chromium: &Chromium, programs: &[Program], way: Way) -> Vec<(Value, Value)> {
    let mut sources: Vec<String> = programs.iter().map(Program::source).collect();
    // Without a database there would be no store to take from the page.
    sources.push("await world.phase(() => world.open('c1', 'a', 1, () => {}));".into());
    let folder = tempfile::tempdir().unwrap();
    let page = runs::in_page(chromium, &sources, &folder.path().join("page"));
    let ours = runs::here(&sources, way, &folder.path().join("ours"));
    let theirs = page.value.as_array().unwrap();
    assert_eq!(theirs.len(), ours.len());
    let pairs = ours.into_iter().zip(theirs.iter().cloned());
    pairs.take(programs.len()).collect()
}

/// Where each program differs, if it does.
fn differences(chromium: &Chromium, programs: &[Program], way: Way) -> Vec<Option<String>> {
    let logs = logs(chromium, programs, way);
    let found = logs.iter().map(|(ours, theirs)| difference(ours, theirs));
    found.collect()
}

/// A program that differed.
struct Differing {
    program: Program,
    seed: u64,
    way: Way,
    /// Its log here.
    ours: Value,
    found: String,
}

/// Reports a program that differs, after making it smaller. `None` if it does not always, and Chromium has also logged
/// what was logged here, or something was aborted in it.
///
/// Known difference: whether a request whose answer was under way when its transaction was aborted gets the answer or
/// `AbortError` is a matter of time in Chromium. The specification has it aborted. Another one: on a busy machine
/// Chromium has fired `blocked` before all connections had received `versionchange`.
fn report(chromium: &Chromium, differing: Differing, shrink: bool) -> Option<String> {
    let Differing {
        program,
        seed,
        way,
        ours,
        found,
    } = differing;
    let again = logs(chromium, &vec![program.clone(); RUNS_AGAIN], way);
    if again
        .iter()
        .any(|(ours, theirs)| difference(ours, theirs).is_none())
    {
        let text = format!("program of seed {seed}, {way:?}, not every time:\n{found}");
        println!("{text}");
        let agrees = again
            .iter()
            .any(|(_, theirs)| difference(&ours, theirs).is_none());
        return (!agrees && !found.contains("AbortError")).then_some(text);
    }
    if !shrink {
        return Some(format!("program of seed {seed}, {way:?}:\n{found}"));
    }
    let small = program.shrunk(|programs: &[Program]| {
        let found = differences(chromium, programs, way);
        found.iter().map(Option::is_some).collect()
    });
    let found = differences(chromium, std::slice::from_ref(&small), way).remove(0);
    let found = found.unwrap_or("nothing any more".into());
    let source = small.source();
    Some(format!(
        "program of seed {seed}, {way:?}:\n{source}\n{found}"
    ))
}

/// What the runs of a batch differ in: logs first, then stores.
fn batch(chromium: &Chromium, seed: u64, count: u64) -> (u64, Vec<String>) {
    let programs: Vec<Program> = (0..count)
        .map(|n| generate::program(&mut Random::new(seed + n)))
        .collect();
    let sources: Vec<String> = programs.iter().map(Program::source).collect();
    let folder = tempfile::tempdir().unwrap();
    let page = runs::in_page(chromium, &sources, &folder.path().join("page"));
    let theirs = page.value.as_array().unwrap();
    let lines = theirs
        .iter()
        .flat_map(|logs| logs.as_object().unwrap().values());
    let lines: usize = lines.map(|log| log.as_array().unwrap().len()).sum();
    let mut reports = Vec::new();
    for way in WAYS {
        let storage = folder.path().join(format!("{way:?}"));
        let ours = runs::here(&sources, way, &storage);
        assert_eq!(ours.len(), theirs.len());
        let before = reports.len();
        for (n, program) in programs.iter().enumerate() {
            if let Some(found) = difference(&ours[n], &theirs[n]) {
                let differing = Differing {
                    program: program.clone(),
                    seed: seed + n as u64,
                    way,
                    ours: ours[n].clone(),
                    found,
                };
                reports.push(differing);
            }
        }
        if reports.len() == before && way.on_disk() {
            let store = Store::within(&storage, ORIGIN);
            let ours = dumped(&store);
            agree(
                &ours,
                &databases_of(chromium.dump(&store).unwrap()),
                "our store",
            );
            agree(&ours, &dumped(&page.store), "our store and the page's");
        }
    }
    reports.sort_by_key(|differing| differing.seed);
    reports.dedup_by_key(|differing| differing.seed);
    let shown = setting("LARDER_REPORTS", 1);
    let reports = reports.into_iter().zip(0..);
    let reports = reports.filter_map(|(differing, at)| report(chromium, differing, at < shown));
    (lines as u64, reports.collect())
}

#[test]
fn random_programs_see_on_our_host_what_they_see_in_chromium_and_leave_the_same() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (count, seed) = (setting("LARDER_SCRIPTS", 200), setting("LARDER_SEED", 1));
        println!("seed {seed}, {count} programs");
        let (mut lines, mut reports) = (0, Vec::new());
        for start in (0..count).step_by(BATCH as usize) {
            let (more, found) = batch(chromium, seed + start, BATCH.min(count - start));
            lines += more;
            reports.extend(found);
        }
        let differ = reports.len();
        println!("{count} programs, {lines} lines, {differ} differ");
        assert!(reports.is_empty(), "{}", reports.join("\n\n"));
    });
}
