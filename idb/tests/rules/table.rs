//! The table of rules and the tests that it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Names in backquotes in the last column of the table's rows.
fn named(table: &str) -> BTreeSet<&str> {
    let rows = table
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'));
    let cells = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit("| ").next());
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn every_test_that_the_table_of_rules_names_exists_and_every_test_of_rules_is_named() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(here.join("../docs/idb-rules.md")).unwrap();
    let named = named(&table);
    assert!(named.len() > 50, "{}", named.len());
    let mut all = String::new();
    for folder in ["src", "tests", "../codec/src", "../models/tests"] {
        sources(&here.join(folder), &mut all);
    }
    for name in &named {
        let is_test = all.contains(&format!("fn {name}()")) || all.contains(&format!("fn {name}<"));
        assert!(is_test, "the table names {name}, which is no test");
    }
    let mut rules = String::new();
    sources(&here.join("tests/rules"), &mut rules);
    let mut is_test = false;
    for line in rules.lines() {
        let line = line.trim();
        if is_test && let Some(rest) = line.strip_prefix("fn ") {
            let name = rest.split('(').next().unwrap_or(rest);
            let is_about_table = name.starts_with("every_test_that") || name.starts_with("a_row_");
            assert!(
                is_about_table || named.contains(name),
                "the table does not name {name}"
            );
        }
        is_test = line == "#[test]";
    }
}

#[test]
fn a_row_names_what_stands_in_backquotes_in_its_last_column() {
    let table =
        "| step | `rule` | test |\n|---|---|---|\n| 1 | `x` | `one`, `two` |\nsome `text`\n";
    assert_eq!(named(table), BTreeSet::from(["one", "two"]));
}
