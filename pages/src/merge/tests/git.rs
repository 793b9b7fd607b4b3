//! Merge bases as git finds them.

use super::*;
use crate::testing::is_missing;
use larder_fixtures::random::Random;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};

fn git(folder: &Path, args: &[&str], input: &str) -> Option<String> {
    use std::io::Write;
    let mut child = Command::new("git")
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A history of `count` commits with one parent or two, each by the numbers of those.
fn history(random: &mut Random, count: usize) -> Vec<Vec<usize>> {
    let mut history: Vec<Vec<usize>> = vec![vec![]];
    while history.len() < count {
        // Close ones, so that many have several common ancestors.
        let near =
            |random: &mut Random, len: usize| len - 1 - random.below(len.min(7) as u64) as usize;
        let (one, two) = (near(random, history.len()), near(random, history.len()));
        let parents = if random.below(2) == 0 || one == two {
            vec![one]
        } else {
            vec![one, two]
        };
        history.push(parents);
    }
    history
}

#[test]
fn merge_bases_are_those_of_git() {
    let mut several = 0;
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let history = history(&mut random, 40);
        let folder = tempfile::tempdir().unwrap();
        if git(folder.path(), &["init", "-q"], "").is_none() {
            return is_missing("the program git");
        }
        let mut import = String::new();
        for (i, parents) in history.iter().enumerate() {
            import += &format!(
                "commit refs/heads/b{i}\nmark :{}\ncommitter a <a> {i} +0000\ndata 0\n",
                i + 1
            );
            let names = ["from", "merge"].iter().zip(parents);
            names.for_each(|(name, parent)| import += &format!("{name} :{}\n", parent + 1));
        }
        git(
            folder.path(),
            &["fast-import", "--quiet", "--force"],
            &import,
        )
        .unwrap();
        let refs = ["for-each-ref", "--format=%(refname:short) %(objectname)"];
        let refs = git(folder.path(), &refs, "").unwrap();
        let number_of: HashMap<&str, usize> = refs
            .lines()
            .map(|line| line[1..].split_once(' ').unwrap())
            .map(|(number, name)| (name, number.parse().unwrap()))
            .collect();
        assert_eq!(number_of.len(), history.len());
        let page = open();
        let mut commits: Vec<Commit> = Vec::new();
        for (i, parents) in history.iter().enumerate() {
            let mut journal = match parents[..] {
                [] => page.begin_on(&Commit::first()),
                [one] => page.begin_on(&commits[one]),
                [one, two, ..] => page.begin_merge(&commits[one], &commits[two]),
            };
            journal.put(b"number", &i.to_le_bytes()).unwrap();
            commits.push(page.commit(journal, Timestamp(i as i64)).unwrap());
        }
        for _ in 0..60 {
            let any = |random: &mut Random| random.below(history.len() as u64) as usize;
            let (one, two) = (any(&mut random), any(&mut random));
            let args = [
                "merge-base",
                "--all",
                &format!("b{one}"),
                &format!("b{two}"),
            ];
            let theirs = git(folder.path(), &args, "").unwrap();
            let theirs: BTreeSet<usize> = theirs.lines().map(|name| number_of[name]).collect();
            let ours = relation(&page, &commits[one..=one], &commits[two..=two]).unwrap();
            let number = |base: &Commit| commits.iter().position(|commit| commit == base).unwrap();
            let ours: BTreeSet<usize> = ours.bases.iter().map(number).collect();
            assert_eq!(ours, theirs, "seed {seed}, {one} and {two} of {history:?}");
            several += usize::from(ours.len() > 1);
        }
    }
    assert!(several > 10, "{several} pairs with several bases");
}
