//! Letting the crate catch up with the model, and comparing: events, ends of transactions, results.

use std::sync::atomic::Ordering;
use std::thread;

use larder_idb::{ConnectionEvent, DeleteEvent, OpenEvent};

use super::Verdict;
use super::adapter::Log;
use super::state::{Asked, RealConnection, RealOpen, RealRequest, RealTransaction, Runner, reach};
use crate::naive::{self, Exception, Outcome, State};

impl Runner {
    /// A few steps of the crate where the host drives.
    pub(super) fn steps(&mut self, steps: usize) {
        self.tell_begun();
        for _ in 0..steps {
            if self.setup.is_driven() {
                self.storage.run_one();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Waits until the loop has brought that about, if there is one: it gets no help.
    pub(super) fn let_loop(&self, is_done: impl Fn() -> bool) {
        while self.setup.has_loop() && !is_done() {
            thread::yield_now();
        }
    }

    /// Until the crate has come as far as the model: then all events are the same.
    pub(super) fn settle(&mut self) -> Verdict {
        self.tell_begun();
        loop {
            if self.setup.is_driven() {
                self.storage.run_until_idle();
            }
            let is_moving = self.take_events()?;
            self.wait_for_ends()?;
            if is_moving {
                continue;
            }
            if self.setup.is_driven() || !self.is_behind() {
                break;
            }
            thread::yield_now();
        }
        self.compare_events()?;
        self.take_log()?;
        if self.setup.is_driven() {
            self.pin_requests()?;
        }
        self.tell_acknowledged();
        self.compare_connections()
    }

    fn tell_begun(&self) {
        if let Some(commits) = &self.commits {
            let acknowledged = commits.acknowledged.load(Ordering::SeqCst);
            if self.world.history.len() > acknowledged + 1 {
                commits.is_concurrent.store(true, Ordering::SeqCst);
            }
            commits
                .begun
                .store(self.world.history.len(), Ordering::SeqCst);
        }
    }

    fn tell_acknowledged(&self) {
        if let Some(commits) = &self.commits {
            let strict = self
                .world
                .history
                .iter()
                .rposition(|committed| committed.is_strict);
            let strict = strict.map_or(0, |at| at + 1);
            commits.strict.store(strict, Ordering::SeqCst);
            commits
                .acknowledged
                .store(self.world.history.len(), Ordering::SeqCst);
        }
    }

    /// Whether events are still to come.
    fn is_behind(&self) -> bool {
        let opens = (self.opens.iter().zip(&self.world.opens)).any(|(real, model)| {
            !real.agrees(&model.events) && real.log.len() <= model.events.len()
        });
        let mut connections = self.connections.iter().zip(&self.world.connections);
        opens
            || connections.any(|(real, model)| {
                real.as_ref()
                    .is_some_and(|real| real.log.len() < model.events.len())
            })
    }

    /// Takes what has happened, as a page would: polite ones close their connection. Whether there was anything.
    fn take_events(&mut self) -> Verdict<bool> {
        let mut is_moving = false;
        for id in 0..self.connections.len() {
            while let Some(event) = self.connections[id]
                .as_mut()
                .and_then(|c| c.events.try_next())
            {
                is_moving = true;
                self.connection_event(id, event);
            }
        }
        for id in 0..self.opens.len() {
            loop {
                let event = match &self.opens[id].request {
                    RealOpen::Open(request) => match request.events().try_next() {
                        Some(event) => self.open_event(id, event)?,
                        None => break,
                    },
                    RealOpen::Delete(request) => match request.events().try_next() {
                        Some(DeleteEvent::Blocked { old_version }) => naive::OpenEvent::Blocked {
                            old: old_version,
                            new: None,
                        },
                        Some(DeleteEvent::Done(result)) => {
                            naive::OpenEvent::Done(result.map_err(|error| error.name().as_str()))
                        }
                        None => break,
                    },
                };
                is_moving = true;
                self.opens[id].log.push(event);
            }
        }
        Ok(is_moving)
    }

    fn connection_event(&mut self, id: usize, event: ConnectionEvent) {
        let Some(real) = &mut self.connections[id] else {
            return;
        };
        match event {
            ConnectionEvent::VersionChange(change) => {
                real.log.push(naive::ConnectionEvent::VersionChange {
                    old: change.old_version(),
                    new: change.new_version(),
                });
                if self.world.connections[id].polite
                    && let Some(connection) = &real.connection
                {
                    connection.close();
                }
                drop(change);
            }
            ConnectionEvent::Close => real.log.push(naive::ConnectionEvent::Close),
        }
    }

    /// The event in the model's terms; its transaction and connection are kept.
    fn open_event(&mut self, id: usize, event: OpenEvent) -> Verdict<naive::OpenEvent> {
        let model = &self.world.opens[id];
        Ok(match event {
            OpenEvent::Blocked {
                old_version,
                new_version,
            } => naive::OpenEvent::Blocked {
                old: old_version,
                new: Some(new_version),
            },
            OpenEvent::UpgradeNeeded(upgrade) => {
                let transaction = model.events.iter().find_map(|event| match event {
                    naive::OpenEvent::UpgradeNeeded { transaction, .. } => Some(*transaction),
                    _ => None,
                });
                let transaction = transaction.ok_or("no upgrade is due")?;
                let (connection, old, new) =
                    (model.connection, upgrade.old_version, upgrade.new_version);
                self.keep_connection(connection, upgrade.connection.clone());
                self.keep_transaction(transaction, upgrade.transaction.clone());
                naive::OpenEvent::UpgradeNeeded {
                    transaction,
                    old,
                    new,
                }
            }
            OpenEvent::Done(Ok(connection)) => {
                let version = connection.version();
                self.keep_connection(model.connection, connection);
                naive::OpenEvent::Done(Ok(version))
            }
            OpenEvent::Done(Err(error)) => naive::OpenEvent::Done(Err(error.name().as_str())),
        })
    }

    fn keep_connection(&mut self, id: Option<usize>, connection: larder_idb::Connection) {
        let Some(id) = id else { return };
        while self.connections.len() <= id {
            self.connections.push(None);
        }
        self.connections[id].get_or_insert_with(|| RealConnection {
            events: connection.events(),
            connection: Some(connection),
            log: Vec::new(),
        });
    }

    pub(super) fn keep_transaction(&mut self, id: usize, transaction: larder_idb::Transaction) {
        while self.transactions.len() <= id {
            self.transactions.push(None);
        }
        self.transactions[id] = Some(RealTransaction {
            finished: Some(transaction.finished()),
            transaction: Some(transaction),
            outcome: None,
        });
    }

    /// Waits for the ends of the transactions that have ended in the model.
    fn wait_for_ends(&mut self) -> Verdict {
        for id in 0..self.transactions.len() {
            let Some(real) = &mut self.transactions[id] else {
                continue;
            };
            let Some(expected) = self.world.transactions[id].outcome else {
                continue;
            };
            if let Some(finished) = real.finished.take() {
                self.let_loop(|| finished.is_done());
                let Some(real) = &mut self.transactions[id] else {
                    continue;
                };
                let outcome: Result<(), Exception> =
                    finished.wait().map_err(|error| error.name().as_str());
                real.outcome = Some(outcome);
                reach(&["transaction ends", expected.err().unwrap_or("committed")]);
                if outcome != expected {
                    return Err(format!(
                        "transaction {id} ends {outcome:?}, not {expected:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn compare_events(&self) -> Verdict {
        for (id, (real, model)) in self.opens.iter().zip(&self.world.opens).enumerate() {
            for event in &model.events {
                reach(&["event", event.name()]);
            }
            if !real.agrees(&model.events) {
                let (log, events) = (&real.log, &model.events);
                return Err(format!("open request {id}: {log:?}, not {events:?}"));
            }
        }
        for (id, model) in self.world.connections.iter().enumerate() {
            let Some(Some(real)) = self.connections.get(id) else {
                continue;
            };
            for event in &model.events {
                reach(&["event", event.name()]);
            }
            // One that has no transactions left and is about to be closed may be closed by force just before.
            let is_forced = !self.setup.is_driven()
                && model.closed
                && real.log.strip_suffix(&[naive::ConnectionEvent::Close])
                    == Some(&model.events[..]);
            if real.log != model.events && !is_forced {
                return Err(format!(
                    "connection {id}: {:?}, not {:?}",
                    real.log, model.events
                ));
            }
        }
        Ok(())
    }

    fn compare_connections(&self) -> Verdict {
        for (id, model) in self.world.connections.iter().enumerate() {
            let Some(Some(real)) = self.connections.get(id) else {
                continue;
            };
            let Some(connection) = &real.connection else {
                continue;
            };
            let names: Vec<Vec<u16>> = (connection.object_store_names().into_iter())
                .map(|name| name.into_units())
                .collect();
            if connection.version() != model.version || names != model.names {
                let version = connection.version();
                return Err(format!(
                    "connection {id} has version {version} and stores {names:?}, not {} and {:?}",
                    model.version, model.names
                ));
            }
            if connection.is_close_pending() != model.close_pending {
                return Err(format!("connection {id}: close pending"));
            }
        }
        Ok(())
    }

    /// Takes results of watched requests. Those of one transaction come in order.
    pub(super) fn take_log(&mut self) -> Verdict {
        let log = Log::clone(&self.log);
        let entries = {
            let log = log.lock().map_err(|_| "a callback panicked")?;
            let entries = log[self.logged..].to_vec();
            self.logged = log.len();
            entries
        };
        for (id, outcome) in entries {
            let transaction = self.world.requests[id].transaction;
            let earlier = &self.world.transactions[transaction].requests;
            let overtaken = earlier.iter().take_while(|earlier| **earlier < id);
            for earlier in overtaken {
                if matches!(self.requests[*earlier].real, RealRequest::Watched) {
                    return Err(format!("request {id} is done before {earlier}"));
                }
            }
            self.requests[id].real = RealRequest::Seen(outcome);
            self.compare_request(id)?;
        }
        Ok(())
    }

    /// Where the host drives and nothing is left to do, all that the model has done is done.
    fn pin_requests(&mut self) -> Verdict {
        for (id, asked) in self.requests.iter_mut().enumerate() {
            let is_done = match &asked.real {
                RealRequest::Waiting(pending) => pending.is_done(),
                RealRequest::Watched => false,
                RealRequest::Dropped | RealRequest::Seen(_) => true,
            };
            let is_expected = self.world.requests[id].outcome.is_some();
            // Writers that do not wait for readers come further than those of the model.
            let may_be_done = self.setup.has_snapshots && is_done;
            if is_done != is_expected && !may_be_done && !matches!(asked.real, RealRequest::Dropped)
            {
                return Err(format!("request {id} is done: {is_done}"));
            }
            let state = self.world.transactions[self.world.requests[id].transaction].state;
            asked.is_pinned |= is_done && is_expected && state != State::Finished;
        }
        Ok(())
    }

    /// Waits for a request that is done in the model.
    pub(super) fn observe(&mut self, id: usize) -> Verdict {
        self.tell_begun();
        self.world.requests[id].is_observed = true;
        let asked = &mut self.requests[id];
        match std::mem::replace(&mut asked.real, RealRequest::Dropped) {
            RealRequest::Waiting(pending) => {
                self.let_loop(|| pending.is_done());
                let asked = &mut self.requests[id];
                let (outcome, cursor) = pending.wait();
                asked.real = RealRequest::Seen(outcome);
                if let naive::Operation::Iterate { cursor: number, .. } =
                    self.world.requests[id].operation
                    && cursor.is_some()
                {
                    self.cursors[number].1 = cursor;
                }
            }
            RealRequest::Watched => {
                let asked = &mut self.requests[id];
                asked.real = RealRequest::Watched;
                while matches!(self.requests[id].real, RealRequest::Watched) {
                    self.steps(1);
                    self.take_log()?;
                }
            }
            other => self.requests[id].real = other,
        }
        self.compare_request(id)
    }

    /// The result is that of the model; or an abort has overtaken the request and all after it.
    fn compare_request(&mut self, id: usize) -> Verdict {
        let request = &self.world.requests[id];
        let transaction = &self.world.transactions[request.transaction];
        let Asked {
            real: RealRequest::Seen(real),
            is_pinned,
        } = &mut self.requests[id]
        else {
            return Ok(());
        };
        let Some(expected) = &request.outcome else {
            if self.setup.has_snapshots {
                return Ok(());
            }
            return Err(format!("request {id} is done too early: {real:?}"));
        };
        reach(&[request.operation.name(), expected.name()]);
        if transaction.state != State::Finished {
            *is_pinned = true;
        }
        let is_same = real == expected;
        let was_overtaken = *real == Outcome::Error("AbortError")
            && matches!(transaction.outcome, Some(Err(_)))
            && transaction.failed.is_none_or(|failed| id > failed)
            && !*is_pinned;
        // Where connections are closed by force one after the other, a transaction that waited for one that was aborted first may
        // have got somewhere before it was aborted itself.
        let has_overtaken = *expected == Outcome::Error("AbortError")
            && (self.setup.has_snapshots || (transaction.is_forced && !self.setup.is_driven()));
        if !is_same && !was_overtaken && !has_overtaken {
            return Err(format!("request {id}: {real:?}, not {expected:?}"));
        }
        let later = transaction.requests.iter().filter(|later| **later > id);
        for later in later {
            let later = &self.requests[*later];
            let RealRequest::Seen(outcome) = &later.real else {
                continue;
            };
            if was_overtaken && !is_same && *outcome != Outcome::Error("AbortError") {
                return Err(format!(
                    "request {id} was aborted, but not the later {outcome:?}"
                ));
            }
        }
        Ok(())
    }
}
