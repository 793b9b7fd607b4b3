//! The commands of cargo that the documents show name packages and targets that exist. They are not run: that would build all of the
//! workspace in release mode.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::{metadata, root};

/// By package, the flag of a kind of target and its name: `--test it`.
type Targets = BTreeMap<String, BTreeSet<String>>;

fn targets(metadata: &Value) -> Targets {
    let packages = metadata["packages"].as_array().unwrap().iter();
    let flags = |package: &Value| {
        let targets = package["targets"].as_array().unwrap().iter();
        let flags = targets.map(|target| {
            let kind = target["kind"][0].as_str().unwrap();
            format!("--{kind} {}", target["name"].as_str().unwrap())
        });
        flags.collect()
    };
    packages
        .map(|package| (package["name"].as_str().unwrap().to_owned(), flags(package)))
        .collect()
}

/// The commands of a document: lines of code blocks, and code within sentences.
fn commands(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, block) in document.split("```").enumerate() {
        match n % 2 {
            1 => found.extend(block.lines().map(str::to_owned)),
            _ => {
                let code = block.split('`').skip(1).step_by(2);
                found.extend(code.map(str::to_owned));
            }
        }
    }
    found.retain(|command| command.split_whitespace().any(|word| word == "cargo"));
    found
}

/// What is wrong with a command, if anything is.
fn fault(command: &str, targets: &Targets) -> Option<String> {
    let command = command.split(" # ").next().unwrap_or_default();
    let words: Vec<&str> = command
        .split_whitespace()
        .skip_while(|word| *word != "cargo")
        .skip(1)
        .take_while(|word| *word != "--" && *word != "|")
        .collect();
    // Fuzz targets and the peers are workspaces of their own.
    if words.contains(&"fuzz") || words.contains(&"--manifest-path") {
        return None;
    }
    let pairs = || words.iter().zip(words.iter().skip(1));
    let packages: Vec<&str> = pairs()
        .filter(|(flag, _)| ["-p", "--package"].contains(flag))
        .map(|(_, name)| *name)
        .collect();
    for package in &packages {
        if !targets.contains_key(*package) {
            return Some(format!("there is no package {package}"));
        }
    }
    let path = pairs().find(|(flag, _)| **flag == "--path");
    let missing = path.filter(|(_, path)| !root().join(path).join("Cargo.toml").is_file());
    if let Some((_, path)) = missing {
        return Some(format!("there is no package in {path}"));
    }
    let has = |target: &String| {
        let mut of_command = targets
            .iter()
            .filter(|(name, _)| packages.is_empty() || packages.contains(&name.as_str()));
        of_command.any(|(_, of_package)| of_package.contains(target))
    };
    pairs()
        .filter(|(flag, _)| ["--test", "--bench", "--example", "--bin"].contains(flag))
        .map(|(flag, name)| format!("{flag} {name}"))
        .find(|target| !has(target))
        .map(|target| format!("there is no {target} in {packages:?}"))
}

#[test]
fn commands_of_the_documents_name_packages_and_targets_that_there_are() {
    let targets = targets(&metadata());
    let (mut count, mut faults) = (0, Vec::new());
    for document in [
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "docs/measurements.md",
        "docs/idb-rules.md",
        "c/README.md",
    ] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        for command in commands(&text) {
            count += 1;
            if let Some(fault) = fault(&command, &targets) {
                faults.push(format!("{document}: `{command}`: {fault}"));
            }
        }
    }
    assert!(count > 30, "only {count} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_command_with_a_wrong_name_is_found() {
    let own = BTreeSet::from(["--test it".to_owned(), "--bench dump".to_owned()]);
    let targets = BTreeMap::from([("larder".to_owned(), own)]);
    let faults = commands("`cargo test -p larder --test\nit x` and `A=1 cargo bench -p ladder`\n```sh\ncargo test --test judge -- --test no\n```\n")
        .iter()
        .map(|command| fault(command, &targets))
        .collect::<Vec<_>>();
    let no = |text: &str| Some(text.to_owned());
    assert_eq!(
        faults,
        [
            None,
            no("there is no package ladder"),
            no("there is no --test judge in []")
        ]
    );
}
