//! [`Group`]: the realms of one run, the first with the workers that it and they have made; and [`Realm`], one of them as its thread
//! and others see it.
//!
//! The run is quiet when all of them sleep, none with a timer, nothing has come to any, and the engine has done what it was asked for:
//! nothing can happen any more then.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::answer::Watcher;
use super::blob_urls::BlobUrls;
use super::inbox::Entry;
use super::message::Note;
use super::ports::Ports;
use super::turns::Turns;

/// The number of a realm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RealmId(u32);

impl RealmId {
    /// The realm that the others stem from.
    const FIRST: Self = Self(0);

    pub(crate) const fn of_number(number: u32) -> Self {
        Self(number)
    }

    pub(crate) const fn get(self) -> u32 {
        self.0
    }
}

/// The realms of one run.
#[derive(Default)]
pub(crate) struct Group {
    state: Mutex<State>,
    /// There is work for the thread that does the engine's steps, or it is to end.
    pub(super) wanted: Condvar,
    /// So many realms wait for the engine.
    pub(super) waiting: AtomicUsize,
}

/// What is shared. Nothing is dropped while it is locked that could call back.
#[derive(Default)]
pub(super) struct State {
    realms: BTreeMap<RealmId, Place>,
    last: u32,
    pub(super) turns: Turns,
    pub(super) ports: Ports,
    pub(super) blob_urls: BlobUrls,
}

/// A realm's place.
struct Place {
    parent: Option<RealmId>,
    /// Its origin is its own alone.
    is_opaque: bool,
    inbox: VecDeque<Entry>,
    /// By request to open: what hears of the connection that is on its way to script.
    watchers: HashMap<u32, Watcher>,
    /// Something has come, or has changed that its thread waits for.
    wake: Arc<Condvar>,
    /// Its thread waits for something to come, and for no time.
    is_asleep: bool,
    is_stopped: Arc<AtomicBool>,
}

impl Place {
    fn new(parent: Option<RealmId>, is_opaque: bool) -> Self {
        Self {
            parent,
            is_opaque,
            inbox: VecDeque::new(),
            watchers: HashMap::new(),
            wake: Arc::default(),
            is_asleep: false,
            is_stopped: Arc::default(),
        }
    }
}

impl State {
    fn place(&mut self, id: RealmId) -> Option<&mut Place> {
        self.realms.get_mut(&id)
    }

    fn set_asleep(&mut self, id: RealmId, is_asleep: bool) {
        if let Some(place) = self.place(id) {
            place.is_asleep = is_asleep;
        }
    }

    /// What has come to a realm and was not taken.
    pub(super) fn inbox(&mut self, id: RealmId) -> impl Iterator<Item = &mut Entry> {
        let place = self.realms.get_mut(&id);
        place.into_iter().flat_map(|place| place.inbox.iter_mut())
    }

    /// Puts something into a realm's inbox; it comes back if the realm is gone.
    pub(super) fn push(&mut self, id: RealmId, entry: Entry) -> Option<Entry> {
        let Some(place) = self.realms.get_mut(&id) else {
            return Some(entry);
        };
        place.inbox.push_back(entry);
        place.wake.notify_one();
        None
    }

    pub(super) fn wake(&self, id: RealmId) {
        if let Some(place) = self.realms.get(&id) {
            place.wake.notify_one();
        }
    }

    pub(super) fn wake_all(&self) {
        for place in self.realms.values() {
            place.wake.notify_one();
        }
    }

    pub(super) fn wake_of(&self, id: RealmId) -> Arc<Condvar> {
        let place = self.realms.get(&id);
        place.map_or_else(Arc::default, |place| Arc::clone(&place.wake))
    }

    /// Whether nothing can happen any more.
    fn is_quiet(&self) -> bool {
        let mut all = self.realms.values();
        self.turns.are_over() && all.all(|place| place.is_asleep && place.inbox.is_empty())
    }

    pub(super) fn wake_first_if_quiet(&self) {
        if self.is_quiet() {
            self.wake(RealmId::FIRST);
        }
    }
}

impl Group {
    /// A run with its first realm.
    pub(crate) fn begin() -> Realm {
        let group = Arc::new(Self::default());
        let place = Place::new(None, false);
        let realm = Realm {
            group: Arc::clone(&group),
            id: RealmId::FIRST,
            parent: None,
            is_stopped: Arc::clone(&place.is_stopped),
        };
        group.state().realms.insert(RealmId::FIRST, place);
        realm
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A realm of a group.
#[derive(Clone)]
pub(crate) struct Realm {
    group: Arc<Group>,
    id: RealmId,
    parent: Option<RealmId>,
    is_stopped: Arc<AtomicBool>,
}

impl Realm {
    pub(crate) const fn id(&self) -> RealmId {
        self.id
    }

    pub(crate) const fn group(&self) -> &Arc<Group> {
        &self.group
    }

    pub(super) const fn parent(&self) -> Option<RealmId> {
        self.parent
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.group.state()
    }

    /// A realm that this one is the parent of. Things can be sent to it before its thread runs.
    pub(crate) fn make_child(&self, is_opaque: bool) -> Self {
        let mut state = self.state();
        state.last += 1;
        let id = RealmId(state.last);
        let is_opaque = is_opaque || state.place(self.id).is_some_and(|place| place.is_opaque);
        let place = Place::new(Some(self.id), is_opaque);
        let is_stopped = Arc::clone(&place.is_stopped);
        state.realms.insert(id, place);
        Self {
            group: Arc::clone(&self.group),
            id,
            parent: Some(self.id),
            is_stopped,
        }
    }

    /// Whether it is the one that the others stem from.
    pub(crate) fn is_first(&self) -> bool {
        self.id == RealmId::FIRST
    }

    /// Whether it is the only one.
    pub(crate) fn is_alone(&self) -> bool {
        self.state().realms.len() == 1
    }

    /// The other realms of this one's origin.
    pub(super) fn others(&self) -> Vec<RealmId> {
        let state = self.state();
        let is_opaque = |id: &RealmId| state.realms.get(id).is_some_and(|place| place.is_opaque);
        if is_opaque(&self.id) {
            return Vec::new();
        }
        let ids = state.realms.keys().copied();
        ids.filter(|id| *id != self.id && !is_opaque(id)).collect()
    }

    /// Notifies all other realms that nothing comes any more.
    pub(crate) fn announce_that_nothing_comes(&self) {
        let mut state = self.state();
        let others: Vec<_> = state.realms.keys().copied().collect();
        for other in others.into_iter().filter(|id| *id != self.id) {
            drop(state.push(other, Entry::Note(Note::NothingComes)));
        }
    }

    pub(super) fn put(&self, id: RealmId, entry: Entry) {
        let lost = self.state().push(id, entry);
        drop(lost);
    }

    /// Takes what came first.
    pub(crate) fn take(&self) -> Option<Entry> {
        self.state().place(self.id)?.inbox.pop_front()
    }

    /// How much has come and was not taken.
    pub(crate) fn inbox_len(&self) -> usize {
        let mut state = self.state();
        state.place(self.id).map_or(0, |place| place.inbox.len())
    }

    pub(super) fn set_watcher(&self, request: u32, watcher: Watcher) {
        if let Some(place) = self.state().place(self.id) {
            place.watchers.insert(request, watcher);
        }
    }

    /// What is to hear of the connection of a request to open.
    pub(crate) fn take_watcher(&self, request: u32) -> Option<Watcher> {
        self.state().place(self.id)?.watchers.remove(&request)
    }

    /// Waits until something comes, for so long at most, or until the realm is to stop. Without a limit the first realm waits no longer
    /// than something can come: false then.
    ///
    /// Only the first realm decides that the run is quiet; another one that falls asleep wakes it to look. It looks under the lock
    /// under which messages are put into inboxes and the engine changes hands. So a message is either in an inbox already, or its
    /// sender is awake: nothing that is on its way is overlooked. A realm that waits with a limit is not asleep, since its timer is
    /// still to run.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> bool {
        let mut state = self.state();
        let wake = state.wake_of(self.id);
        if let Some(limit) = limit {
            if state.inbox(self.id).next().is_none() && !self.is_stopped() {
                drop(wake.wait_timeout(state, limit));
            }
            return true;
        }
        loop {
            if state.inbox(self.id).next().is_some() || self.is_stopped() {
                return true;
            }
            state.set_asleep(self.id, true);
            if self.id == RealmId::FIRST {
                if let Some(thrown) = state.turns.take_thrown() {
                    drop(state);
                    resume_unwind(thrown);
                }
                if state.is_quiet() {
                    state.set_asleep(self.id, false);
                    return false;
                }
            } else {
                state.wake_first_if_quiet();
            }
            state = wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.set_asleep(self.id, false);
        }
    }

    /// Whether its scripts are to end at once.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Ends a realm's scripts, and those of the realms that it has made.
    pub(crate) fn stop(&self, id: RealmId) {
        let state = self.state();
        let mut stopped = vec![id];
        while let Some(id) = stopped.pop() {
            if let Some(place) = state.realms.get(&id) {
                place.is_stopped.store(true, Ordering::Relaxed);
                place.wake.notify_one();
            }
            let children = state.realms.iter();
            let children = children.filter(|(_, place)| place.parent == Some(id));
            stopped.extend(children.map(|(id, _)| *id));
        }
    }

    /// The realm is gone: nothing comes to it any more. `thrown` is what has ended its thread out of turn.
    pub(crate) fn end(&self, thrown: Option<Box<dyn Any + Send>>) {
        let mut state = self.state();
        let place = state.realms.remove(&self.id);
        let blobs = state.blob_urls.forget_realm(self.id);
        let ports = state.ports.forget_realm(self.id);
        if let Some(thrown) = thrown {
            state.turns.keep_thrown(thrown);
            state.wake(RealmId::FIRST);
        }
        let lost = self
            .parent
            .and_then(|parent| state.push(parent, Entry::Note(Note::Ended(self.id))));
        state.wake_first_if_quiet();
        drop(state);
        drop((place, blobs, ports, lost));
    }
}
