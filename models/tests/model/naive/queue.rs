//! Connection queues (specification, 2.1.2): "open a database" (5.1), "delete a database" (5.3), "upgrade a database" (5.7).

use super::Exception;
use super::database::{
    Connection, ConnectionEvent, Content, Open, OpenEvent, Progress, Wanted, World,
};
use super::transaction::{Mode, State, Transaction};

impl World {
    /// `IDBFactory.open()`.
    pub(crate) fn open(
        &mut self,
        database: &[u16],
        version: Option<u64>,
        polite: bool,
    ) -> Result<usize, Exception> {
        // `[EnforceRange]`: what is no integer of a Number is refused, too.
        if version.is_some_and(|version| version == 0 || version >= 1 << 53) {
            return Err("TypeError");
        }
        Ok(self.enqueue(database, Some(Wanted { version, polite })))
    }

    /// `IDBFactory.deleteDatabase()`.
    pub(crate) fn delete_database(&mut self, database: &[u16]) -> usize {
        self.enqueue(database, None)
    }

    fn enqueue(&mut self, database: &[u16], wanted: Option<Wanted>) -> usize {
        self.opens.push(Open {
            database: database.to_vec(),
            wanted,
            progress: Progress::Queued,
            connection: None,
            events: Vec::new(),
        });
        let id = self.opens.len() - 1;
        self.queues
            .entry(database.to_vec())
            .or_default()
            .push_back(id);
        self.pump();
        id
    }

    /// One step of the first request in a queue. Whether anything happened.
    pub(crate) fn step_queue(&mut self, name: &[u16]) -> bool {
        let Some(&id) = self.queues.get(name).and_then(|queue| queue.front()) else {
            return false;
        };
        match self.opens[id].progress {
            Progress::Queued => self.begin(id),
            Progress::Closing => {
                if !self.others(id).is_empty() {
                    return false;
                }
                self.all_closed(id);
            }
            Progress::Upgrading { transaction } => {
                if self.transactions[transaction].state != State::Finished {
                    return false;
                }
                self.upgraded(id, transaction);
            }
            Progress::Done => {
                self.queues.get_mut(name).map(|queue| queue.pop_front());
            }
        }
        true
    }

    /// Connections to the same database that are not closed: "openConnections".
    fn others(&self, open: usize) -> Vec<usize> {
        let open = &self.opens[open];
        (0..self.connections.len())
            .filter(|id| open.connection != Some(*id))
            .filter(|id| !self.connections[*id].closed)
            .filter(|id| self.connections[*id].database == open.database)
            .collect()
    }

    fn done(&mut self, open: usize, result: Result<u64, Exception>) {
        self.opens[open].events.push(OpenEvent::Done(result));
        self.opens[open].progress = Progress::Done;
    }

    fn begin(&mut self, id: usize) {
        let name = self.opens[id].database.clone();
        let old = self.databases.get(&name).map(|content| content.version);
        let Some(wanted) = self.opens[id].wanted else {
            match old {
                None => self.done(id, Ok(0)),
                Some(old) => self.tell_others(id, old, None),
            }
            return;
        };
        let version = wanted.version.or(old).unwrap_or(1);
        let old = old.unwrap_or(0);
        if old > version {
            self.done(id, Err("VersionError"));
            return;
        }
        let names = self.databases.get(&name).map(Content::names);
        self.connections.push(Connection {
            database: name,
            version,
            names: names.unwrap_or_default(),
            close_pending: false,
            closed: false,
            polite: wanted.polite,
            events: Vec::new(),
        });
        self.opens[id].connection = Some(self.connections.len() - 1);
        if old == version {
            self.done(id, Ok(version));
        } else {
            self.tell_others(id, old, Some(version));
        }
    }

    /// Fires `versionchange` at all others that are not about to close; then `blocked` if some are still there.
    fn tell_others(&mut self, id: usize, old: u64, new: Option<u64>) {
        for other in self.others(id) {
            let connection = &mut self.connections[other];
            if !connection.close_pending {
                let event = ConnectionEvent::VersionChange { old, new };
                connection.events.push(event);
                connection.close_pending = connection.polite;
            }
            if connection.close_pending && !self.has_live_transaction(other) {
                self.connections[other].closed = true;
            }
        }
        if !self.others(id).is_empty() {
            self.opens[id].events.push(OpenEvent::Blocked { old, new });
        }
        self.opens[id].progress = Progress::Closing;
    }

    fn all_closed(&mut self, id: usize) {
        let name = self.opens[id].database.clone();
        let Some(connection) = self.opens[id].connection else {
            let deleted = self.databases.remove(&name);
            let mut committed = self.history.last().cloned().unwrap_or_default();
            committed.databases.remove(&name);
            committed.is_strict = false;
            self.history.push(committed);
            self.done(id, Ok(deleted.map_or(0, |content| content.version)));
            return;
        };
        let before = self.databases.get(&name).cloned();
        let content = self.databases.entry(name).or_default();
        let (old, new) = (content.version, self.connections[connection].version);
        content.version = new;
        let mut transaction = Transaction::new(connection, Mode::VersionChange, Vec::new());
        transaction.is_started = true;
        transaction.database_before = Some(before);
        self.transactions.push(transaction);
        let transaction = self.transactions.len() - 1;
        self.opens[id].progress = Progress::Upgrading { transaction };
        (self.opens[id].events).push(OpenEvent::UpgradeNeeded {
            transaction,
            old,
            new,
        });
    }

    fn upgraded(&mut self, id: usize, transaction: usize) {
        let Some(connection) = self.opens[id].connection else {
            return;
        };
        let is_committed = self.transactions[transaction].outcome == Some(Ok(()));
        let connection = &mut self.connections[connection];
        if is_committed && !connection.close_pending {
            let version = connection.version;
            self.done(id, Ok(version));
        } else {
            connection.close_pending = true;
            connection.closed = true;
            self.done(id, Err("AbortError"));
        }
    }
}
