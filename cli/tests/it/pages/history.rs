//! `log`, `diff` and `show` beside the maps of what was put.

use larder_fixtures::random::Random;
use serde_json::json;

use super::*;

/// A page with a random history of one line, and a map for each commit; the first is that of the page.
fn random_history(dir: &Path, seed: u64, count: i64) -> Vec<(Commit, Map)> {
    let repository = open(dir);
    let page = page(&repository, b"contacts", PageId::ROOT);
    let mut random = Random::new(seed);
    let mut history = vec![(Commit::first(), Map::new())];
    while history.len() <= count as usize {
        let (base, map) = history.last().unwrap();
        let (mut map, mut journal) = (map.clone(), page.begin_on(base));
        for _ in 0..1 + random.below(30) {
            let key = format!("key{:03}", random.below(200)).into_bytes();
            if random.below(4) == 0 {
                journal.delete(&key).unwrap();
                map.remove(&key);
            } else {
                let value =
                    format!("value {} ", random.below(9)).repeat(1 + random.below(6) as usize);
                journal.put(&key, value.as_bytes()).unwrap();
                map.insert(key, value.into_bytes());
            }
        }
        let time = Timestamp(history.len() as i64 * SECOND);
        let commit = page.commit(journal, time).unwrap();
        if commit.id() != base.id() {
            history.push((commit, map));
        }
    }
    page.close(Timestamp(99 * SECOND)).unwrap();
    history
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A key, with its value before and after.
type Differing<'m> = (&'m [u8], Option<&'m Vec<u8>>, Option<&'m Vec<u8>>);

fn difference<'m>(a: &'m Map, b: &'m Map) -> Vec<Differing<'m>> {
    let mut keys: Vec<&[u8]> = a.keys().chain(b.keys()).map(Vec::as_slice).collect();
    keys.sort_unstable();
    keys.dedup();
    let all = keys.into_iter().map(|key| (key, a.get(key), b.get(key)));
    all.filter(|(_, a, b)| a != b).collect()
}

#[test]
fn log_diff_and_show_print_what_was_put() {
    for seed in 1..=3 {
        let dir = tempfile::tempdir().unwrap();
        let history = random_history(dir.path(), seed, 8);
        let before = files(dir.path());
        let log = lines(dir.path(), &["log", "--json"]);
        let mut expected = Vec::new();
        for (n, (commit, map)) in history.iter().enumerate() {
            let parent = n.checked_sub(1).map(|n| &history[n]);
            let differs = parent
                .map(|(_, old)| difference(old, map))
                .unwrap_or_default();
            let count = |is: fn(bool, bool) -> bool| {
                let of = differs
                    .iter()
                    .filter(|(_, a, b)| is(a.is_some(), b.is_some()));
                of.count()
            };
            expected.push(json!({
                "id": id(commit),
                "time": format!("1970-01-01T00:00:{n:02}.000Z"),
                "generation": n,
                "parents": parent.map(|(commit, _)| id(commit)).into_iter().collect::<Vec<_>>(),
                "isHead": n == history.len() - 1,
                "isMerge": false,
                "changes": {
                    "added": count(|a, b| !a && b),
                    "changed": count(|a, b| a && b),
                    "removed": count(|a, b| a && !b),
                },
            }));
        }
        expected.reverse();
        assert_eq!(log, expected, "seed {seed}");
        assert_eq!(
            lines(dir.path(), &["log", "--json", "--limit", "3"]),
            expected[..3]
        );
        for (n, (commit, map)) in history.iter().enumerate() {
            let shown = map.iter().map(|(key, value)| {
                let (key, value) = (text(key), text(value));
                format!("\"{key}\" = \"{value}\"\n")
            });
            let by_digits = printed(dir.path(), &["show", &id(commit)[..12]]);
            assert_eq!(by_digits, shown.collect::<String>(), "seed {seed}");
            let back = format!("head~{}", history.len() - 1 - n);
            assert_eq!(printed(dir.path(), &["show", &back]), by_digits);
            let (key, value) = match map.first_key_value() {
                Some((key, value)) => (text(key), value),
                None => continue,
            };
            let output = pages(dir.path(), &["show", &back, "--key", key]);
            assert_eq!(output.stdout, *value);
            let under = printed(dir.path(), &["show", &back, "--prefix", "key01"]);
            assert_eq!(
                under.lines().count(),
                map.keys().filter(|key| key.starts_with(b"key01")).count()
            );
        }
        diffs(dir.path(), &history, &mut Random::new(seed));
        assert_eq!(files(dir.path()), before, "looking changed files");
    }
}

fn diffs(dir: &Path, history: &[(Commit, Map)], random: &mut Random) {
    for _ in 0..6 {
        let one = &history[random.below(history.len() as u64) as usize];
        let other = &history[random.below(history.len() as u64) as usize];
        let prefix = ["", "key0", "key1"][random.below(3) as usize];
        let names = [id(&one.0), id(&other.0)];
        let words = [
            "diff", &names[0], &names[1], "--values", "--json", "--prefix", prefix,
        ];
        let side = |value: &Vec<u8>| json!({ "isLazy": false, "value": text(value), "size": value.len(), "isCut": false });
        let differs = difference(&one.1, &other.1).into_iter();
        let expected = differs.filter(|(key, ..)| key.starts_with(prefix.as_bytes()));
        let expected = expected.map(|(key, old, new)| {
            let mut line = json!({ "key": text(key) });
            let change = match (old, new) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            };
            line["change"] = change.into();
            for (name, value) in [("old", old), ("new", new)] {
                if let Some(value) = value {
                    line[name] = side(value);
                }
            }
            line
        });
        assert_eq!(lines(dir, &words), expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_diff_for_eyes_marks_what_came_went_and_changed() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    let page = page(&repository, b"l", PageId::ROOT);
    let one = commit(
        &page,
        &Commit::first(),
        &[(b"a", Some(b"1")), (b"b", Some(b"2")), (b"c", Some(b"3"))],
        1,
    );
    let long = "long ".repeat(100);
    commit(
        &page,
        &one,
        &[
            (b"a", None),
            (b"b", Some(b"4\xff")),
            (b"d", Some(long.as_bytes())),
        ],
        2,
    );
    // The repository and the page are open in this process.
    let output = pages(dir.path(), &["diff", "head~", "head"]);
    let cut = &long[..100];
    assert_eq!(
        String::from_utf8(output.stdout.clone()).unwrap(),
        format!(
            "- \"a\" = \"1\"\n~ \"b\" = \"2\" -> bytes:34ff\n+ \"d\" = \"{cut}\"… (500 bytes)\n"
        )
    );
    assert!(output.status.success());
    assert!(stderr(&output).contains("in use by"), "{}", stderr(&output));
    let whole = printed(dir.path(), &["diff", "head~1", "head", "--values"]);
    assert!(whole.ends_with(&format!("+ \"d\" = \"{long}\"\n")));
    assert_eq!(printed(dir.path(), &["diff", "head", "head"]), "");
}

#[test]
fn heads_and_merges_are_marked_and_children_come_before_parents() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    let page = page(&repository, b"l", PageId::ROOT);
    let base = commit(&page, &Commit::first(), &[(b"k", Some(b"0"))], 5 * SECOND);
    let left = commit(&page, &base, &[(b"l", Some(b"1"))], 7 * SECOND);
    // A clock that was set back.
    let right = commit(&page, &base, &[(b"r", Some(b"2"))], SECOND);
    let two = refused(dir.path(), &["show"], 2);
    assert!(
        two.contains(&id(&left)) && two.contains(&id(&right)),
        "{two}"
    );
    let heads = |log: &[Value]| {
        let heads = log.iter().filter(|line| line["isHead"] == true);
        heads.map(|line| line["id"].clone()).collect::<Vec<_>>()
    };
    let log = lines(dir.path(), &["log", "--json"]);
    assert_eq!(heads(&log), [id(&left), id(&right)]);
    page.merge(&mut larder_pages::MergePolicy::LastOneWins)
        .unwrap();
    let merge = page.heads().remove(0);
    let log = lines(dir.path(), &["log", "--json"]);
    assert_eq!(heads(&log), [id(&merge)]);
    let ids: Vec<_> = log
        .iter()
        .map(|line| line["id"].as_str().unwrap().to_owned())
        .collect();
    let expected = [&merge, &left, &right, &base, &Commit::first()].map(id);
    assert_eq!(ids, expected);
    assert_eq!(log[0]["isMerge"], true);
    assert_eq!(log[0]["parents"].as_array().unwrap().len(), 2);
    let text = printed(dir.path(), &["log"]);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with(&id(&merge)[..8]), "{first}");
    assert!(
        first.contains(", merge, head: 1 added, 0 changed, 0 removed"),
        "{first}"
    );
    assert!(text.ends_with("00000000 1970-01-01T00:00:00.000Z generation 0: the first commit\n"));
}
