//! The command: finds the stores, serves the page, and opens it.

use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use larder_view::{Options, Server};

use super::Viewer;
use super::said::Said;
use crate::args::ViewArgs;
use crate::remote;
use crate::report::{EXIT_OK, EXIT_USAGE, complain};
use crate::stores_at::locate;

/// `larder view`.
pub(crate) fn run(args: &ViewArgs) -> ExitCode {
    let (fs, path) = match remote::files(&args.path) {
        Ok(found) => found,
        Err(what) => return failed(&what),
    };
    let said = Said::default();
    let found = match locate(&*fs, &path, &mut said.report()) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let said = said.take();
    let notes = [said.problems, said.notes].concat();
    let viewer = Viewer::new(fs, path, found, notes);
    let options = Options {
        port: args.port.unwrap_or(0),
        until_closed: args.until_closed,
    };
    let server = match Server::bind(options, Arc::new(viewer)) {
        Ok(server) => server,
        Err(error) => return failed(&format!("no page can be served on 127.0.0.1: {error}")),
    };
    let stopper = server.stopper();
    // Without a handler, the process ends at once.
    drop(ctrlc::set_handler(move || stopper.stop()));
    let url = server.url();
    let mut out = io::stdout();
    let printed = writeln!(out, "{url}").and_then(|()| out.flush());
    if printed.is_err() && args.no_open {
        // Neither a person nor a program can find the page.
        return ExitCode::from(EXIT_OK);
    }
    // Command lines are read by other users of the machine: a browser's has an address that is good once.
    if !args.no_open && !server.url_for_once().is_ok_and(|url| opens(&url)) {
        complain("no browser could be opened: open the address above in one");
    }
    match server.run() {
        Ok(()) => ExitCode::from(EXIT_OK),
        Err(error) => failed(&error.to_string()),
    }
}

/// Opens an address in the person's browser; whether that could be asked for.
fn opens(url: &str) -> bool {
    let mut command = match () {
        () if cfg!(target_os = "macos") => Command::new("open"),
        () if cfg!(windows) => {
            let mut command = Command::new("rundll32");
            command.arg("url.dll,FileProtocolHandler");
            command
        }
        () => Command::new("xdg-open"),
    };
    let command = command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().is_ok()
}

fn failed(what: &str) -> ExitCode {
    complain(what);
    ExitCode::from(EXIT_USAGE)
}
