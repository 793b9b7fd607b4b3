//! A transaction, as the client's side of it.

use crate::cluster::{Cluster, Keys, Mutation, Request, State as ClusterState, now};
use crate::errors::{self, Code};
use crate::fate::{Deed, Fate, Reply};
use crate::future::{Future, Handle as FutureHandle, Value};
use crate::network;
use crate::orders;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// FoundationDB's limits, in bytes.
const KEY_LEN_MAX: usize = 10_000;
const VALUE_LEN_MAX: usize = 100_000;
const TRANSACTION_LEN_MAX: usize = 10_000_000;

/// What of a transaction changes.
#[derive(Default)]
struct State {
    request: Request,
    /// What was wrong with a change, which its commit reports.
    deferred: Code,
    /// Why nothing of it is answered any more.
    over: Code,
    deadline: Option<Instant>,
    /// What has no answer yet.
    open: Vec<Weak<Future>>,
    committed: i64,
}

impl State {
    fn of(fault: Code) -> State {
        State {
            over: fault,
            ..State::default()
        }
    }

    /// Whether its time is over, from here on.
    fn look_at_the_time(&mut self) {
        if self.over == 0 && self.deadline.is_some_and(|deadline| deadline <= now()) {
            self.over = errors::TRANSACTION_TIMED_OUT;
        }
    }
}

/// A transaction.
pub(crate) struct Transaction {
    cluster: Arc<Cluster>,
    /// Why there is no such cluster; 0: there is.
    fault: Code,
    began: Instant,
    state: Mutex<State>,
}

/// `FDBTransaction`, as the client has it.
pub(crate) struct Handle(pub(crate) Arc<Transaction>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.end(errors::TRANSACTION_CANCELLED);
    }
}

/// What a commit came to; `None`: there is no answer.
type Answer = Option<Result<i64, Code>>;

impl Transaction {
    /// A transaction of a cluster, or of one that cannot be had for a reason, which answers each request.
    pub(crate) fn new(cluster: Result<Arc<Cluster>, Code>) -> Arc<Transaction> {
        let (cluster, fault) = match cluster {
            Ok(cluster) => (cluster, 0),
            Err(code) => (Cluster::nowhere(), code),
        };
        Arc::new(Transaction {
            cluster,
            fault,
            began: now(),
            state: Mutex::new(State::of(fault)),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all that has no answer, and all that is asked from here on.
    pub(crate) fn end(&self, code: Code) {
        let open = {
            let mut state = self.state();
            state.over = code;
            std::mem::take(&mut state.open)
        };
        for future in open.iter().filter_map(Weak::upgrade) {
            future.complete(Err(code));
        }
    }

    /// As it was when it was made.
    pub(crate) fn reset(&self) {
        self.end(errors::TRANSACTION_CANCELLED);
        *self.state() = State::of(self.fault);
    }

    pub(crate) fn set_time_max(&self, time: Option<Duration>) {
        self.state().deadline = time.map(|time| self.began + time);
    }

    pub(crate) fn set_read_version(&self, version: i64) {
        let mut state = self.state();
        match state.request.version {
            Some(_) => state.over = errors::READ_VERSION_ALREADY_SET,
            None if version <= 0 => state.over = errors::VERSION_INVALID,
            None => state.request.version = Some(version),
        }
    }

    pub(crate) fn committed_version(&self) -> i64 {
        self.state().committed
    }

    /// Reads, on the network thread.
    pub(crate) fn read(
        self: &Arc<Transaction>,
        read: impl FnOnce(&mut Request, &mut ClusterState) -> Result<Value, Code> + Send + 'static,
    ) -> Box<FutureHandle> {
        let (future, handle) = Future::new();
        let own = Arc::clone(self);
        let task = move || {
            if let Some(result) = own.answer_read(&future, read) {
                future.complete(result);
            }
        };
        let slow = self.cluster.state().orders.slow;
        match slow {
            None => network::add(task),
            Some(time) => network::add_later(now() + time, task),
        }
        handle
    }

    fn answer_read(
        self: &Arc<Transaction>,
        future: &Arc<Future>,
        read: impl FnOnce(&mut Request, &mut ClusterState) -> Result<Value, Code>,
    ) -> Option<Result<Value, Code>> {
        let mut state = self.state();
        let mut cluster = self.cluster.state();
        state.look_at_the_time();
        match state.over {
            0 => {}
            code => return Some(Err(code)),
        }
        if cluster.orders.is_silent {
            self.leave_open(&mut state, future);
            return None;
        }
        // What a transaction has written itself is not read here.
        if !state.request.mutations.is_empty() {
            return Some(Err(errors::CLIENT_INVALID_OPERATION));
        }
        match cluster.orders.of_read() {
            0 => Some(read(&mut state.request, &mut cluster)),
            code => Some(Err(code)),
        }
    }

    /// There is no answer, until its time is over.
    fn leave_open(self: &Arc<Transaction>, state: &mut State, future: &Arc<Future>) {
        state.open.push(Arc::downgrade(future));
        let Some(deadline) = state.deadline else {
            return;
        };
        let own = Arc::downgrade(self);
        network::add_later(deadline, move || {
            if let Some(own) = own.upgrade() {
                own.end(errors::TRANSACTION_TIMED_OUT);
            }
        });
    }

    /// Adds what was read to what a commit compares.
    pub(crate) fn note_read(request: &mut Request, keys: Keys) {
        request.read.push(keys);
    }

    /// Lets the commit report an error, the first one.
    pub(crate) fn refuse(&self, code: Code) {
        let mut state = self.state();
        if state.deferred == 0 {
            state.deferred = code;
        }
    }

    /// Adds a change.
    pub(crate) fn change(&self, mutation: Mutation) {
        let (keys, fault) = match &mutation {
            Mutation::Set(key, value) => (single(key), fault_of_set(key, value)),
            Mutation::Clear(keys) => (keys.clone(), fault_of_clear(keys)),
        };
        if fault != 0 {
            return self.refuse(fault);
        }
        let mut state = self.state();
        state.request.written.push(keys);
        state.request.mutations.push(mutation);
    }

    /// Adds a range to what a commit compares, or to what others compare with.
    pub(crate) fn add_conflict(&self, keys: Keys, is_write: bool) {
        let mut state = self.state();
        match is_write {
            true => state.request.written.push(keys),
            false => state.request.read.push(keys),
        }
    }

    /// Sends it to the cluster.
    pub(crate) fn commit(self: &Arc<Transaction>) -> Box<FutureHandle> {
        let (future, handle) = Future::new();
        let own = Arc::clone(self);
        network::add(move || {
            if let Some(result) = own.answer_commit(&future) {
                future.complete(result.map(|_| Value::Nothing));
            }
        });
        handle
    }

    fn answer_commit(self: &Arc<Transaction>, future: &Arc<Future>) -> Answer {
        let mut state = self.state();
        state.look_at_the_time();
        for code in [state.over, state.deferred] {
            if code != 0 {
                return Some(Err(code));
            }
        }
        let mut cluster = self.cluster.state();
        if let Some(done) = carry_out(&state.request, &mut cluster) {
            return Some(done);
        }
        if len(&state.request) > TRANSACTION_LEN_MAX {
            return Some(Err(errors::TRANSACTION_TOO_LARGE));
        }
        // What only reads has been of one version: nothing is sent.
        if state.request.written.is_empty() {
            state.committed = -1;
            return Some(Ok(-1));
        }
        let answer = match cluster.orders.is_silent {
            true => None,
            false => {
                let fate = cluster.orders.of_commit();
                self.meet(fate, &state.request, &mut cluster)
            }
        };
        match answer {
            Some(Ok(version)) => state.committed = version,
            Some(Err(_)) => {}
            None => self.leave_open(&mut state, future),
        }
        answer
    }

    /// What a commit comes to, by its fate.
    fn meet(&self, fate: Fate, request: &Request, cluster: &mut ClusterState) -> Answer {
        let truth = match fate.deed {
            Deed::Decided => cluster.commit(request),
            Deed::Lost => Err(errors::COMMIT_UNKNOWN_RESULT),
            Deed::Later(time) => {
                let (place, request) = (Arc::clone(&self.cluster), request.clone());
                network::add_later(now() + time, move || {
                    // Nothing waits for what becomes of it.
                    place.state().commit(&request).ok();
                });
                Err(errors::COMMIT_UNKNOWN_RESULT)
            }
            Deed::Held => {
                cluster.orders.held.push(request.clone());
                Err(errors::COMMIT_UNKNOWN_RESULT)
            }
        };
        match fate.reply {
            Reply::Truth => Some(truth),
            Reply::Error(code) => Some(Err(code)),
            Reply::None => None,
        }
    }
}

/// The range of one key.
pub(crate) fn single(key: &[u8]) -> Keys {
    key.to_vec()..[key, &[0]].concat()
}

/// What is wrong with a key that is read or written; 0: nothing.
pub(crate) fn fault_of_key(key: &[u8]) -> Code {
    match key {
        _ if key.starts_with(orders::PREFIX) => 0,
        _ if key.len() > KEY_LEN_MAX => errors::KEY_TOO_LARGE,
        _ if key.first() == Some(&0xff) => errors::KEY_OUTSIDE_LEGAL_RANGE,
        _ => 0,
    }
}

fn fault_of_set(key: &[u8], value: &[u8]) -> Code {
    match fault_of_key(key) {
        0 if value.len() > VALUE_LEN_MAX => errors::VALUE_TOO_LARGE,
        code => code,
    }
}

/// What is wrong with a range; 0: nothing. Its end may be the one of all keys.
pub(crate) fn fault_of_range(keys: &Keys) -> Code {
    match keys.end.as_slice() {
        [0xff] => fault_of_key(&keys.start),
        end => fault_of_key(&keys.start).max(fault_of_key(end)),
    }
}

fn fault_of_clear(keys: &Keys) -> Code {
    match keys.start > keys.end {
        true => errors::INVERTED_RANGE,
        false => fault_of_range(keys),
    }
}

/// Carries out a test's orders, if the request is that.
fn carry_out(request: &Request, cluster: &mut ClusterState) -> Answer {
    let is_order = |mutation: &Mutation| match mutation {
        Mutation::Set(key, _) => key.starts_with(orders::PREFIX),
        Mutation::Clear(_) => false,
    };
    if !request.mutations.iter().any(is_order) {
        return None;
    }
    for mutation in &request.mutations {
        let older = match mutation {
            Mutation::Set(key, value) => cluster.orders.carry_out(key, value),
            Mutation::Clear(_) => None,
        };
        match older {
            Some(time) => cluster.age(time),
            None => return Some(Err(errors::CLIENT_INVALID_OPERATION)),
        }
    }
    for request in std::mem::take(&mut cluster.orders.released) {
        // Nothing waits for what becomes of it.
        cluster.commit(&request).ok();
    }
    Some(Ok(0))
}

/// Bytes of a request, as FoundationDB counts them: changes, and the keys of what is compared.
fn len(request: &Request) -> usize {
    let mutations = request.mutations.iter().map(|mutation| match mutation {
        Mutation::Set(key, value) => key.len() + value.len(),
        Mutation::Clear(keys) => keys.start.len() + keys.end.len(),
    });
    let compared = request.read.iter().chain(&request.written);
    let compared = compared.map(|keys| keys.start.len() + keys.end.len());
    mutations.sum::<usize>() + compared.sum::<usize>()
}
