//! Both sides of a run: the model, and what the crate handed out, by the model's numbers.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use larder_idb::{
    Connection, ConnectionEvent, Cursor, DeleteRequest, Events, Executor, Factory, FixedClock,
    Index, ObjectStore, OpenRequest, Origin, Request, Scheduling, Storage, StorageOptions,
    Transaction,
};

use super::Verdict;
use super::adapter::{Log, Pending};
use super::files::Files;
use super::host_loop::HostLoop;
use crate::naive::{self, Exception, Outcome, State, World};
use crate::program::Pick;

/// What executes steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Host {
    /// The program itself, between its actions.
    Driven(Option<u64>),
    /// A loop on a thread of its own, which sleeps while there is nothing to do.
    Loop(Option<u64>),
    Threads,
}

/// How the storage is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) host: Host,
    /// Whether writers wait for no readers.
    pub(crate) has_snapshots: bool,
    /// Whether memory is so short that transactions spill and tables are written all the time.
    pub(crate) is_small: bool,
    /// Whether two thirds of the values are another engine's.
    pub(crate) has_foreign: bool,
}

impl From<Host> for Setup {
    fn from(host: Host) -> Self {
        Self {
            host,
            has_snapshots: false,
            is_small: false,
            has_foreign: false,
        }
    }
}

impl Setup {
    pub(super) fn is_driven(self) -> bool {
        matches!(self.host, Host::Driven(_))
    }

    /// Whether a request that is waited for must be executed without the help of the thread that waits.
    pub(super) fn has_loop(self) -> bool {
        matches!(self.host, Host::Loop(_))
    }
}

pub(crate) enum RealOpen {
    Open(OpenRequest),
    Delete(DeleteRequest),
}

pub(crate) struct RealOpenRequest {
    pub(super) request: RealOpen,
    pub(super) log: Vec<naive::OpenEvent>,
    /// Whether it had to wait for another request. Then a connection may get the event of this request before the host has taken
    /// the connection out of the other request's last event. In that case the event has no listener, and this request is blocked.
    pub(super) was_queued: bool,
}

impl RealOpenRequest {
    /// Whether as much has happened as in the model.
    pub(super) fn agrees(&self, model: &[naive::OpenEvent]) -> bool {
        let is_telling = |event: &&naive::OpenEvent| {
            !(self.was_queued && matches!(event, naive::OpenEvent::Blocked { .. }))
        };
        let real = self.log.iter().filter(is_telling);
        real.eq(model.iter().filter(is_telling))
    }
}

pub(crate) struct RealConnection {
    /// `None` once it was dropped.
    pub(super) connection: Option<Connection>,
    pub(super) events: Events<ConnectionEvent>,
    pub(super) log: Vec<naive::ConnectionEvent>,
}

pub(crate) struct RealTransaction {
    /// `None` once it was dropped.
    pub(super) transaction: Option<Transaction>,
    pub(super) finished: Option<Request<()>>,
    /// The result of `finished`.
    pub(super) outcome: Option<Result<(), Exception>>,
}

pub(crate) enum RealRequest {
    Waiting(Pending),
    Watched,
    Dropped,
    Seen(Outcome),
}

/// A request of the crate with what is known of it.
pub(crate) struct Asked {
    pub(super) real: RealRequest,
    /// It was done before its transaction could be aborted: the result is the model's.
    pub(super) is_pinned: bool,
}

/// How far commits have come when an image of the files is taken in the middle: counts of [`World::history`].
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// Those that were asked for.
    pub(crate) begun: AtomicUsize,
    /// Those that were acknowledged.
    pub(crate) acknowledged: AtomicUsize,
    /// Those up to the last one that was acknowledged and asked for durability.
    pub(crate) strict: AtomicUsize,
    /// Whether ever more than one was under way: in two databases, so that either may be the first.
    pub(crate) is_concurrent: AtomicBool,
}

pub(crate) struct Runner {
    /// The action under way, for code that watches over a run.
    pub(crate) at: Arc<AtomicUsize>,
    pub(super) setup: Setup,
    pub(super) world: World,
    pub(super) files: Files,
    /// If a crash may come: every commit is brought to its end before the next begins.
    pub(super) commits: Option<Arc<Commits>>,
    pub(super) storage: Storage,
    /// The loop that runs its steps, if there is one.
    pub(super) host_loop: Option<HostLoop>,
    pub(super) factory: Factory,
    pub(super) opens: Vec<RealOpenRequest>,
    pub(super) connections: Vec<Option<RealConnection>>,
    pub(super) transactions: Vec<Option<RealTransaction>>,
    pub(super) requests: Vec<Asked>,
    pub(super) log: Log,
    pub(super) logged: usize,
    pub(super) handles: Vec<(naive::Handle, Option<ObjectStore>)>,
    pub(super) indexes: Vec<(naive::IndexHandle, Option<Index>)>,
    /// By the model's number: the request under way, and the cursor.
    pub(super) cursors: Vec<(usize, Option<Cursor>)>,
}

/// What programs have come to, and how often: so that one can see that they come to everything.
static REACHED: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

pub(super) fn reach(what: &[&str]) {
    let mut reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
    *reached.entry(what.join(" ")).or_default() += 1;
}

pub(crate) fn reached() -> BTreeMap<String, u64> {
    REACHED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// A storage on these files.
pub(crate) fn storage(files: &Files, setup: Setup) -> Verdict<(Storage, Option<HostLoop>)> {
    let clock = Arc::new(FixedClock::default());
    let mut options = StorageOptions::new(Arc::clone(&files.fs), &files.folder, clock);
    options.new_store_form = files.form;
    // The model compares bytes.
    options.raise_data_version = larder_idb::RaiseDataVersion::WhenNeeded;
    options.executor = match setup.host {
        Host::Driven(seed) | Host::Loop(seed) => Executor::Driven { seed },
        Host::Threads => Executor::Threads(NonZeroUsize::MIN.saturating_add(1)),
    };
    if setup.has_snapshots {
        options.scheduling = Scheduling::SnapshotReaders;
    }
    if setup.is_small {
        (options.write_buffer_bytes, options.transaction_memory_bytes) = (4096, 300);
    }
    if setup.has_loop() {
        let (storage, host_loop) = HostLoop::start(options)?;
        return Ok((storage, Some(host_loop)));
    }
    let storage = Storage::new(options).map_err(|error| format!("no storage: {error}"))?;
    Ok((storage, None))
}

pub(crate) fn factory(storage: &Storage) -> Factory {
    storage.factory(&Origin::from_url("https://example.com").unwrap())
}

impl Runner {
    pub(crate) fn new(
        setup: impl Into<Setup>,
        files: Files,
        commits: Option<Arc<Commits>>,
    ) -> Verdict<Self> {
        let setup = setup.into();
        let (storage, host_loop) = storage(&files, setup)?;
        let factory = factory(&storage);
        Ok(Self {
            setup,
            // When a request fails depends on when its transaction may start; callbacks see it as soon as that.
            world: World {
                watches_nothing: setup.has_snapshots,
                ..World::default()
            },
            files,
            at: Arc::default(),
            commits,
            storage,
            host_loop,
            factory,
            opens: Vec::new(),
            connections: Vec::new(),
            transactions: Vec::new(),
            requests: Vec::new(),
            log: Log::default(),
            logged: 0,
            handles: Vec::new(),
            indexes: Vec::new(),
            cursors: Vec::new(),
        })
    }

    /// What remains of a run that has ended.
    pub(super) fn into_world(self) -> Verdict<World> {
        let closed = self.storage.clone().close();
        closed.map_err(|error| format!("the storage does not close: {error}"))?;
        Ok(self.world)
    }

    pub(super) fn has_queued_opens(&self) -> bool {
        self.world.queues.values().any(|queue| !queue.is_empty())
    }

    /// One of so many things: mostly of those that live.
    pub(super) fn pick(pick: Pick, count: usize, is_live: impl Fn(usize) -> bool) -> Option<usize> {
        let live: Vec<usize> = (0..count).filter(|id| is_live(*id)).collect();
        if live.is_empty() && pick.0 < 220 {
            return None;
        }
        let among = match live.is_empty() || pick.0 >= 250 {
            true => (0..count).collect(),
            false => live,
        };
        among.get(usize::from(pick.0) % among.len().max(1)).copied()
    }

    /// A transaction that the crate has handed out.
    pub(super) fn pick_transaction(&self, pick: Pick) -> Option<usize> {
        let is_here = |id: usize| self.transactions.get(id).is_some_and(Option::is_some);
        let is_live = |id: usize| is_here(id) && self.world.transactions[id].state == State::Active;
        let id = Self::pick(pick, self.transactions.len(), is_live)?;
        let here = self.transactions.get(id)?.as_ref()?;
        here.transaction.is_some().then_some(id)
    }

    pub(super) fn pick_connection(&self, pick: Pick) -> Option<usize> {
        let is_live =
            |id: usize| self.connections[id].is_some() && !self.world.connections[id].close_pending;
        let id = Self::pick(pick, self.connections.len(), is_live)?;
        let here = self.connections[id].as_ref()?;
        here.connection.is_some().then_some(id)
    }

    /// Both sides' answers to a call agree: both refuse with the same exception, or neither.
    pub(super) fn agree<M, R>(
        model: Result<M, Exception>,
        real: larder_idb::Result<R>,
    ) -> Verdict<Option<(M, R)>> {
        if let Err(exception) = &model {
            reach(&["refused", exception]);
        }
        match (model, real) {
            (Ok(model), Ok(real)) => Ok(Some((model, real))),
            (Err(model), Err(real)) if model == real.name().as_str() => Ok(None),
            (Ok(_), Err(real)) => Err(format!("should be done, but {real}")),
            (Err(model), Ok(_)) => Err(format!("should be refused with {model}")),
            (Err(model), Err(real)) => Err(format!("should be refused with {model}, not {real}")),
        }
    }
}
