//! Values of Chromium's stores become values of the engine and bytes again; and what scripts clone.

use std::sync::Arc;

use larder_backing_store::{Direction, OpenOptions, Store, StorePaths};
use larder_codec::value::{Decoder, Envelope, HostObject, Object, Payload, Tree};
use larder_idb::{DiskFileSystem, Executor, StorageOptions, SystemClock};
use larder_leveldb::OnDamage;
use rquickjs::{CatchResultExt, Ctx, Value};

use super::{Deserializer, Helpers, serialize};
use crate::{Global, Host, Options};

fn host() -> Host {
    let mut storage = StorageOptions::in_memory(Arc::new(SystemClock));
    storage.executor = Executor::Driven { seed: None };
    Host::new(Options {
        global: Global::Window,
        origin: "https://example.com".into(),
        search: String::new(),
        storage,
        console: Box::new(|_, line| println!("{line}")),
    })
    .unwrap()
}

/// Calls `f` with every value of every golden store.
fn each_value(mut f: impl FnMut(&str, &Payload<'_>)) {
    for fixture in larder_fixtures::all() {
        let files = fixture.open();
        let options = OpenOptions {
            on_damage: OnDamage::Skip,
            ..OpenOptions::default()
        };
        let paths = StorePaths::of_leveldb(&files.leveldb());
        let store = Store::open_read_only(Arc::new(DiskFileSystem::new()), paths, options).unwrap();
        for database in store.databases(&mut Vec::new()).unwrap() {
            for object_store in &database.object_stores {
                let mut records = store.records(database.id, object_store.id, Direction::Next);
                while records.next().unwrap() {
                    let key = records.primary_key().unwrap();
                    let name = format!("{} {} {key:?}", fixture.name, object_store.name);
                    let mut buffer = Vec::new();
                    // Those that lie in blobs are of the same kinds.
                    if let Envelope::Inline(payload) =
                        Envelope::peel(records.value().unwrap(), &mut buffer).unwrap()
                    {
                        f(&name, &payload);
                    }
                }
            }
        }
    }
}

/// Blobs and files in the places where a value refers to them; `None` if it has something that this
/// host has not.
fn blobs<'js>(ctx: &Ctx<'js>, tree: &Tree<'_>) -> Option<Vec<Value<'js>>> {
    let mut blobs = Vec::new();
    for object in tree.objects() {
        let Object::Host(host) = object else { continue };
        let (indices, is_file) = match &**host {
            HostObject::Blob(index) => (vec![*index], false),
            HostObject::File(index) => (vec![*index], true),
            HostObject::FileList(files) => (files.to_vec(), true),
            HostObject::DomException { .. } | HostObject::QuotaExceededError { .. } => continue,
            _ => return None,
        };
        for index in indices {
            let made = if is_file {
                "new File([], 'f')"
            } else {
                "new Blob()"
            };
            let at = index as usize;
            while blobs.len() <= at {
                blobs.push(ctx.eval::<Value<'js>, _>("new Blob()").unwrap());
            }
            blobs[at] = ctx.eval(made).unwrap();
        }
    }
    Some(blobs)
}

#[derive(Debug, Default)]
struct Count {
    values: usize,
    of_today: usize,
    byte_for_byte: usize,
    /// Of objects that this host has not.
    foreign: usize,
}

fn again(ctx: &Ctx<'_>, helpers: &Helpers, name: &str, payload: &Payload<'_>, count: &mut Count) {
    let tree = Decoder::new().decode(payload).unwrap();
    let Some(blobs) = blobs(ctx, &tree) else {
        count.foreign += 1;
        return;
    };
    let mut deserializer = Deserializer::default();
    let value = deserializer.deserialize(ctx, helpers, payload.bytes(), &blobs, None);
    let value = value
        .catch(ctx)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let done = serialize(ctx, helpers, value);
    let done = done
        .catch(ctx)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut buffer = Vec::new();
    let Envelope::Inline(written) = Envelope::peel(&done.bytes, &mut buffer).unwrap() else {
        panic!("{name}")
    };
    let written = Decoder::new().decode(&written).unwrap();
    let is_dom_exception = |object: &Object<'_>| {
        matches!(object, Object::Host(host) if matches!(
            **host,
            HostObject::DomException { .. } | HostObject::QuotaExceededError { .. }
        ))
    };
    // Their stacks are not read, so not kept.
    let same = written.is_same_value(&tree) || tree.objects().any(is_dom_exception);
    assert!(same, "{name}: {:?} is not {tree:?}", written);
    count.values += 1;
    // Older versions of Blink have another form.
    if payload.versions().blink < 21 {
        return;
    }
    count.of_today += 1;
    let mut expected = payload.bytes().to_vec();
    if let Some(version) = expected.get_mut(16)
        && *version == 16
    {
        *version = 15;
    }
    count.byte_for_byte += usize::from(expected == done.bytes);
}

#[test]
fn values_of_chromiums_stores_survive_the_way_through_the_engine() {
    let host = host();
    let mut count = Count::default();
    host.with(|ctx, shared| {
        let helpers = shared.helpers(&ctx).unwrap();
        each_value(|name, payload| again(&ctx, &helpers, name, payload, &mut count));
    });
    println!("{count:?}");
    assert!(count.values > 24_000, "{count:?}");
    // V8 keeps some small integers as doubles, which no script can tell; all else is byte for byte.
    assert!(count.byte_for_byte * 100 > count.of_today * 94, "{count:?}");
}
