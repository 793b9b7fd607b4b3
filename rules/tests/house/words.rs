//! The words of comments: how a documentation comment may not begin, and words for people that do not fit data structures and code.

use std::fs;

use crate::{PRODUCT, SCRIPTS, TOOLS, files, root};

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

/// How comments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    JavaScript,
}

impl Language {
    /// How lines of comments begin: of two that fit, the longer is first.
    const fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["///", "//!", "//"],
            Self::JavaScript => &["//", "/**", "*"],
        }
    }

    /// Whether a comment is read alone. JavaScript has no mark for that: a comment at the margin stands before a whole function or value.
    fn is_documentation(self, mark: &str, is_indented: bool) -> bool {
        match self {
            Self::Rust => mark != "//",
            Self::JavaScript => !is_indented,
        }
    }
}

/// The folders' files of a language.
const EXTENSIONS: [(&str, Language); 4] = [
    ("rs", Language::Rust),
    ("js", Language::JavaScript),
    ("mjs", Language::JavaScript),
    ("cjs", Language::JavaScript),
];

/// A run of lines of one kind of comment, as one text.
struct Comment {
    line: usize,
    is_documentation: bool,
    text: String,
}

fn comments(source: &str, language: Language) -> Vec<Comment> {
    let mut found: Vec<Comment> = Vec::new();
    let mut mark_before = None;
    for (at, whole) in source.lines().enumerate() {
        let line = whole.trim_start();
        let marks = language.marks().iter();
        let Some(mark) = marks.copied().find(|mark| line.starts_with(mark)) else {
            mark_before = None;
            continue;
        };
        let text = line[mark.len()..].trim();
        match found.last_mut() {
            Some(last) if mark_before == Some(mark) => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => found.push(Comment {
                line: at + 1,
                is_documentation: language.is_documentation(mark, line.len() < whole.len()),
                text: text.to_owned(),
            }),
        }
        mark_before = Some(mark);
    }
    found
}

fn faults(source: &str, language: Language) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for comment in comments(source, language) {
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
    let (mut found, mut count) = (Vec::new(), 0);
    for folder in [&PRODUCT[..], &TOOLS, &SCRIPTS].concat() {
        for (extension, language) in EXTENSIONS {
            let files = files(&root().join(folder), extension);
            let is_here = match language {
                Language::Rust => !SCRIPTS.contains(&folder),
                Language::JavaScript => SCRIPTS.contains(&folder) && extension == "js",
            };
            assert!(!is_here || !files.is_empty(), "{folder}");
            count += files.len();
            found.extend(files.iter().flat_map(|path| {
                let name = path.strip_prefix(root()).unwrap().display().to_string();
                let source = fs::read_to_string(path).unwrap();
                let faults = faults(&source, language).into_iter();
                faults.map(move |(line, fault)| format!("{name}:{line}: a comment {fault}"))
            }));
        }
    }
    assert!(count > 1000, "only {count} files were found");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_comment_that_leans_on_another_is_found() {
    let source = "/// The same for two.\nfn f() {}\n    // Of all.\n    //! Nobody\n    //! reads it.\n/// Often right.\n";
    let rust = [
        (1, "begins with \"The same\"".to_owned()),
        (4, "has the word \"Nobody\"".to_owned()),
    ];
    assert_eq!(faults(source, Language::Rust), rust);
    let source =
        "// Of two.\n  // Of all.\n/**\n * Somebody reads it.\n */\nconst a = 2 * 3; // who\n";
    let script = [
        (1, "begins with \"Of\"".to_owned()),
        (4, "has the word \"Somebody\"".to_owned()),
    ];
    assert_eq!(faults(source, Language::JavaScript), script);
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
        "binding/README.md",
        "node/js/codec/README.md",
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
