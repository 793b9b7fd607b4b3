//! Actions on databases and connections.

use super::Verdict;
use super::adapter::name;
use super::state::{RealOpen, RealOpenRequest, Runner, factory, storage};
use crate::naive::{State, units};
use crate::program::Action;

/// Names of databases.
pub(super) fn database(number: usize) -> Vec<u16> {
    match number {
        0 => units("db"),
        _ => vec![0x64, 0xd800],
    }
}

impl Runner {
    fn keep_open(&mut self, request: RealOpen, was_queued: bool) {
        self.opens.push(RealOpenRequest {
            request,
            log: Vec::new(),
            was_queued,
        });
    }

    pub(super) fn act_on_connections(&mut self, action: &Action) -> Verdict {
        let was_queued = self.has_queued_opens();
        match action {
            Action::Open {
                database: number,
                version,
                polite,
            } => {
                let wanted = database(*number);
                let real = self.factory.open(name(&wanted), *version);
                let model = self.world.open(&wanted, *version, *polite);
                if let Some((_, request)) = Self::agree(model, real)? {
                    self.keep_open(RealOpen::Open(request), was_queued);
                }
                Ok(())
            }
            Action::DeleteDatabase { database: number } => {
                let wanted = database(*number);
                let real = self.factory.delete_database(name(&wanted));
                self.world.delete_database(&wanted);
                self.keep_open(RealOpen::Delete(real), was_queued);
                Ok(())
            }
            Action::Databases => self.compare_databases(),
            Action::Close { connection } => {
                if let Some(id) = self.pick_connection(*connection) {
                    if let Some(connection) = self.connections[id]
                        .as_ref()
                        .and_then(|c| c.connection.as_ref())
                    {
                        connection.close();
                    }
                    self.world.close(id, false);
                }
                Ok(())
            }
            Action::DropConnection { connection } => {
                if let Some(id) = self.pick_connection(*connection)
                    && !self.world.has_live_transaction(id)
                {
                    self.drop_connection(id);
                    self.world.close(id, false);
                }
                Ok(())
            }
            Action::ForceClose { database: number } => {
                let wanted = number.map(database);
                let real_name = wanted.as_deref().map(name);
                self.factory.force_close(real_name.as_ref()).detach();
                self.world.force_close(wanted.as_deref());
                Ok(())
            }
            _ => self.restart(),
        }
    }

    /// Lets go of every handle that leads to a connection.
    fn drop_connection(&mut self, id: usize) {
        for transaction in 0..self.transactions.len() {
            if self.transactions[transaction].is_some()
                && self.world.transactions[transaction].connection == id
            {
                self.drop_transaction(transaction);
            }
        }
        if let Some(real) = &mut self.connections[id] {
            real.connection = None;
        }
    }

    pub(super) fn compare_databases(&mut self) -> Verdict {
        // A version change under way may be seen or not.
        let is_upgrading = (self.world.transactions.iter()).any(|transaction| {
            transaction.database_before.is_some() && transaction.state != State::Finished
        });
        if is_upgrading || self.has_queued_opens() {
            return Ok(());
        }
        let mut real = Vec::new();
        let databases = self.factory.databases();
        self.let_loop(|| databases.is_done());
        for info in databases.wait().map_err(|error| error.to_string())? {
            real.push((info.name.units().to_vec(), info.version));
        }
        real.sort();
        let model: Vec<(Vec<u16>, u64)> = (self.world.databases.iter())
            .map(|(name, content)| (name.clone(), content.version))
            .collect();
        match real == model {
            true => Ok(()),
            false => Err(format!("databases {real:?}, not {model:?}")),
        }
    }

    /// Closes the storage under everything, and opens another on the same files.
    fn restart(&mut self) -> Verdict {
        if self.has_queued_opens() {
            return Ok(());
        }
        self.world.force_close(None);
        let closed = self.storage.clone().close();
        closed.map_err(|error| format!("does not close: {error}"))?;
        self.settle()?;
        (self.storage, self.host_loop) = storage(&self.files, self.setup)?;
        self.factory = factory(&self.storage);
        Ok(())
    }

    /// Ends all that lives, looks at all results, closes all.
    pub(super) fn end(&mut self) -> Verdict {
        loop {
            self.settle()?;
            let live: Vec<usize> = (0..self.transactions.len())
                .filter(|id| self.transactions[*id].is_some())
                .filter(|id| self.world.transactions[*id].state == State::Active)
                .collect();
            for id in live {
                self.commit(id)?;
                if self.commits.is_some() {
                    self.settle()?;
                }
            }
            self.settle()?;
            for id in 0..self.requests.len() {
                self.observe_if_done(id)?;
            }
            for id in 0..self.connections.len() {
                if let Some(real) = &self.connections[id]
                    && let Some(connection) = &real.connection
                {
                    connection.close();
                    self.world.close(id, false);
                }
            }
            self.settle()?;
            let is_over = (self.world.transactions.iter())
                .all(|transaction| transaction.state == State::Finished);
            if is_over && !self.has_queued_opens() {
                break;
            }
        }
        self.compare_databases()
    }
}
