//! Values of Chromium's stores become values of the engine and bytes again; and what scripts clone.

use std::sync::Arc;

use larder_backing_store::{CursorDirection, OpenOptions, Store, StorePaths};
use larder_codec::DataVersion;
use larder_codec::value::{Decoder, Envelope, HostObject, Object, Payload, Tree};
use larder_idb::{DiskFileSystem, Executor, StorageOptions, SystemClock};
use larder_leveldb::OnDamage;
use rquickjs::{CatchResultExt, Ctx};

use super::{Beside, Deserializer, Helpers, serialize};
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
                let mut records =
                    store.records(database.id, object_store.id, CursorDirection::Next);
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

/// Blobs and files in the places where a value refers to them, and enough tokens.
fn beside<'js>(ctx: &Ctx<'js>, tree: &Tree<'_>) -> Beside<'static, 'js> {
    let mut beside = Beside {
        blobs: Vec::new(),
        tokens: vec![b"a", b"b", b"c", b"d"],
    };
    for object in tree.objects() {
        let Object::Host(host) = object else { continue };
        let (indices, is_file) = match &**host {
            HostObject::Blob(index) => (vec![*index], false),
            HostObject::File(index) => (vec![*index], true),
            HostObject::FileList(files) => (files.to_vec(), true),
            _ => continue,
        };
        for index in indices {
            let made = if is_file {
                "new File([], 'f')"
            } else {
                "new Blob()"
            };
            let at = index as usize;
            while beside.blobs.len() <= at {
                beside.blobs.push(ctx.eval("new Blob()").unwrap());
            }
            beside.blobs[at] = ctx.eval(made).unwrap();
        }
    }
    beside
}

/// Whether something in it is of another specification, and is written as Chromium writes it.
fn is_of_the_platform(tree: &Tree<'_>) -> bool {
    tree.objects().any(|object| {
        matches!(object, Object::Host(host) if !matches!(
            **host,
            HostObject::DomException { .. } | HostObject::QuotaExceededError { .. }
        ))
    })
}

#[derive(Debug, Default)]
struct Count {
    values: usize,
    of_today: usize,
    byte_for_byte: usize,
    /// Values in today's format, with objects of the web platform in them.
    of_the_platform: usize,
}

fn again(ctx: &Ctx<'_>, helpers: &Helpers, name: &str, payload: &Payload<'_>, count: &mut Count) {
    let tree = Decoder::new().decode(payload).unwrap();
    let beside = beside(ctx, &tree);
    let mut deserializer = Deserializer::default();
    let value = deserializer.deserialize(ctx, helpers, payload.bytes(), &beside, None, None);
    let value = value
        .catch(ctx)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let done = serialize(ctx, helpers, value);
    let done = done
        .catch(ctx)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    // It needs no greater versions than it was read in, or the least in which anything is written.
    let least = DataVersion { v8: 13, blink: 17 };
    let read_in = DataVersion::from(payload.versions()).max(least);
    assert!(done.needs.fit(read_in), "{name}: {}", done.needs);
    let mut buffer = Vec::new();
    let Envelope::Inline(written) = Envelope::peel(&done.bytes, &mut buffer).unwrap() else {
        panic!("{name}")
    };
    let decoded = Decoder::new().decode(&written).unwrap();
    let is_dom_exception = |object: &Object<'_>| {
        matches!(object, Object::Host(host) if matches!(
            **host,
            HostObject::DomException { .. } | HostObject::QuotaExceededError { .. }
        ))
    };
    // Their stacks are not read, so not kept.
    let same = decoded.is_same_value(&tree) || tree.objects().any(is_dom_exception);
    assert!(same, "{name}: {decoded:?} is not {tree:?}");
    count.values += 1;
    // Older versions of Blink have another form.
    if payload.versions().blink < 21 {
        return;
    }
    count.of_today += 1;
    // V8's version: newer browsers write 16 where 15 will do, and we 16 where browsers of 15 differ.
    let [mut expected, mut written] = [payload.bytes().to_vec(), done.bytes];
    for bytes in [&mut expected, &mut written] {
        if let Some(version) = bytes.get_mut(16) {
            *version = (*version).min(15);
        }
    }
    count.byte_for_byte += usize::from(expected == written);
    if is_of_the_platform(&tree) {
        count.of_the_platform += 1;
        assert_eq!(expected, written, "{name}");
    }
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
    assert!(count.of_the_platform > 100, "{count:?}");
    // V8 keeps some small integers as doubles, which no script can see; all else is byte for byte.
    assert!(count.byte_for_byte * 100 > count.of_today * 94, "{count:?}");
}
