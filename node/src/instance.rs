//! [`Instance`]: what an environment, a thread with JavaScript, has of the engine.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use larder_codec::Origin;
use larder_idb::{
    Connection, DeleteRequest, Error, ErrorName, Factory, OpenRequest, PrivateSession, Result,
};

use crate::answers::List;
use crate::calls;
use crate::handles::{Handle, Handles, gone};
use crate::inbox::{Arrival, Inbox, Wake, Watch};
use crate::queues::{Queues, Settled};
use crate::sources::Source;
use crate::storages;
use crate::wire::{BODY, Reply};

/// The answer does not fit the memory; the first word of the head says how many bytes it takes.
const TOO_SMALL: i32 = -2;
/// The answer is an exception: its name and message.
const FAILED: i32 = -1;

/// One environment's.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) inbox: Inbox,
    /// By number, which is not used again: of one that has been closed something may still come.
    pub(crate) engines: HashMap<u32, Engine>,
    last_engine: u32,
    /// Those that are to be closed when their transactions have ended, and the requests that are answered then.
    pub(crate) closing: HashMap<u32, (Engine, u32)>,
    pub(crate) handles: Handles,
    pub(crate) queues: Queues,
    /// By number of the connection's handle, until script watches it.
    pub(crate) watches: HashMap<u32, Watch>,
    /// By engine and number of script's: databases that are being opened and deleted; dropped, they would not be.
    pub(crate) opening: HashMap<(u32, u32), Opening>,
    pub(crate) deleting: HashMap<(u32, u32), DeleteRequest>,
    /// Blobs that script has not given the bytes of yet, by its own number.
    pub(crate) sources: HashMap<usize, Arc<Source>>,
    /// A request to open whose upgrade's end has been answered, and whose own is about to come. Nothing is answered before that.
    pub(crate) awaited: Option<(u32, u32)>,
    /// What has come, and comes before what is in the inbox.
    pub(crate) deferred: VecDeque<Arrival>,
    /// The queue for which something has come.
    pub(crate) first: Option<u32>,
    /// An answer that did not fit the memory.
    pub(crate) kept: Option<Settled>,
    /// Records of which script has not got all.
    pub(crate) list: Option<List>,
}

/// A database that is being opened.
#[derive(Debug)]
pub(crate) struct Opening {
    /// Dropped, it would be aborted.
    pub(crate) _request: OpenRequest,
    pub(crate) watch: PendingWatch,
    /// The queue of its upgrade.
    pub(crate) upgrade: Option<u32>,
    /// Its end, if that has come before the end of the upgrade was answered.
    pub(crate) end: Option<Result<Connection>>,
}

/// The watch of the connection that a request to open has got, once there is one.
pub(crate) type PendingWatch = Arc<std::sync::Mutex<Option<Watch>>>;

/// What one factory of script's works on.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) factory: Factory,
    pub(crate) place: Place,
    pub(crate) storage: Arc<storages::Shared>,
}

/// Where its databases are.
#[derive(Debug)]
pub(crate) enum Place {
    Folder(Origin),
    Memory(PrivateSession, Origin),
}

impl Instance {
    pub(crate) fn new(wake: Wake) -> Self {
        Self {
            inbox: Inbox::new(wake),
            engines: HashMap::new(),
            last_engine: 0,
            closing: HashMap::new(),
            handles: Handles::default(),
            queues: Queues::default(),
            watches: HashMap::new(),
            opening: HashMap::new(),
            deleting: HashMap::new(),
            sources: HashMap::new(),
            awaited: None,
            deferred: VecDeque::new(),
            first: None,
            kept: None,
            list: None,
        }
    }

    /// Does what is asked in the memory, and answers there. The result is a number of the answer's, or negative: see `js/engine/wire.js`.
    pub(crate) fn exchange(&mut self, memory: &mut [u8]) -> i32 {
        let answered = calls::call(self, memory);
        match answered {
            Ok(calls::Answered::Number(number)) => number,
            Ok(calls::Answered::TooSmall(needed)) => {
                Reply::into_memory(memory).set(0, u32::try_from(needed).unwrap_or(u32::MAX));
                TOO_SMALL
            }
            Err(error) => {
                let mut reply = Reply::into_memory(memory);
                reply.text(error.name().as_str());
                reply.text(error.message());
                // A name that is as long as the memory may stand in the message.
                if !reply.fits() {
                    reply.cut(BODY);
                    reply.text(error.name().as_str());
                    reply.text("");
                }
                FAILED
            }
        }
    }

    pub(crate) fn engine(&self, number: u32) -> Result<&Engine> {
        self.engines.get(&number).ok_or_else(closed)
    }

    fn add_engine(&mut self, engine: Engine) -> u32 {
        self.last_engine += 1;
        self.engines.insert(self.last_engine, engine);
        self.last_engine
    }

    /// Makes an engine of a folder.
    pub(crate) fn open_folder(&mut self, folder: &str, origin: &str) -> Result<u32> {
        let origin = Origin::from_url(origin)
            .map_err(|error| Error::new(ErrorName::TypeError, error.to_string()))?;
        let storage = storages::in_folder(folder)?;
        let factory = storage.storage.factory(&origin);
        Ok(self.add_engine(Engine {
            factory,
            place: Place::Folder(origin),
            storage,
        }))
    }

    /// Makes an engine in memory.
    pub(crate) fn open_memory(&mut self) -> Result<u32> {
        let storage = storages::in_memory()?;
        let origin = Origin::from_url("https://memory.invalid")
            .map_err(|error| Error::new(ErrorName::UnknownError, error.to_string()))?;
        let session = storage.storage.private_session();
        let factory = session.factory(&origin);
        Ok(self.add_engine(Engine {
            factory,
            place: Place::Memory(session, origin),
            storage,
        }))
    }

    /// The connections of an engine.
    pub(crate) fn connections_of(&self, engine: u32) -> impl Iterator<Item = &Connection> {
        self.handles
            .all
            .iter()
            .filter_map(move |(_, handle)| match handle {
                Handle::Connection(connection, of) if *of == engine => Some(connection),
                _ => None,
            })
    }

    /// Script is about to get the connection of a request to open.
    pub(crate) fn expect_watch(&mut self, connection: u32, opening: (u32, u32)) {
        let watch = self.opening.get(&opening).and_then(|opening| {
            opening
                .watch
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .take()
        });
        self.watches.extend(watch.map(|watch| (connection, watch)));
    }

    /// From now on script hears what happens to a connection.
    pub(crate) fn watch(&mut self, connection: u32, number: u32) -> Result<()> {
        let watch = self.watches.remove(&connection);
        match watch.is_some_and(|watch| watch.set(number).is_ok()) {
            true => Ok(()),
            false => Err(gone()),
        }
    }
}

/// The factory has been closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorName::InvalidStateError, "the storage has been closed")
}
