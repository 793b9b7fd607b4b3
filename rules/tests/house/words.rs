//! The words of comments: how a documentation comment may not begin, and words for people that do not fit data structures and code.

use std::fs;

use crate::{files, root};

/// A documentation comment is read alone, where an editor shows it: one that begins so leans on a text that is not there.
const OPENINGS: [&str; 4] = ["The same", "Likewise", "As above", "Of "];

/// Words for people. Structures hold, return and report; the thing is the subject of the sentence.
const WORDS_FOR_PEOPLE: [&str; 19] = [
    "anybody",
    "anyone",
    "everybody",
    "everyone",
    "heirs",
    "knows",
    "nobody",
    "somebody",
    "someone",
    "stranger",
    "strangers",
    "tell",
    "telling",
    "tells",
    "told",
    "wants",
    "who",
    "whoever",
    "whom",
];

/// A run of lines of one kind of comment, as one text.
struct Comment {
    line: usize,
    is_documentation: bool,
    text: String,
}

fn comments(source: &str) -> Vec<Comment> {
    let mut found: Vec<Comment> = Vec::new();
    let mut kind_before = None;
    for (at, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let kind = ["///", "//!", "//"]
            .into_iter()
            .find(|kind| line.starts_with(kind));
        let Some(kind) = kind else {
            kind_before = None;
            continue;
        };
        let text = line[kind.len()..].trim();
        match found.last_mut() {
            Some(last) if kind_before == Some(kind) => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => found.push(Comment {
                line: at + 1,
                is_documentation: kind != "//",
                text: text.to_owned(),
            }),
        }
        kind_before = Some(kind);
    }
    found
}

fn faults(source: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for comment in comments(source) {
        let opening = OPENINGS
            .into_iter()
            .find(|opening| comment.text.starts_with(opening));
        if let Some(opening) = opening.filter(|_| comment.is_documentation) {
            faults.push((comment.line, format!("begins with \"{}\"", opening.trim())));
        }
        let words = comment
            .text
            .split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words.filter(|word| WORDS_FOR_PEOPLE.contains(&&*word.to_lowercase())) {
            faults.push((comment.line, format!("has the word \"{word}\"")));
        }
    }
    faults
}

#[test]
fn comments_stand_alone_and_speak_of_things() {
    let mut found = Vec::new();
    for folder in [
        "codec",
        "leveldb",
        "backing-store",
        "idb",
        "c",
        "js-host",
        "cli",
        "fixtures",
        "fuzz",
        "rules",
        "peers",
    ] {
        let files = files(&root().join(folder), "rs");
        assert!(!files.is_empty(), "{folder}");
        found.extend(files.iter().flat_map(|path| {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            let source = fs::read_to_string(path).unwrap();
            let faults = faults(&source).into_iter();
            faults.map(move |(line, fault)| format!("{name}:{line}: a comment {fault}"))
        }));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_comment_that_leans_on_another_is_found() {
    let source = "/// The same for two.\nfn f() {}\n    // Of all.\n    //! Nobody\n    //! reads it.\n/// Often right.\n";
    let found = faults(source);
    let texts: Vec<(usize, &str)> = found
        .iter()
        .map(|(line, text)| (*line, text.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            (1, "begins with \"The same\""),
            (4, "has the word \"Nobody\"")
        ]
    );
}

/// A document without its code: code has the names that it has.
fn prose(document: &str) -> String {
    let blocks = document.split("```").step_by(2);
    let sentences = blocks.flat_map(|block| block.split('`').step_by(2));
    sentences.collect::<Vec<_>>().join(" ")
}

#[test]
fn documents_speak_of_things() {
    let mut documents = files(&root().join("docs"), "md");
    for document in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "c/README.md",
        "fixtures/README.md",
    ] {
        documents.push(root().join(document));
    }
    assert!(documents.len() > 40, "only {documents:?}");
    let mut faults = Vec::new();
    for document in documents {
        let prose = prose(&fs::read_to_string(&document).unwrap());
        // The two that are left out may stand for persons: a document has readers.
        let words = WORDS_FOR_PEOPLE
            .iter()
            .filter(|word| !["who", "whom"].contains(word));
        for word in words {
            let mut found = prose.split(|c: char| !c.is_alphanumeric());
            if found.any(|other| other.to_lowercase() == **word) {
                faults.push(format!("{}: \"{word}\"", document.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
