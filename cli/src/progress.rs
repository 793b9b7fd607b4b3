//! Progress, on a terminal's standard error only.

use std::time::Duration;

use indicatif::{HumanFloatCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// A running count of what has been read.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    pending: u64,
}

/// The bar is moved once for so many records.
const BATCH: u64 = 256;

/// indicatif's own rate comes with four decimals.
fn rate(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // Nothing better can be done about a line that cannot be drawn.
    let _ = write!(out, "{}/s", HumanFloatCount(state.per_sec().round()));
}

impl Progress {
    /// Shows nothing unless standard error is a terminal and `quiet` is false.
    #[must_use]
    pub fn new(quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {human_pos} rows, {rate}  {wide_msg}")
        {
            bar.set_style(style.with_key("rate", rate));
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self { bar, pending: 0 }
    }

    /// Says what is being read now.
    pub fn at(&self, what: impl Into<String>) {
        if !self.bar.is_hidden() {
            self.bar.set_message(what.into());
        }
    }

    /// One more row.
    pub fn tick(&mut self) {
        self.pending += 1;
        if self.pending == BATCH {
            self.bar.inc(self.pending);
            self.pending = 0;
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
