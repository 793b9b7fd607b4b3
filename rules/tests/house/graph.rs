//! Which top module of a crate needs which, and where they go round.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Module, Names, Source};

/// What a name is given on more often than that is not followed.
const GIVEN_ON_MAX: usize = 8;

/// The module that has the definition which a path in `from` leads to; `None` for another crate's.
fn module_of(
    sources: &BTreeMap<Module, Source>,
    from: &Module,
    path: &Names,
    given_on_max: usize,
) -> Option<Module> {
    let mut names = path.as_slice();
    let mut module = match names.first()?.as_str() {
        "crate" => Module::new(),
        "self" | "super" => from.clone(),
        first => {
            let child = [&from[..], &[first.to_owned()]].concat();
            return match sources.contains_key(&child) {
                true => module_of(sources, from, &prefixed("self", path), given_on_max),
                false => None,
            };
        }
    };
    if names[0] != "super" {
        names = &names[1..];
    }
    while names.first().is_some_and(|name| name == "super") {
        module.pop();
        names = &names[1..];
    }
    while let Some(name) = names.first() {
        let child = [&module[..], std::slice::from_ref(name)].concat();
        if sources.contains_key(&child) {
            module = child;
            names = &names[1..];
            continue;
        }
        let given_on = sources.get(&module).and_then(|own| own.given_on.get(name));
        return match given_on {
            Some(path) if given_on_max > 0 => {
                module_of(sources, &module, path, given_on_max - 1).or(Some(module))
            }
            _ => Some(module),
        };
    }
    Some(module)
}

fn prefixed(first: &str, path: &Names) -> Names {
    [&[first.to_owned()], &path[..]].concat()
}

/// By top module: the other top modules that it needs. What the crate's root defines itself may be used by all.
pub(crate) fn needed(sources: &BTreeMap<Module, Source>) -> BTreeMap<String, BTreeSet<String>> {
    let mut needed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, source) in sources {
        let Some(top) = module.first() else { continue };
        let others = source
            .used
            .iter()
            .filter_map(|path| module_of(sources, module, path, GIVEN_ON_MAX))
            .filter_map(|other| other.first().cloned())
            .filter(|other| other != top);
        needed.entry(top.clone()).or_default().extend(others);
    }
    needed
}

/// Sets of modules each of which needs each other, by whatever way.
pub(crate) fn circles(needed: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = needed
        .keys()
        .map(|start| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
            while let Some(module) = open.pop() {
                let next = needed.get(module).into_iter().flatten();
                open.extend(next.filter(|next| reached.insert(*next)));
            }
            (start, reached)
        })
        .collect();
    let mut found: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (module, others) in &reached {
        let circle = others.iter().filter(|other| {
            let back = reached.get(**other);
            back.is_some_and(|back| back.contains(*module))
        });
        let circle: BTreeSet<String> = circle.map(|name| (*name).clone()).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}
