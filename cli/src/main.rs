//! `larder`: see what is in a Chromium IndexedDB store. Everything it is made of is in the library beside it.

use std::process::ExitCode;

use clap::Parser;
use larder::args::Cli;

fn main() -> ExitCode {
    larder::run(Cli::parse())
}
