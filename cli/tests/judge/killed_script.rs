//! `larder run` killed in the middle of a script that writes: the next run finds every transaction whole or not there,
//! and every acknowledged one there.
//!
//! What transaction `n` leaves follows from `n` alone (`killed_script.js`), so the script itself checks, at the start
//! of the next run, whether a store is sound; what was acknowledged before the kill is compared here, and Chromium must
//! find in the store what `larder dump` finds. The moment of the kill is a random line of what the script says, and a
//! moment later: there are lines in the middle of transactions, some of which have gone to the undo log by then.
//! `LARDER_SCRIPT_KILLS` says how many (8). A process's death loses nothing that it has written, so not only strict
//! transactions must be there.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Store};

use crate::{ORIGIN, agree, dumped, setting};
use larder_fixtures::random::Random;

/// So many lines at most before the kill: some twelve transactions.
const LINES_MAX: u64 = 400;

/// What a run said.
#[derive(Debug, Default)]
struct Said {
    /// The last transaction that it found, if it found the store sound.
    sound: Option<u64>,
    begun: u64,
    acknowledged: u64,
    /// Something of a transaction was said, and its end was not.
    in_the_middle: bool,
}

impl Said {
    fn line(&mut self, line: &str) {
        let (word, n) = line.split_once(' ').unwrap();
        let n = n.parse().unwrap();
        match word {
            "sound" => self.sound = Some(n),
            "begun" => self.begun = n,
            "put" => self.in_the_middle = true,
            "acknowledged" => {
                assert_eq!(n, self.begun);
                (self.acknowledged, self.in_the_middle) = (n, false);
            }
            _ => panic!("{line}"),
        }
    }
}

fn script(storage: &Path) -> Child {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge/killed_script.js");
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["run", "--origin", ORIGIN, "--storage"])
        .args([storage, &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs the script, kills it after so many lines, and takes in what it had said by then.
fn killed_after(storage: &Path, lines: u64, pause: Duration) -> Said {
    let mut child = script(storage);
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Said::default();
    for line in output.by_ref().take(usize::try_from(lines).unwrap()) {
        said.line(&line.unwrap());
    }
    std::thread::sleep(pause);
    child.kill().unwrap();
    output.for_each(|line| said.line(&line.unwrap()));
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(errors.is_empty(), "{errors}");
    // It runs for ever unless it has something to say against the store.
    assert_eq!(ended.status.code(), None, "it ended by itself");
    said
}

#[test]
fn a_script_killed_while_it_writes_leaves_whole_transactions_and_every_acknowledged_one() {
    with_large_stack(|| {
        let (kills, seed) = (setting("LARDER_SCRIPT_KILLS", 8), setting("LARDER_SEED", 1));
        println!("seed {seed}, {kills} kills of a script");
        let mut random = Random::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let store = Store::within(dir.path(), ORIGIN);
        let (mut before, mut in_the_middle) = (Said::default(), 0);
        for n in 0..kills {
            let what = format!("seed {seed}, kill {n}");
            let pause = Duration::from_micros(random.below(3000));
            let said = killed_after(dir.path(), 1 + random.below(LINES_MAX), pause);
            let sound = said.sound.unwrap();
            assert!(
                (before.acknowledged..=before.begun).contains(&sound),
                "{what}: {sound} found, {before:?}"
            );
            if let Some(chromium) = chromium::shared() {
                let theirs = databases_of(chromium.dump(&store).unwrap());
                agree(&dumped(&store), &theirs, &what);
            }
            in_the_middle += u64::from(said.in_the_middle);
            before = Said {
                begun: said.begun.max(sound),
                acknowledged: said.acknowledged.max(sound),
                ..said
            };
        }
        assert!(
            in_the_middle > 0 || kills < 5,
            "no kill in the middle of a transaction"
        );
        let acknowledged = before.acknowledged;
        println!(
            "{kills} kills, {in_the_middle} in the middle of a transaction: all {acknowledged} acknowledged were there"
        );
    });
}
