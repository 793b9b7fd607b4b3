//! The glossary: few terms, each in use.

use std::collections::BTreeSet;
use std::fs;

use crate::{PRODUCT, files, root};

/// A newcomer learns no more words than that.
const TERMS_MAX: usize = 25;

/// The terms of the table under the heading, in its order.
fn terms(architecture: &str) -> Vec<String> {
    let (_, section) = architecture.split_once("## Glossary").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let terms = rows.filter_map(|row| row.split(" | ").next());
    terms.skip(1).map(str::to_owned).collect()
}

/// The words of a source that are no comment, in small letters: `StoreContext` and `store_context` are `storecontext`.
fn names(source: &str) -> BTreeSet<String> {
    source
        .lines()
        .filter_map(|line| line.split("//").next())
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .map(|name| name.replace('_', "").to_lowercase())
        .filter(|name| !name.is_empty())
        .collect()
}

fn is_used(term: &str, names: &BTreeSet<String>) -> bool {
    let name = term.replace([' ', '-'], "").to_lowercase();
    names.contains(&name) || names.contains(&format!("{name}s"))
}

#[test]
fn terms_of_the_glossary_are_few_and_in_use() {
    let terms = terms(&fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap());
    assert!(
        (10..=TERMS_MAX).contains(&terms.len()),
        "{} terms",
        terms.len()
    );
    let mut sorted = terms.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted, terms, "sorted, and each once");
    let mut used = BTreeSet::new();
    for folder in PRODUCT {
        for path in files(&root().join(folder).join("src"), "rs") {
            used.append(&mut names(&fs::read_to_string(path).unwrap()));
        }
    }
    let unused: Vec<&String> = terms.iter().filter(|term| !is_used(term, &used)).collect();
    assert!(unused.is_empty(), "no name in the sources: {unused:?}");
}

#[test]
fn a_term_that_is_only_in_comments_is_not_in_use() {
    let names = names("/// The larder.\nstruct StoreContext; // pantry\nfn undo_logs() {}\n");
    assert!(is_used("store context", &names) && is_used("undo log", &names));
    assert!(!is_used("larder", &names) && !is_used("pantry", &names) && !is_used("undo", &names));
    let table = "## Glossary\n\n| term | meaning |\n|---|---|\n| base | a |\n| view | b |\n\n## Next\n| no | c |\n";
    assert_eq!(terms(table), ["base", "view"]);
}
