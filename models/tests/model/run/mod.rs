//! A program on the model and on the crate, side by side.
//!
//! The model is asked first. It is eager: what is done in the model can be done in the crate, too, and may be waited for. Where
//! the crate may be behind, it may only be behind in the ways that the specification leaves open: requests that an abort overtook
//! fail with `AbortError`, from some request on.

pub(crate) mod adapter;
pub(crate) mod bytes;
mod connections;
pub(crate) mod dump;
mod files;
mod foreign;
mod host_loop;
mod records;
mod settle;
mod state;
mod transactions;

pub(crate) use files::Files;
pub(crate) use state::{Commits, Host, Runner, Setup, reached};

use std::sync::atomic::Ordering;

use crate::naive::World;
use crate::program::Action;

/// A difference between the two, in words.
pub(crate) type Verdict<T = ()> = Result<T, String>;

impl Runner {
    /// Runs a whole program, ends everything, and compares what is there.
    pub(crate) fn run(self, actions: &[Action]) -> Verdict {
        let files = self.files.clone();
        let world = self.run_to_the_end(actions)?;
        let found = dump::of_files(&files).map_err(|what| format!("reopened: {what}"))?;
        let compared = dump::compare(&found, &dump::of_model(&world.databases));
        compared.map_err(|what| format!("reopened: {what}"))
    }

    /// Runs a whole program, ends everything, and gives the model.
    pub(crate) fn run_to_the_end(mut self, actions: &[Action]) -> Verdict<World> {
        for (at, action) in actions.iter().enumerate() {
            self.at.store(at, Ordering::Relaxed);
            self.act(action)
                .map_err(|what| format!("action {at}, {action:?}: {what}"))?;
        }
        self.at.store(actions.len(), Ordering::Relaxed);
        self.end().map_err(|what| format!("at the end: {what}"))?;
        self.into_world()
    }

    fn act(&mut self, action: &Action) -> Verdict {
        match action {
            Action::Open { .. }
            | Action::DeleteDatabase { .. }
            | Action::Databases
            | Action::Close { .. }
            | Action::DropConnection { .. }
            | Action::ForceClose { .. }
            | Action::Restart => {
                self.settle()?;
                self.act_on_connections(action)?;
                self.settle()
            }
            Action::Begin { .. }
            | Action::Commit { .. }
            | Action::CommitIfIdle { .. }
            | Action::Abort { .. }
            | Action::DropTransaction { .. }
            | Action::CreateStore { .. }
            | Action::DeleteStore { .. }
            | Action::RenameStore { .. }
            | Action::CreateIndex { .. }
            | Action::DeleteIndex { .. }
            | Action::RenameIndex { .. } => {
                let must_settle = self.has_queued_opens() || self.commits.is_some();
                self.act_on_transactions(action)?;
                if must_settle { self.settle() } else { Ok(()) }
            }
            Action::Run { steps } => {
                self.steps(*steps);
                Ok(())
            }
            Action::Settle => self.settle(),
            _ => self.act_on_records(action),
        }
    }
}
