//! What a page asks of stores, indexes and cursors (specification, 4.5, 4.6, 4.8): which exceptions are thrown at once, in the
//! order of the steps; and which request is made otherwise.

use std::cmp::Ordering;

use super::Exception;
use super::cursor::{Cursor, Direction};
use super::database::World;
use super::handles::{Handle, IndexHandle};
use super::key::{self, Key, Range};
use super::key_path::{self, Extracted};
use super::transaction::{Mode, Operation, Request, Source, What};
use super::value::Value;

impl World {
    /// "Asynchronously execute a request" (5.6).
    fn request(&mut self, transaction: usize, operation: Operation, is_watched: bool) -> usize {
        self.requests.push(Request {
            transaction,
            operation,
            is_watched: is_watched && !self.watches_nothing,
            is_observed: false,
            outcome: None,
        });
        let id = self.requests.len() - 1;
        self.transactions[transaction].requests.push(id);
        self.pump();
        id
    }

    fn must_write(&self, transaction: usize) -> Result<(), Exception> {
        match self.transactions[transaction].mode {
            Mode::ReadOnly => Err("ReadOnlyError"),
            _ => Ok(()),
        }
    }

    /// The key of a value for a store, as "add or put" (4.5) has it, up to where the request is made.
    fn key_for(
        &self,
        handle: Handle,
        value: &Value,
        key: Option<Key>,
    ) -> Result<Option<Key>, Exception> {
        let store = self.store(handle).ok_or("InvalidStateError")?;
        self.is_active(handle.transaction)?;
        self.must_write(handle.transaction)?;
        let has_generator = store.generator.is_some();
        let Some(path) = &store.key_path else {
            return match key {
                None if !has_generator => Err("DataError"),
                key => Ok(key),
            };
        };
        if key.is_some() {
            return Err("DataError");
        }
        match key_path::extract(value, path, false) {
            Extracted::Key(key) => Ok(Some(key)),
            Extracted::Invalid => Err("DataError"),
            Extracted::Failure if has_generator && key_path::can_inject(value, path) => Ok(None),
            Extracted::Failure => Err("DataError"),
        }
    }

    /// `IDBObjectStore.put()` and `add()`.
    pub(crate) fn put(
        &mut self,
        handle: Handle,
        value: Value,
        key: Option<Key>,
        no_overwrite: bool,
        is_watched: bool,
    ) -> Result<usize, Exception> {
        let key = self.key_for(handle, &value, key)?;
        let operation = Operation::Put {
            store: handle.store,
            value,
            key,
            no_overwrite,
        };
        Ok(self.request(handle.transaction, operation, is_watched))
    }

    /// Several puts as one request.
    pub(crate) fn put_many(
        &mut self,
        handle: Handle,
        records: Vec<(Value, Option<Key>)>,
        is_watched: bool,
    ) -> Result<usize, Exception> {
        let mut with_keys = Vec::new();
        for (value, key) in records {
            let key = self.key_for(handle, &value, key)?;
            with_keys.push((value, key));
        }
        let operation = Operation::PutMany {
            store: handle.store,
            records: with_keys,
        };
        Ok(self.request(handle.transaction, operation, is_watched))
    }

    /// `IDBObjectStore.delete()`, and `clear()` without a range.
    pub(crate) fn delete(
        &mut self,
        handle: Handle,
        range: Option<Range>,
        is_watched: bool,
    ) -> Result<usize, Exception> {
        self.store(handle).ok_or("InvalidStateError")?;
        self.is_active(handle.transaction)?;
        self.must_write(handle.transaction)?;
        let store = handle.store;
        let operation = match range {
            Some(range) => Operation::Delete { store, range },
            None => Operation::Clear { store },
        };
        Ok(self.request(handle.transaction, operation, is_watched))
    }

    fn source(&self, handle: Handle, index: Option<IndexHandle>) -> Result<Source, Exception> {
        self.store(handle).ok_or("InvalidStateError")?;
        if let Some(index) = index {
            self.index(index).ok_or("InvalidStateError")?;
        }
        self.is_active(handle.transaction)?;
        Ok(Source {
            store: handle.store,
            index: index.map(|index| index.index),
        })
    }

    /// All reads without a cursor: `operation` gets the source.
    pub(crate) fn read(
        &mut self,
        handle: Handle,
        index: Option<IndexHandle>,
        is_watched: bool,
        operation: impl FnOnce(Source) -> Operation,
    ) -> Result<usize, Exception> {
        let source = self.source(handle, index)?;
        Ok(self.request(handle.transaction, operation(source), is_watched))
    }

    /// `openCursor()` and `openKeyCursor()`: the request, and the cursor.
    pub(crate) fn open_cursor(
        &mut self,
        handle: Handle,
        index: Option<IndexHandle>,
        range: Range,
        direction: Direction,
        key_only: bool,
    ) -> Result<(usize, usize), Exception> {
        let source = self.source(handle, index)?;
        self.cursors.push(Cursor {
            transaction: handle.transaction,
            store: source.store,
            index: source.index,
            direction,
            range,
            key_only,
            position: None,
            object_store_position: None,
            got_value: false,
            record: None,
        });
        let cursor = self.cursors.len() - 1;
        let operation = Operation::Iterate {
            cursor,
            key: None,
            primary_key: None,
            count: 1,
        };
        Ok((self.request(handle.transaction, operation, false), cursor))
    }

    fn handle_of(&self, cursor: usize) -> Handle {
        let cursor = &self.cursors[cursor];
        Handle {
            transaction: cursor.transaction,
            store: cursor.store,
        }
    }

    fn must_have_source(&self, cursor: usize) -> Result<(), Exception> {
        let handle = self.handle_of(cursor);
        let store = self.store(handle).ok_or("InvalidStateError")?;
        let is_there = (self.cursors[cursor].index)
            .is_none_or(|id| store.indexes.iter().any(|index| index.id == id));
        is_there.then_some(()).ok_or("InvalidStateError")
    }

    fn must_have_value(&self, cursor: usize) -> Result<(), Exception> {
        self.cursors[cursor]
            .got_value
            .then_some(())
            .ok_or("InvalidStateError")
    }

    fn iterate(
        &mut self,
        cursor: usize,
        key: Option<Key>,
        primary_key: Option<Key>,
        count: u32,
    ) -> usize {
        self.cursors[cursor].got_value = false;
        let transaction = self.cursors[cursor].transaction;
        let operation = Operation::Iterate {
            cursor,
            key,
            primary_key,
            count,
        };
        self.request(transaction, operation, false)
    }

    /// `IDBCursor.advance()`.
    pub(crate) fn advance(&mut self, cursor: usize, count: u32) -> Result<usize, Exception> {
        if count == 0 {
            return Err("TypeError");
        }
        self.is_active(self.cursors[cursor].transaction)?;
        self.must_have_source(cursor)?;
        self.must_have_value(cursor)?;
        Ok(self.iterate(cursor, None, None, count))
    }

    /// How a key lies to the cursor's position, in its direction.
    fn order(&self, cursor: usize, key: &Key, position: Option<&Key>) -> Ordering {
        let order = position.map_or(Ordering::Greater, |at| key::compare(key, at));
        match self.cursors[cursor].direction {
            Direction::Next | Direction::NextUnique => order,
            Direction::Prev | Direction::PrevUnique => order.reverse(),
        }
    }

    /// `IDBCursor.continue()`.
    pub(crate) fn continue_(
        &mut self,
        cursor: usize,
        key: Option<Key>,
    ) -> Result<usize, Exception> {
        self.is_active(self.cursors[cursor].transaction)?;
        self.must_have_source(cursor)?;
        self.must_have_value(cursor)?;
        if let Some(key) = &key {
            let position = self.cursors[cursor].position.as_ref();
            if self.order(cursor, key, position) != Ordering::Greater {
                return Err("DataError");
            }
        }
        Ok(self.iterate(cursor, key, None, 1))
    }

    /// `IDBCursor.continuePrimaryKey()`.
    pub(crate) fn continue_primary_key(
        &mut self,
        cursor: usize,
        key: Key,
        primary_key: Key,
    ) -> Result<usize, Exception> {
        self.is_active(self.cursors[cursor].transaction)?;
        self.must_have_source(cursor)?;
        let it = &self.cursors[cursor];
        if it.index.is_none() || !matches!(it.direction, Direction::Next | Direction::Prev) {
            return Err("InvalidAccessError");
        }
        self.must_have_value(cursor)?;
        let order = self.order(cursor, &key, it.position.as_ref());
        let within = self.order(cursor, &primary_key, it.object_store_position.as_ref());
        if order == Ordering::Less || (order == Ordering::Equal && within != Ordering::Greater) {
            return Err("DataError");
        }
        Ok(self.iterate(cursor, Some(key), Some(primary_key), 1))
    }

    fn must_change(&self, cursor: usize) -> Result<Key, Exception> {
        self.is_active(self.cursors[cursor].transaction)?;
        self.must_write(self.cursors[cursor].transaction)?;
        self.must_have_source(cursor)?;
        self.must_have_value(cursor)?;
        match self.cursors[cursor].effective_key() {
            Some(key) if !self.cursors[cursor].key_only => Ok(key.clone()),
            _ => Err("InvalidStateError"),
        }
    }

    /// `IDBCursor.update()`.
    pub(crate) fn update(
        &mut self,
        cursor: usize,
        value: Value,
        is_watched: bool,
    ) -> Result<usize, Exception> {
        let key = self.must_change(cursor)?;
        let handle = self.handle_of(cursor);
        let store = self.store(handle).ok_or("InvalidStateError")?;
        if let Some(path) = &store.key_path {
            match key_path::extract(&value, path, false) {
                Extracted::Key(found) if found == key => {}
                _ => return Err("DataError"),
            }
        }
        let operation = Operation::Put {
            store: handle.store,
            value,
            key: Some(key),
            no_overwrite: false,
        };
        Ok(self.request(handle.transaction, operation, is_watched))
    }

    /// `IDBCursor.delete()`.
    pub(crate) fn delete_at(
        &mut self,
        cursor: usize,
        is_watched: bool,
    ) -> Result<usize, Exception> {
        let range = Range::only(self.must_change(cursor)?);
        let handle = self.handle_of(cursor);
        let store = handle.store;
        let operation = Operation::Delete { store, range };
        Ok(self.request(handle.transaction, operation, is_watched))
    }

    /// What a page reads with `getKey()`, `get()`.
    pub(crate) fn get(
        &mut self,
        handle: Handle,
        index: Option<IndexHandle>,
        range: Range,
        what: What,
        is_watched: bool,
    ) -> Result<usize, Exception> {
        self.read(handle, index, is_watched, |source| Operation::Get {
            source,
            range,
            what,
        })
    }
}
