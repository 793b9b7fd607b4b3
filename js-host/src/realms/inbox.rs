//! What comes to a realm from outside, in the order in which it came, until its event loop takes it.

use larder_codec::JsString;
use larder_idb::{Connection, Request};

use std::sync::Arc;

use super::answer::{Answer, Outcome, Watcher};
use super::group::{Realm, RealmId};
use super::message::{Message, Note};

/// Something that has come.
#[derive(Debug)]
pub(crate) enum Entry {
    Answer(Answer),
    Note(Note),
}

impl Realm {
    /// Puts the result of a request in when it is there.
    pub(crate) fn expect<T: Send + 'static>(
        &self,
        number: u32,
        request: Request<T>,
        outcome: impl FnOnce(T) -> Outcome + Send + 'static,
    ) {
        let realm = self.clone();
        request.on_done(move |result| {
            realm.answer(Answer::Complete(number, result.map(outcome)));
        });
    }

    /// From now on, what happens to the connection that a request to open has got comes here.
    pub(crate) fn listen(&self, request: u32, connection: &Connection) {
        let watcher = Watcher::default();
        self.set_watcher(request, Arc::clone(&watcher));
        let realm = self.clone();
        connection.events().on_event(move |event| {
            realm.answer(Answer::Connection(Arc::clone(&watcher), event));
        });
    }

    /// An answer of the engine's comes.
    pub(crate) fn answer(&self, answer: Answer) {
        self.put(self.id(), Entry::Answer(answer));
    }

    /// Sends another realm a note; nothing happens if it is gone.
    pub(crate) fn send(&self, other: RealmId, note: Note) {
        self.put(other, Entry::Note(note));
    }

    /// Sends the realm that has made this one a note; false if there is none.
    pub(crate) fn send_to_parent(&self, note: Note) -> bool {
        if let Some(parent) = self.parent() {
            self.send(parent, note);
        }
        self.parent().is_some()
    }

    /// Sends a message to the channels of a name in all other realms of this origin.
    pub(crate) fn broadcast(&self, name: &JsString, message: Message) {
        let message = Arc::new(message);
        for other in self.others() {
            self.send(other, Note::Broadcast(name.clone(), Arc::clone(&message)));
        }
    }
}
