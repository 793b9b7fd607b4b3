//! Actions on records, cursors and requests.

use larder_idb::{
    Error, GetAllOptions, Index, Key as IdbKey, KeyRange, ObjectStore, PageLimits, Pages, PutItem,
    Request, Result, Value as IdbValue,
};

use super::Verdict;
use super::adapter::{self, Pending, Shape};
use super::bytes::serialize;
use super::foreign;
use super::state::{Asked, RealRequest, Runner, reach};
use crate::naive::{
    self, Direction, Exception, Handle, IndexHandle, Key, KeyPath, Operation, Range, State, Value,
    What,
};
use crate::program::{Action, Give, Pick, Read};

/// One of the two that records are read from.
enum Source {
    Store(ObjectStore),
    Index(Index),
}

impl Runner {
    pub(super) fn act_on_records(&mut self, action: &Action) -> Verdict {
        match action {
            Action::Put { .. } | Action::PutMany { .. } | Action::Delete { .. } => {
                self.write(action)
            }
            Action::Read { on, read, watched } => {
                let Some((handle, store)) = self.handle(on)? else {
                    return Ok(());
                };
                match on.index {
                    None => self.read(handle, None, &Source::Store(store), read, *watched),
                    Some(pick) => match self.index(handle, &store, pick)? {
                        Some((index, real)) => {
                            self.read(handle, Some(index), &Source::Index(real), read, *watched)
                        }
                        None => Ok(()),
                    },
                }
            }
            Action::OpenCursor { .. } => self.open_cursor(action),
            Action::Observe { request } => {
                let is_due = |id: usize| {
                    self.world.requests[id].outcome.is_some()
                        && matches!(self.requests[id].real, RealRequest::Waiting(_))
                };
                match Self::pick(*request, self.requests.len(), is_due) {
                    Some(id) => self.observe_if_done(id),
                    None => Ok(()),
                }
            }
            Action::DropRequest { request } => {
                let is_waiting =
                    |id: usize| matches!(self.requests[id].real, RealRequest::Waiting(_));
                if let Some(id) = Self::pick(*request, self.requests.len(), is_waiting)
                    && is_waiting(id)
                {
                    self.requests[id].real = RealRequest::Dropped;
                }
                Ok(())
            }
            _ => self.act_on_cursor(action),
        }
    }

    pub(super) fn observe_if_done(&mut self, id: usize) -> Verdict {
        match self.world.requests[id].outcome.is_some() {
            true => self.observe(id),
            false => Ok(()),
        }
    }

    /// Keeps a request that both sides have made.
    fn keep(
        &mut self,
        model: std::result::Result<usize, Exception>,
        real: Result<Pending>,
    ) -> Verdict<Option<usize>> {
        let Some((id, pending)) = Self::agree(model, real)? else {
            return Ok(None);
        };
        let real = match self.world.requests[id].is_watched {
            true => {
                pending.watch(id, &self.log);
                RealRequest::Watched
            }
            false => RealRequest::Waiting(pending),
        };
        self.requests.push(Asked {
            real,
            is_pinned: false,
        });
        Ok(Some(id))
    }

    /// Whether a key is given with a value.
    fn given(&self, handle: Handle, key: &Key, give: Give) -> Option<Key> {
        let store = self.world.store(handle);
        let is_needed = store.is_some_and(|s| s.key_path.is_none() && s.generator.is_none());
        let may_be = store.is_some_and(|s| s.key_path.is_none());
        let is_small = matches!(key, Key::Number(number) if number.fract() == 0.0);
        match give {
            Give::Always => Some(key.clone()),
            Give::Never => None,
            Give::Fit => (is_needed || (may_be && is_small)).then(|| key.clone()),
        }
    }

    /// A value and its key as they are handed to the crate.
    fn real(&self, handle: Handle, value: &Value, key: Option<&Key>) -> PutItem {
        let store = self.world.store(handle).filter(|_| self.setup.has_foreign);
        match store.and_then(|store| foreign::foreign(store, value, key)) {
            Some(foreign) => {
                reach(&["value of another engine"]);
                foreign
            }
            None => (
                IdbValue::from_bytes(serialize(value)),
                key.map(adapter::key),
            ),
        }
    }

    /// A value for an update. One of another engine has no key of its own that could be the wrong one.
    fn real_update(&self, number: usize, value: &Value) -> IdbValue {
        let cursor = &self.world.cursors[number];
        let handle = Handle {
            transaction: cursor.transaction,
            store: cursor.store,
        };
        let key = cursor.effective_key();
        let is_inline = (self.world.store(handle)).is_some_and(|store| store.key_path.is_some());
        let (foreign, found) = self.real(handle, value, key.filter(|_| !is_inline));
        match found == key.map(adapter::key) {
            true => foreign,
            false => IdbValue::from_bytes(serialize(value)),
        }
    }

    /// Whether a generated key would become a property of an array, which the model's values do not have.
    fn leads_into_array(&self, handle: Handle, value: &Value) -> bool {
        let Some(store) = self.world.store(handle) else {
            return false;
        };
        let (Some(KeyPath::One(path)), Some(_)) = (&store.key_path, &store.generator) else {
            return false;
        };
        let mut value = value;
        for identifier in path.split(|unit| *unit == 0x2e) {
            let Value::Object(properties) = value else {
                break;
            };
            match properties.iter().find(|(name, _)| name == identifier) {
                Some((_, found)) => value = found,
                None => break,
            }
        }
        matches!(value, Value::Array(_))
    }

    fn write(&mut self, action: &Action) -> Verdict {
        let (Action::Put { on, .. } | Action::PutMany { on, .. } | Action::Delete { on, .. }) =
            action
        else {
            return Ok(());
        };
        let Some((handle, store)) = self.handle(on)? else {
            return Ok(());
        };
        match action {
            Action::Put {
                value,
                key,
                give,
                no_overwrite,
                watched,
                ..
            } => {
                if self.leads_into_array(handle, value) {
                    return Ok(());
                }
                let key = self.given(handle, key, *give);
                let (real_value, real_key) = self.real(handle, value, key.as_ref());
                let real = match no_overwrite {
                    true => store.add(real_value, real_key),
                    false => store.put(real_value, real_key),
                };
                let model = self
                    .world
                    .put(handle, value.clone(), key, *no_overwrite, *watched);
                self.keep(model, real.map(Pending::Key))?;
            }
            Action::PutMany { records, give, .. } => {
                if records
                    .iter()
                    .any(|(value, _)| self.leads_into_array(handle, value))
                {
                    return Ok(());
                }
                let records: Vec<(Value, Option<Key>)> = (records.iter())
                    .map(|(value, key)| (value.clone(), self.given(handle, key, *give)))
                    .collect();
                let real_records =
                    (records.iter()).map(|(value, key)| self.real(handle, value, key.as_ref()));
                let real = store.put_many(real_records);
                let model = self.world.put_many(handle, records.clone(), false);
                self.keep(model, real.map(Pending::Keys))?;
            }
            Action::Delete { range, watched, .. } => {
                let real = match range {
                    Some(range) => store.delete(adapter::range(range)),
                    None => store.clear(),
                };
                let model = self.world.delete(handle, range.clone(), *watched);
                self.keep(model, real.map(Pending::Done))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn read(
        &mut self,
        handle: Handle,
        index: Option<IndexHandle>,
        source: &Source,
        read: &Read,
        watched: bool,
    ) -> Verdict {
        if let Read::Pages {
            range,
            direction,
            len,
        } = read
        {
            return self.read_pages(handle, index, source, (range, *direction, *len));
        }
        let real = source.read(read);
        let model = match read {
            Read::Get { range, what } => {
                self.world.get(handle, index, range.clone(), *what, watched)
            }
            Read::GetMany { ranges } => {
                let ranges = ranges.clone();
                self.world
                    .read(handle, index, watched, |source| Operation::GetMany {
                        source,
                        ranges,
                    })
            }
            Read::GetAll {
                range,
                direction,
                count,
                what,
            } => {
                let (range, direction, count, what) = (range.clone(), *direction, *count, *what);
                self.world
                    .read(handle, index, watched, |source| Operation::GetAll {
                        source,
                        range,
                        direction,
                        skip: 0,
                        count,
                        what,
                    })
            }
            Read::Count { range } | Read::Pages { range, .. } => {
                let range = range.clone();
                self.world
                    .read(handle, index, watched, |source| Operation::Count {
                        source,
                        range,
                    })
            }
        };
        self.keep(model, real).map(drop)
    }

    /// The first three pages, all asked for at once.
    fn read_pages(
        &mut self,
        handle: Handle,
        index: Option<IndexHandle>,
        source: &Source,
        (range, direction, len): (&Range, Direction, u32),
    ) -> Verdict {
        let limits = PageLimits::new()
            .entries_max(len as usize)
            .bytes_max(usize::MAX);
        let (real_range, real_direction) = (adapter::range(range), adapter::direction(direction));
        let pages = match source {
            Source::Store(store) => store.pages(real_range, real_direction, limits),
            Source::Index(index) => index.pages(real_range, real_direction, limits),
        };
        for number in 0..3 {
            let real = pages.as_ref().map_err(Clone::clone).and_then(Pages::next);
            let range = range.clone();
            let model = self
                .world
                .read(handle, index, false, |source| Operation::GetAll {
                    source,
                    range,
                    direction,
                    skip: number * len as usize,
                    count: len,
                    what: What::Records,
                });
            self.keep(model, real.map(Pending::Page))?;
        }
        Ok(())
    }

    fn open_cursor(&mut self, action: &Action) -> Verdict {
        let Action::OpenCursor {
            on,
            range,
            direction,
            key_only,
        } = action
        else {
            return Ok(());
        };
        let Some((handle, store)) = self.handle(on)? else {
            return Ok(());
        };
        let (index, source) = match on.index {
            None => (None, Source::Store(store)),
            Some(pick) => match self.index(handle, &store, pick)? {
                Some((index, real)) => (Some(index), Source::Index(real)),
                None => return Ok(()),
            },
        };
        let real = source.open_cursor(adapter::range(range), *direction, *key_only);
        let model = self
            .world
            .open_cursor(handle, index, range.clone(), *direction, *key_only);
        let request = model.map(|(request, _)| request);
        if let Some(id) = self.keep(request, real.map(Pending::Cursor))? {
            self.cursors.push((id, None));
            self.observe_if_done(id)?;
        }
        Ok(())
    }

    /// A cursor that the crate has handed out, whose last request has been seen.
    fn pick_cursor(&mut self, pick: Pick) -> Verdict<Option<usize>> {
        let is_live = |number: usize| {
            let cursor = &self.world.cursors[number];
            let is_live = self.world.transactions[cursor.transaction].state == State::Active;
            is_live && cursor.got_value && self.cursors[number].1.is_some()
        };
        let Some(number) = Self::pick(pick, self.cursors.len(), is_live) else {
            return Ok(None);
        };
        self.observe_if_done(self.cursors[number].0)?;
        let is_seen = matches!(
            self.requests[self.cursors[number].0].real,
            RealRequest::Seen(_)
        );
        Ok((is_seen && self.cursors[number].1.is_some()).then_some(number))
    }

    fn act_on_cursor(&mut self, action: &Action) -> Verdict {
        let (Action::Continue { cursor, .. }
        | Action::ContinuePrimaryKey { cursor, .. }
        | Action::Advance { cursor, .. }
        | Action::Update { cursor, .. }
        | Action::DeleteAt { cursor, .. }) = action
        else {
            return Ok(());
        };
        let Some(number) = self.pick_cursor(*cursor)? else {
            return Ok(());
        };
        let Some(real) = self.cursors[number].1.clone() else {
            return Ok(());
        };
        let (model, real) = match action {
            Action::Continue { key, .. } => (
                self.world.continue_(number, key.clone()),
                match key {
                    None => real.next(),
                    Some(key) => real.continue_to(adapter::key(key)),
                },
            ),
            Action::ContinuePrimaryKey {
                key, primary_key, ..
            } => (
                self.world
                    .continue_primary_key(number, key.clone(), primary_key.clone()),
                real.continue_primary_key(adapter::key(key), adapter::key(primary_key)),
            ),
            Action::Advance { count, .. } => {
                (self.world.advance(number, *count), real.advance(*count))
            }
            Action::Update { value, watched, .. } => {
                let value = self.with_key_of(number, value);
                let real = real
                    .update(self.real_update(number, &value))
                    .map(Pending::Key);
                let model = self.world.update(number, value, *watched);
                return self.keep(model, real).map(drop);
            }
            Action::DeleteAt { watched, .. } => {
                let real = real.delete().map(Pending::Done);
                let model = self.world.delete_at(number, *watched);
                return self.keep(model, real).map(drop);
            }
            _ => return Ok(()),
        };
        if let Some(id) = self.keep(model, real.map(Pending::Cursor))? {
            self.cursors[number].0 = id;
            self.observe_if_done(id)?;
        }
        Ok(())
    }

    /// A value for an update: where the store has its keys in the values, mostly with the right one.
    fn with_key_of(&self, number: usize, value: &Value) -> Value {
        let cursor = &self.world.cursors[number];
        let handle = Handle {
            transaction: cursor.transaction,
            store: cursor.store,
        };
        let path = self
            .world
            .store(handle)
            .and_then(|store| store.key_path.as_ref());
        let (Some(path), Some(key)) = (path, cursor.effective_key()) else {
            return value.clone();
        };
        let mut value = value.clone();
        let is_wrong = matches!(&value, Value::Object(properties) if properties.len() == 3);
        if !is_wrong && naive::can_inject(&value, path) {
            naive::inject(&mut value, path, key);
        }
        value
    }
}

impl Source {
    fn read(&self, read: &Read) -> Result<Pending> {
        match read {
            Read::Get { range, what } => {
                let range = adapter::range(range);
                match what {
                    What::Keys => self.get_key(range).map(Pending::MaybeKey),
                    _ => match self {
                        Self::Store(store) => store.get(range).map(Pending::Value),
                        Self::Index(index) => index.get(range).map(Pending::Value),
                    },
                }
            }
            Read::GetMany { ranges } => {
                let ranges: Vec<KeyRange> = ranges.iter().map(adapter::range).collect();
                let records = match self {
                    Self::Store(store) => store.get_many(ranges),
                    Self::Index(index) => index.get_many(ranges),
                };
                records.map(|request| Pending::Records(request, Shape::Records))
            }
            Read::GetAll {
                range,
                direction,
                count,
                what,
            } => {
                let range = adapter::range(range);
                let options = GetAllOptions::new()
                    .count(*count)
                    .direction(adapter::direction(*direction));
                match (self, what) {
                    (Self::Store(store), What::Keys) => store.get_all_keys(range, options),
                    (Self::Store(store), What::Values) => store.get_all(range, options),
                    (Self::Store(store), What::Records) => store.get_all(range, options),
                    (Self::Index(index), What::Keys) => index.get_all_keys(range, options),
                    (Self::Index(index), What::Values) => index.get_all(range, options),
                    (Self::Index(index), What::Records) => index.get_all(range, options),
                }
                .map(|request| Pending::Records(request, shape(*what)))
            }
            Read::Count { range } | Read::Pages { range, .. } => {
                let range = adapter::range(range);
                match self {
                    Self::Store(store) => store.count(range).map(Pending::Count),
                    Self::Index(index) => index.count(range).map(Pending::Count),
                }
            }
        }
    }

    fn get_key(&self, range: KeyRange) -> Result<Request<Option<IdbKey>>> {
        match self {
            Self::Store(store) => store.get_key(range),
            Self::Index(index) => index.get_key(range),
        }
    }

    fn open_cursor(
        &self,
        range: KeyRange,
        direction: Direction,
        key_only: bool,
    ) -> std::result::Result<Request<Option<larder_idb::Cursor>>, Error> {
        let direction = adapter::direction(direction);
        match (self, key_only) {
            (Self::Store(store), false) => store.open_cursor(range, direction),
            (Self::Store(store), true) => store.open_key_cursor(range, direction),
            (Self::Index(index), false) => index.open_cursor(range, direction),
            (Self::Index(index), true) => index.open_key_cursor(range, direction),
        }
    }
}

fn shape(what: What) -> Shape {
    match what {
        What::Keys => Shape::Keys,
        What::Values => Shape::Values,
        What::Records => Shape::Records,
    }
}
