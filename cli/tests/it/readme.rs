//! The commands of `larder` that the README shows do run: those with a path of the repository as they stand, those that name a
//! PATH or a SCRIPT with a golden store or a short script in its place. `rules/tests/house/commands.rs` checks the names in
//! commands of cargo's, which take too long to run here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap().to_owned()
}

/// The commands: of a code block's line all but its explanation, which two blanks precede, and code within sentences.
fn commands(readme: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, block) in readme.split("```").enumerate() {
        let code: Vec<&str> = match n % 2 {
            1 => block.lines().collect(),
            _ => block.split('`').skip(1).step_by(2).collect(),
        };
        for line in code.iter().filter(|line| line.starts_with("larder ")) {
            let command = line.split(" #").next().unwrap_or_default();
            // `larder ls   PATH      origins, …`: the explanation begins behind the name in capitals.
            let mut words = command.split_whitespace().peekable();
            let mut taken = Vec::new();
            while let Some(word) = words.next() {
                if word == "ARGS…" {
                    break;
                }
                taken.push(word);
                let has_more = words
                    .peek()
                    .is_some_and(|next| ["TO", "TEXT", "ARCHIVE", "--cloud"].contains(next));
                if ["TO", "TEXT", "B", "FOLDER"].contains(&word)
                    || ["PATH", "ARCHIVE"].contains(&word) && !has_more
                {
                    break;
                }
            }
            found.push(taken.join(" "));
        }
    }
    found
}

/// What `larder view` prints before it waits for a browser; then it is ended.
#[cfg(feature = "view")]
fn page_of(command: &str) -> String {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let path = command.strip_prefix("larder view ").unwrap();
    let path = path.replace("PATH", "fixtures/chromium/c156-lite/store");
    let mut child = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["view", &path, "--no-open"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    printed.read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    line
}

/// A repository with an empty page.
fn repository(dir: &Path) -> PathBuf {
    use larder_pages::{PageId, PageOptions, Repository, Timestamp};

    let fs = std::sync::Arc::new(larder_leveldb::storage::DiskFileSystem::new());
    let repository = Repository::open(fs, dir, PageOptions::default(), Timestamp(1)).unwrap();
    let page = repository
        .ledger(b"contacts")
        .unwrap()
        .open_page(PageId::ROOT);
    page.unwrap().close(Timestamp(2)).unwrap();
    dir.to_owned()
}

/// A folder of stores, with the database that a script makes.
fn device(script: &Path) -> PathBuf {
    let dir = script.with_file_name("device");
    let args: [&std::ffi::OsStr; 4] = [
        "run".as_ref(),
        "--storage".as_ref(),
        dir.as_ref(),
        script.as_ref(),
    ];
    let ran = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(args)
        .status();
    assert!(ran.unwrap().success());
    dir
}

fn run(command: &str, script: &Path) -> Output {
    let store = "fixtures/chromium/c156-lite/store";
    let words = command.split(' ').skip(1).map(|word| match word {
        "PATH" if command.starts_with("larder pages") => {
            repository(&script.with_file_name("pages")).into()
        }
        "PATH" if command.starts_with("larder sync") => device(script).into(),
        "FOLDER" => script.with_file_name("cloud").into(),
        "PATH" | "A" | "B" => store.into(),
        "SCRIPT" => script.as_os_str().to_owned(),
        "TEXT" => "hello".into(),
        "ARCHIVE" => script.with_file_name("archive.jsonl").into(),
        "TO" => script.with_file_name(command).into(),
        word => word.into(),
    });
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(words.collect::<Vec<_>>())
        .current_dir(root())
        .output()
        .unwrap()
}

#[test]
fn commands_of_the_readme_run() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    fs::write(
        &script,
        "indexedDB.open('a').onsuccess = () => console.log('open');",
    )
    .unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let commands = commands(&readme);
    for expected in [
        "larder ls PATH",
        "larder dump PATH",
        "larder rows PATH",
        "larder verify PATH",
        "larder view PATH",
        "larder find PATH TEXT",
        "larder stat PATH",
        "larder diff A B",
        "larder feed ls PATH",
        "larder sync PATH --cloud FOLDER",
        "larder pages ls PATH",
        "larder copy PATH TO",
        "larder export PATH ARCHIVE",
        "larder import ARCHIVE TO",
        "larder run SCRIPT",
        "larder man",
    ] {
        assert!(
            commands.iter().any(|command| command == expected),
            "{expected}: {commands:?}"
        );
    }
    // Code that names a command without its arguments is no command to run.
    let is_whole =
        |command: &&String| command.split(' ').count() > 2 || command.as_str() == "larder man";
    for command in commands.iter().filter(is_whole) {
        // It ends when a person ends it.
        if command.starts_with("larder view") {
            #[cfg(feature = "view")]
            assert!(page_of(command).starts_with("http://127.0.0.1:"));
            continue;
        }
        let output = run(command, &script);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {errors}");
        // A store differs in nothing from itself, and has no change feed.
        let is_silent = ["larder diff A B", "larder feed ls PATH"].contains(&command.as_str());
        assert_eq!(output.stdout.is_empty(), is_silent, "{command}");
    }
}
