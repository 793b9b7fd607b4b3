// IndexedDB as W3C's "Indexed Database API 3.0" has it, for a realm, on engines. README.md has the contract with host and engine.
import { builtIns } from "./built_ins.js";
import { changes } from "./changes.js";
import { checkpoint } from "./checkpoint.js";
import { cursor } from "./cursor.js";
import { database } from "./database.js";
import { event } from "./event.js";
import { eventTarget } from "./event_target.js";
import { factory } from "./factory.js";
import { index } from "./index.js";
import { internals } from "./internals.js";
import { key } from "./key.js";
import { keyPath } from "./key_path.js";
import { keyRange } from "./key_range.js";
import { link } from "./link.js";
import { listeners } from "./listeners.js";
import { names } from "./names.js";
import { objectStore } from "./object_store.js";
import { openRequest } from "./open_request.js";
import { record } from "./record.js";
import { request } from "./request.js";
import { source } from "./source.js";
import { stringList } from "./string_list.js";
import { transaction } from "./transaction.js";
import { versionChangeEvent } from "./version_change_event.js";
import { webidl } from "./webidl.js";

// Each takes what stands before it.
const PARTS = {
  __proto__: null,
  internals, webidl, names, keyPath, listeners, checkpoint, link, event, eventTarget, stringList, key, keyRange, record, request,
  versionChangeEvent, cursor, source, index, objectStore, transaction, database, openRequest, factory, changes,
};

// The interfaces of a realm. `global` is its global object; `host` what the binding asks of the host; `runtime` has the classes Event and
// EventTarget of a realm that has its own, which ours extend then. Nothing of the realm is changed.
export function createBinding({ global, host, runtime = undefined }) {
  const binding = { host, runtime, builtIns: builtIns(global) };
  for (const name in PARTS) binding[name] = PARTS[name](binding);
  binding.interfaces = interfacesOf(binding);
  binding.createFactory = (engine, serialize) => createFactory(binding, engine, serialize);
  binding.install = (target, holder, indexedDB) => install(binding, target, holder, indexedDB);
  return binding;
}

function interfacesOf(binding) {
  const { Event } = binding.event;
  const { EventTarget } = binding.eventTarget;
  return {
    DOMStringList: binding.stringList.DOMStringList,
    // Those that a runtime has are its own.
    ...(binding.runtime === undefined ? { Event, EventTarget } : {}),
    IDBCursor: binding.cursor.IDBCursor,
    IDBCursorWithValue: binding.cursor.IDBCursorWithValue,
    IDBDatabase: binding.database.IDBDatabase,
    IDBFactory: binding.factory.IDBFactory,
    IDBIndex: binding.index.IDBIndex,
    IDBKeyRange: binding.keyRange.IDBKeyRange,
    IDBObjectStore: binding.objectStore.IDBObjectStore,
    IDBOpenDBRequest: binding.openRequest.IDBOpenDBRequest,
    IDBRecord: binding.record.IDBRecord,
    IDBRequest: binding.request.IDBRequest,
    IDBTransaction: binding.transaction.IDBTransaction,
    IDBVersionChangeEvent: binding.versionChangeEvent.IDBVersionChangeEvent,
  };
}

// An IDBFactory on an engine, and its link: the engine answers by `link.complete` and `link.notify`.
function createFactory(binding, engine, serialize) {
  const link = new binding.link.Link(engine, serialize);
  return { indexedDB: binding.factory.createFactory(link), link };
}

// Puts the interfaces on a global object, and `indexedDB` on `holder`: it, or in a worker WorkerGlobalScope.prototype. What the object has
// already of the same name, but for IndexedDB itself, stays.
function install(binding, target, holder, indexedDB) {
  const { exposeGlobal } = binding.internals;
  const { getOwnPropertyDescriptor, TypeError } = binding.builtIns;
  for (const name of Object.keys(binding.interfaces)) {
    if (name.startsWith("IDB") || !(name in target)) exposeGlobal(target, name, binding.interfaces[name]);
  }
  const { get } = getOwnPropertyDescriptor(
    {
      get indexedDB() {
        if (this !== undefined && this !== null && this !== target && !hasGetter(this)) throw new TypeError("Illegal invocation");
        return indexedDB;
      },
    },
    "indexedDB",
  );
  // The global object of a vm context hands its properties on to another object, which is the receiver then. A prototype is none.
  const hasGetter = (object) => holder === target && getOwnPropertyDescriptor(object, "indexedDB")?.get === get;
  Object.defineProperty(holder, "indexedDB", { get, set: undefined, enumerable: true, configurable: true });
}
