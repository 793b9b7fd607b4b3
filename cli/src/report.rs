//! What went wrong, reported on standard error, and the exit status that follows from it.

use std::collections::HashSet;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::display::write_harmless;

/// All well.
pub const EXIT_OK: u8 = 0;
/// Something in a store was damaged; the rest came out.
pub const EXIT_DAMAGE: u8 = 1;
/// The command line was wrong, or output could not be written.
pub const EXIT_USAGE: u8 = 2;
/// No store there.
pub const EXIT_NOT_A_STORE: u8 = 3;

/// The program that reads the pipe has gone: that is no error to report.
pub(crate) fn output_failed(error: &io::Error) -> ExitCode {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return ExitCode::from(EXIT_OK);
    }
    complain(&format!("output: {error}"));
    ExitCode::from(EXIT_USAGE)
}

/// Says on standard error why there is no result: a line, or some, that is no part of a [`Report`]. What is stored, and stands in it, cannot drive
/// a terminal.
pub(crate) fn complain(what: &str) {
    let mut line = b"larder: ".to_vec();
    for (n, part) in what.split('\n').enumerate() {
        if n > 0 {
            line.push(b'\n');
        }
        // Writing into a vector cannot fail.
        let _ = write_harmless(&mut line, part);
    }
    line.push(b'\n');
    // Nothing better can be done if standard error is gone.
    let _ = io::stderr().write_all(&line);
}

/// Says on standard error what is worth a look before there is a result.
#[cfg(feature = "scripts")]
pub(crate) fn remark(what: &str) {
    complain(&format!("note: {what}"));
}

/// Problems of the same text are said once; beyond this many different ones only the number is kept, so that memory
/// stays bounded however damaged a store is.
const SAID_MAX: usize = 10_000;

/// Takes each problem: its kind (`damaged`, `note`, …), and what it is.
type Say = Box<dyn FnMut(&str, &str)>;

/// Collects problems and reports them as they come.
pub struct Report {
    say: Say,
    said: HashSet<String>,
    unsaid: u64,
    damaged: bool,
    failed: bool,
}

impl Report {
    /// A report on standard error.
    #[must_use]
    pub fn on_stderr() -> Self {
        Self::new(Box::new(io::stderr()))
    }

    /// A report on any sink.
    #[must_use]
    pub fn new(mut sink: Box<dyn Write>) -> Self {
        Self::saying(Box::new(move |kind, text| {
            // Nothing better can be done if standard error is gone.
            let _ = match kind {
                "" => writeln!(sink, "larder: {text}"),
                kind => writeln!(sink, "larder: {kind}: {text}"),
            };
        }))
    }

    /// A report whose problems are taken one by one, with their kinds.
    #[must_use]
    pub(crate) fn saying(say: Say) -> Self {
        Self {
            say,
            said: HashSet::new(),
            unsaid: 0,
            damaged: false,
            failed: false,
        }
    }

    /// Something is damaged or unreadable: exit status 1.
    pub fn damage(&mut self, place: impl Display, problem: impl Display) {
        self.damaged = true;
        self.say("damaged", Self::text(place, problem));
    }

    /// Something is damaged, and the command's output says what: exit status 1.
    pub fn damage_is_said(&mut self) {
        self.damaged = true;
    }

    /// Something may not or cannot be looked at: exit status 1.
    pub fn unreadable(&mut self, place: impl Display, problem: impl Display) {
        self.damaged = true;
        self.say("unreadable", Self::text(place, problem));
    }

    /// What was asked for could not be done, and nothing of it was: exit status 2.
    pub fn failed(&mut self, place: impl Display, problem: impl Display) {
        self.failed = true;
        self.say("failed", Self::text(place, problem));
    }

    /// `place: problem`; a problem that names the place itself says it once.
    fn text(place: impl Display, problem: impl Display) -> String {
        let (place, problem) = (place.to_string(), problem.to_string());
        let names_place = problem
            .strip_prefix(&*place)
            .is_some_and(|rest| rest.starts_with([':', '/', '\\']));
        if names_place {
            problem
        } else {
            format!("{place}: {problem}")
        }
    }

    /// Worth knowing, but nothing is wrong.
    pub fn note(&mut self, place: impl Display, note: impl Display) {
        self.say("note", Self::text(place, note));
    }

    fn say(&mut self, kind: &str, text: String) {
        if self.said.len() >= SAID_MAX {
            self.unsaid += 1;
            return;
        }
        if !self.said.contains(&text) {
            (self.say)(kind, &text);
            self.said.insert(text);
        }
    }

    /// Whether damage was reported.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// The exit status that follows from what was reported.
    pub fn exit_status(&mut self) -> ExitCode {
        if self.unsaid > 0 {
            (self.say)("", &format!("and {} more problems", self.unsaid));
        }
        ExitCode::from(match (self.failed, self.damaged) {
            (true, _) => EXIT_USAGE,
            (false, true) => EXIT_DAMAGE,
            (false, false) => EXIT_OK,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Rc<RefCell<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink {
        fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    #[test]
    fn a_repeated_problem_is_reported_once_and_makes_the_status_one() {
        let sink = Sink::default();
        let mut report = Report::new(Box::new(sink.clone()));
        report.note("a", "torn tail");
        assert!(!report.is_damaged());
        report.damage("b", "bad checksum");
        report.damage("b", "bad checksum");
        assert!(report.is_damaged());
        report.unreadable("c", "c: permission denied");
        assert_eq!(
            sink.text(),
            "larder: note: a: torn tail\nlarder: damaged: b: bad checksum\nlarder: unreadable: c: permission denied\n"
        );
    }

    #[test]
    fn beyond_the_limit_problems_are_only_counted() {
        let sink = Sink::default();
        let mut report = Report::new(Box::new(sink.clone()));
        for n in 0..SAID_MAX + 7 {
            report.damage("row", n);
        }
        let _ = report.exit_status();
        let text = sink.text();
        assert!(text.ends_with("larder: and 7 more problems\n"));
        assert_eq!(text.lines().count(), SAID_MAX + 1);
    }
}
