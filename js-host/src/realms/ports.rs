//! Ends of channels that were sent from one realm to another (HTML, 9.4). Until a port is sent it is its realm's own.

use std::collections::{HashMap, VecDeque};

use super::group::{Realm, RealmId, State};
use super::inbox::Entry;
use super::message::{Message, Note};

/// The number of a port that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PortId(pub(crate) u32);

/// A port.
#[derive(Debug)]
struct Port {
    other: PortId,
    /// Where it lies; `None` while it is on its way.
    owner: Option<RealmId>,
    /// Whether messages go to its realm, or wait.
    is_started: bool,
    waiting: VecDeque<Message>,
}

/// All ports that were sent and are open.
#[derive(Debug, Default)]
pub(super) struct Ports {
    all: HashMap<PortId, Port>,
    last: u32,
}

impl Ports {
    fn add(&mut self, owner: Option<RealmId>, id: PortId, other: PortId) {
        let port = Port {
            other,
            owner,
            is_started: false,
            waiting: VecDeque::new(),
        };
        self.all.insert(id, port);
    }

    /// Takes out those of a realm.
    pub(super) fn forget_realm(&mut self, realm: RealmId) -> Vec<VecDeque<Message>> {
        let of_realm = self.all.extract_if(|_, port| port.owner == Some(realm));
        of_realm.map(|(_, port)| port.waiting).collect()
    }
}

impl Realm {
    /// A channel whose first end is about to be sent, and whose other end lies here.
    pub(crate) fn pair_of_ports(&self) -> (PortId, PortId) {
        let ports = &mut self.state().ports;
        let (sent, kept) = (PortId(ports.last + 1), PortId(ports.last + 2));
        ports.last += 2;
        ports.add(None, sent, kept);
        ports.add(Some(self.id()), kept, sent);
        (sent, kept)
    }

    /// A port has come here.
    pub(crate) fn claim_port(&self, id: PortId) {
        if let Some(port) = self.state().ports.all.get_mut(&id) {
            port.owner = Some(self.id());
        }
    }

    /// A port that has come here is about to be sent on, with what has come to it and was not taken.
    pub(crate) fn release_port(&self, id: PortId) {
        let mut state = self.state();
        let mut waiting = VecDeque::new();
        for entry in state.inbox(self.id()) {
            if !matches!(entry, Entry::Note(Note::ToPort(to, _)) if *to == id) {
                continue;
            }
            // Replaced, not removed: the event loop has counted the entries of the inbox and has a task for each.
            if let Entry::Note(Note::ToPort(_, message)) =
                std::mem::replace(entry, Entry::Note(Note::Void))
            {
                waiting.push_back(message);
            }
        }
        if let Some(port) = state.ports.all.get_mut(&id) {
            port.owner = None;
            port.is_started = false;
            waiting.append(&mut port.waiting);
            port.waiting = waiting;
        }
    }

    /// Messages to a port may come.
    pub(crate) fn start_port(&self, id: PortId) {
        let mut state = self.state();
        let Some(port) = state.ports.all.get_mut(&id) else {
            return;
        };
        port.is_started = true;
        let waiting = std::mem::take(&mut port.waiting);
        let lost: Vec<_> = waiting
            .into_iter()
            .filter_map(|message| deliver(&mut state, self.id(), id, message))
            .collect();
        drop(state);
        drop(lost);
    }

    /// Sends a message to this port.
    pub(crate) fn send_to_port(&self, id: PortId, message: Message) {
        let mut state = self.state();
        let Some(port) = state.ports.all.get_mut(&id) else {
            return;
        };
        let lost = match port.owner {
            Some(owner) if port.is_started => deliver(&mut state, owner, id, message),
            _ => {
                port.waiting.push_back(message);
                None
            }
        };
        drop(state);
        drop(lost);
    }

    /// Sends a message through this port, to the other end.
    pub(crate) fn send_through_port(&self, id: PortId, message: Message) {
        let other = self.state().ports.all.get(&id).map(|port| port.other);
        if let Some(other) = other {
            self.send_to_port(other, message);
        }
    }

    /// The channel of a port is closed. What has come to the other end is still there.
    pub(crate) fn close_port(&self, id: PortId) {
        let mut state = self.state();
        let closed = state.ports.all.remove(&id);
        drop(state);
        drop(closed);
    }
}

/// A message goes to a realm; it comes back if that is gone.
fn deliver(state: &mut State, owner: RealmId, id: PortId, message: Message) -> Option<Message> {
    match state.push(owner, Entry::Note(Note::ToPort(id, message))) {
        Some(Entry::Note(Note::ToPort(_, message))) => Some(message),
        _ => None,
    }
}
