//! Which modules of a crate need each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{circles, needed};
use crate::source::sources;
use crate::{PRODUCT, architecture, root};

#[test]
fn modules_that_need_each_other_are_those_that_the_architecture_names() {
    let agreed: BTreeSet<String> = architecture("### Circles of modules").into_iter().collect();
    let mut found = BTreeSet::new();
    for folder in PRODUCT {
        for circle in circles(&needed(&sources(&root().join(folder).join("src")))) {
            let modules: Vec<String> = circle.into_iter().collect();
            found.insert(format!("{folder}: {}", modules.join(", ")));
        }
    }
    let list = |lines: &BTreeSet<String>| lines.iter().cloned().collect::<Vec<_>>().join("\n");
    assert!(
        found == agreed,
        "in the sources:\n{}\n\nin ARCHITECTURE.md:\n{}",
        list(&found),
        list(&agreed)
    );
}

#[test]
fn circles_are_found_however_long_the_way_round_is() {
    let graph = |arrows: &[(&str, &str)]| {
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in arrows {
            graph.entry((*to).to_owned()).or_default();
            let others = graph.entry((*from).to_owned()).or_default();
            others.insert((*to).to_owned());
        }
        circles(&graph)
    };
    assert!(graph(&[("a", "b"), ("b", "c"), ("a", "c")]).is_empty());
    let found = graph(&[
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("d", "a"),
        ("e", "f"),
        ("f", "e"),
    ]);
    let names: Vec<Vec<&str>> = found
        .iter()
        .map(|circle| circle.iter().map(String::as_str).collect())
        .collect();
    assert_eq!(names, [vec!["a", "b", "c"], vec!["e", "f"]]);
}
