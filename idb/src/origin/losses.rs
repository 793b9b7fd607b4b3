//! An origin's losses, as its host hears of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use larder_backing_store::{RowNames, TornTail};

use super::{Access, OpenStore, Origin};
use crate::error::{Error, ErrorKind};
use crate::executor::{Job, Turn};
use crate::loss::{Loss, LossKind};
use crate::sync::locked;

/// So many losses of one opening are reported.
const REPORTED_MAX: usize = 1000;

/// The losses that were reported since the store was opened, by their errors' words.
#[derive(Default)]
pub(super) struct Reported(BTreeSet<String>);

impl Reported {
    /// Whether this one is to be reported.
    fn add(&mut self, what: &str) -> bool {
        self.0.len() < REPORTED_MAX && self.0.insert(what.to_owned())
    }
}

impl Origin {
    /// The store has been opened: a loss that was reported before is reported again.
    pub(super) fn forget_reported(&self) {
        *locked(&self.reported) = Reported::default();
    }

    /// What a crash has taken from the store that is being opened.
    pub(super) fn note_torn_tails(self: &Arc<Self>, tails: &[TornTail]) {
        for tail in tails {
            self.report(LossKind::TornTail(tail.clone()), None);
        }
    }

    /// If an error says that something is damaged, the host hears of it.
    pub(crate) fn note_loss(self: &Arc<Self>, error: &Error) {
        let is_wanted = self.shared.options.on_loss.is_some();
        if !is_wanted || error.kind() != ErrorKind::Corruption {
            return;
        }
        if !locked(&self.reported).add(error.message()) {
            return;
        }
        match self.store_as_it_is() {
            Ok(Some(Access::Open(store))) => {
                self.report(LossKind::Unreadable(error.clone()), Some(store));
            }
            Ok(Some(Access::Missing | Access::Going)) => {
                self.report(LossKind::Unreadable(error.clone()), None);
            }
            Ok(None) => self.report(LossKind::Unopenable(error.clone()), None),
            Err(_) => {}
        }
    }

    /// In a task of its own: the caller may hold locks, and names are looked up in the store.
    fn report(self: &Arc<Self>, what: LossKind, store: Option<Arc<OpenStore>>) {
        let Some(on_loss) = self.shared.options.on_loss.clone() else {
            return;
        };
        let origin = Arc::clone(self);
        let job = Job::of(move |turn: &mut Turn| {
            let row = match &what {
                LossKind::Unreadable(error) => error.row(),
                LossKind::TornTail(_) | LossKind::Unopenable(_) => None,
            };
            let names = store
                .as_ref()
                .map(|store| RowNames::of(&store.backing().read()));
            let place = row.zip(names).map(|(row, names)| names.place(row));
            drop(store);
            let loss = Loss {
                origin: origin.name.clone(),
                bucket: origin.place.bucket,
                what,
                place,
            };
            turn.call(|| on_loss.call(&loss));
        });
        self.ready().push(Arc::new(job));
    }
}
