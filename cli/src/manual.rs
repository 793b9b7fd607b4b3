//! The manual page and the completion scripts, made from the command line's own description.

use std::io;

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Commands that have a part of their own in the manual page.
const DESCRIBED: [&str; 10] = [
    "ls", "dump", "rows", "run", "verify", "find", "stat", "diff", "copy", "repair",
];

/// The completion script for a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "larder", &mut script);
    script
}

/// The manual page, in roff: one page with a part for each command.
///
/// # Errors
/// None in practice: it is written to memory.
pub(crate) fn page() -> io::Result<Vec<u8>> {
    let mut command = Cli::command();
    // Gives every command its full name (`larder ls`).
    command.build();
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for name in DESCRIBED {
        if let Some(command) = command.find_subcommand(name) {
            describe(command, &mut page)?;
        }
    }
    epilogue(&command, &mut page);
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// A command's part: what it does, how it is called, its options, examples.
fn describe(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let full_name = command.get_bin_name().unwrap_or(command.get_name());
    page.extend_from_slice(format!(".SH {}\n", full_name.to_uppercase()).as_bytes());
    let about = command.get_about().map(ToString::to_string);
    push_lines(about.as_deref().unwrap_or_default(), page);
    let mut part = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render_synopsis_section(&mut part)?;
    man.render_options_section(&mut part)?;
    // Sections of a page of its own are subsections of this one.
    page.extend_from_slice(
        String::from_utf8_lossy(&part)
            .replace(".SH ", ".SS ")
            .as_bytes(),
    );
    if let Some(examples) = command.get_after_long_help() {
        page.extend_from_slice(b".SS EXAMPLES\n");
        push_verbatim(examples.to_string().trim_start_matches("Examples:\n"), page);
    }
    Ok(())
}

/// Examples and exit status of the whole, which are laid out by hand: lines stay lines.
fn epilogue(command: &Command, page: &mut Vec<u8>) {
    let Some(text) = command.get_after_long_help() else {
        return;
    };
    for part in text.to_string().split("\n\n") {
        let (title, lines) = part.split_once('\n').unwrap_or((part, ""));
        let title = title.trim_end_matches(':').to_uppercase();
        page.extend_from_slice(format!(".SH {title}\n").as_bytes());
        push_verbatim(lines, page);
    }
}

fn push_verbatim(lines: &str, page: &mut Vec<u8>) {
    page.extend_from_slice(b".nf\n");
    push_lines(lines, page);
    page.extend_from_slice(b".fi\n");
}

/// Text lines: roff takes a backslash, a minus that shall stay one, and a dot or quote at the beginning for itself.
fn push_lines(text: &str, page: &mut Vec<u8>) {
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) {
            page.extend_from_slice(b"\\&");
        }
        page.extend_from_slice(line.as_bytes());
        page.push(b'\n');
    }
}
