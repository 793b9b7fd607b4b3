//! Calls that read: of object stores and indexes, and of cursors where they stand.

use std::rc::Rc;

use larder_idb::{Cursor, CursorDirection, GetAllOptions, Key, KeyRange};
use rquickjs::{Ctx, Exception, Function, Object, Result, Value};

use super::calls::{give, gone};
use super::handles::Handle;
use super::{Engine, checked};
use crate::clone::{key_from_js, key_to_js};
use crate::realms::{Outcome, Projection};

/// The bits of a range, as `key_range.js` of `larder-binding` has them.
const LOWER_OPEN: u32 = 1;
const UPPER_OPEN: u32 = 2;
const ONLY: u32 = 4;

/// Calls a reading method, which object stores and indexes share.
macro_rules! read {
    ($engine:ident, $ctx:ident, $source:ident, $method:ident($($arg:expr),*)) => {
        match $engine.handle($ctx, $source)? {
            Handle::Store(store) => checked($ctx, store.$method($($arg),*))?,
            Handle::Index(index) => checked($ctx, index.$method($($arg),*))?,
            _ => return Err(gone($ctx)),
        }
    };
}

pub(super) fn install<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    one(ctx, engine, hooks)?;
    many(ctx, engine, hooks)?;
    cursors(ctx, engine, hooks)
}

fn one<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    macro_rules! give_read {
        ($name:literal, $method:ident, $outcome:expr) => {
            give!(
                hooks,
                ctx,
                engine,
                $name,
                |request: u32, source: u32, range: Object<'js>| {
                    let range = engine.range(ctx, &range)?;
                    let asked = read!(engine, ctx, source, $method(range));
                    engine.realm.expect(request, asked, $outcome);
                    Ok::<_, rquickjs::Error>(())
                }
            );
        };
    }
    give_read!("get", get, Outcome::Value);
    give_read!("getKey", get_key, Outcome::MaybeKey);
    give_read!("count", count, Outcome::Count);
    Ok(())
}

fn many<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    for (name, projection) in [
        ("getAll", Projection::Values),
        ("getAllKeys", Projection::PrimaryKeys),
        ("getAllRecords", Projection::Whole),
    ] {
        let engine = Rc::clone(engine);
        let call = move |ctx: Ctx<'js>,
                         request: u32,
                         source: u32,
                         range: Object<'js>,
                         count: Option<u32>,
                         direction: String| {
            let ctx = &ctx;
            let _entered = engine.enter(ctx)?;
            let range = engine.range(ctx, &range)?;
            let options = GetAllOptions::new()
                .count(count.unwrap_or(0))
                .direction(self::direction(&direction));
            let asked = match projection {
                Projection::PrimaryKeys => read!(engine, ctx, source, get_all_keys(range, options)),
                _ => read!(engine, ctx, source, get_all(range, options)),
            };
            let outcome = move |records| Outcome::Records(records, projection);
            engine.realm.expect(request, asked, outcome);
            Ok::<_, rquickjs::Error>(())
        };
        hooks.set(name, Function::new(ctx.clone(), call)?.with_name(name)?)?;
    }
    give!(
        hooks,
        ctx,
        engine,
        "openCursor",
        |request: u32, source: u32, range: Object<'js>, direction: String, with_value: bool| {
            let range = engine.range(ctx, &range)?;
            let direction = self::direction(&direction);
            let asked = match with_value {
                true => read!(engine, ctx, source, open_cursor(range, direction)),
                false => read!(engine, ctx, source, open_key_cursor(range, direction)),
            };
            engine.realm.expect(request, asked, Outcome::Cursor);
            Ok::<_, rquickjs::Error>(())
        }
    );
    Ok(())
}

fn cursors<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    give!(
        hooks,
        ctx,
        engine,
        "continueCursor",
        |request: u32, cursor: u32, key: Value<'js>| {
            let key = engine.maybe_key(ctx, &key)?;
            let cursor_there = engine.cursor(ctx, cursor)?;
            let asked = match key {
                None => cursor_there.next(),
                Some(key) => cursor_there.continue_to(key),
            };
            let asked = checked(ctx, asked)?;
            engine
                .realm
                .expect(request, asked, move |moved| Outcome::Moved(cursor, moved));
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "continueCursorPrimaryKey",
        |request: u32, cursor: u32, key: Value<'js>, primary_key: Value<'js>| {
            let key = engine.key(ctx, &key)?;
            let primary_key = engine.key(ctx, &primary_key)?;
            let asked = engine
                .cursor(ctx, cursor)?
                .continue_primary_key(key, primary_key);
            let asked = checked(ctx, asked)?;
            engine
                .realm
                .expect(request, asked, move |moved| Outcome::Moved(cursor, moved));
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "advanceCursor",
        |request: u32, cursor: u32, count: u32| {
            let asked = checked(ctx, engine.cursor(ctx, cursor)?.advance(count))?;
            engine
                .realm
                .expect(request, asked, move |moved| Outcome::Moved(cursor, moved));
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(pure hooks, ctx, engine, "cursorKey", |cursor: u32| {
        let key = engine.cursor(ctx, cursor)?.key();
        key_to_js(ctx, &*engine.shared.helpers(ctx)?, &key)
    });
    give!(pure hooks, ctx, engine, "cursorPrimaryKey", |cursor: u32| {
        let key = engine.cursor(ctx, cursor)?.primary_key();
        key_to_js(ctx, &*engine.shared.helpers(ctx)?, &key)
    });
    give!(pure hooks, ctx, engine, "cursorValue", |cursor: u32| {
        let value = engine.cursor(ctx, cursor)?.value();
        match value {
            Some(value) => engine.value(ctx, value.bytes(), value.objects()),
            None => Ok(Value::new_undefined(ctx.clone())),
        }
    });
    Ok(())
}

fn direction(name: &str) -> CursorDirection {
    match name {
        "nextunique" => CursorDirection::NextUnique,
        "prev" => CursorDirection::Prev,
        "prevunique" => CursorDirection::PrevUnique,
        _ => CursorDirection::Next,
    }
}

impl Engine {
    pub(super) fn key<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Key> {
        key_from_js(ctx, &*self.shared.helpers(ctx)?, value)
    }

    /// `undefined` is no key.
    pub(super) fn maybe_key<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Option<Key>> {
        match value.is_undefined() {
            true => Ok(None),
            false => self.key(ctx, value).map(Some),
        }
    }

    /// A range as `larder-binding` has it.
    pub(super) fn range<'js>(&self, ctx: &Ctx<'js>, range: &Object<'js>) -> Result<KeyRange> {
        let flags: u32 = range.get("flags")?;
        let lower = self.maybe_key(ctx, &range.get("lower")?)?;
        let upper = self.maybe_key(ctx, &range.get("upper")?)?;
        let lower_open = flags & LOWER_OPEN != 0;
        let upper_open = flags & UPPER_OPEN != 0;
        match (lower, upper) {
            (None, None) => Ok(KeyRange::all()),
            (Some(key), _) if flags & ONLY != 0 => Ok(KeyRange::only(key)),
            (Some(lower), None) => Ok(KeyRange::lower_bound(lower, lower_open)),
            (None, Some(upper)) => Ok(KeyRange::upper_bound(upper, upper_open)),
            (Some(lower), Some(upper)) => {
                checked(ctx, KeyRange::bound(lower, upper, lower_open, upper_open))
            }
        }
    }

    pub(super) fn cursor(&self, ctx: &Ctx<'_>, number: u32) -> Result<Cursor> {
        match self.handle(ctx, number)? {
            Handle::Cursor(cursor) => Ok(cursor),
            _ => Err(Exception::throw_internal(ctx, "not a cursor")),
        }
    }
}
