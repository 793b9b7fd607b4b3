// IndexedDB as W3C's "Indexed Database API 3.0" has it, on an engine behind `hooks.js`.
export { setHooks, runCheckpointCleanup } from "./hooks.js";
export { complete, expect, notify } from "./request.js";
export { dispatch, EventTarget, EventTargetState, defineHandlers } from "./event_target.js";
export { createEvent, Event, EventState } from "./event.js";
export { attach, exposeGlobal, exposeInterface, INTERNAL, peek, requireArguments, stamp, stateOf } from "./internals.js";
export * as webidl from "./webidl.js";
import { exposeGlobal } from "./internals.js";
import { createFactory, IDBFactory } from "./factory.js";
import { IDBCursor, IDBCursorWithValue } from "./cursor.js";
import { IDBDatabase } from "./database.js";
import { IDBIndex } from "./index.js";
import { IDBKeyRange } from "./key_range.js";
import { IDBObjectStore } from "./object_store.js";
import { IDBOpenDBRequest } from "./open_request.js";
import { IDBRecord } from "./record.js";
import { IDBRequest } from "./request.js";
import { IDBTransaction } from "./transaction.js";
import { IDBVersionChangeEvent } from "./version_change_event.js";
import { DOMStringList } from "./string_list.js";
import { Event } from "./event.js";
import { EventTarget } from "./event_target.js";

const interfaces = {
  DOMStringList,
  Event,
  EventTarget,
  IDBCursor,
  IDBCursorWithValue,
  IDBDatabase,
  IDBFactory,
  IDBIndex,
  IDBKeyRange,
  IDBObjectStore,
  IDBOpenDBRequest,
  IDBRecord,
  IDBRequest,
  IDBTransaction,
  IDBVersionChangeEvent,
};

// Puts the interfaces on a global object, and `indexedDB` on `holder`: it, or in a worker
// WorkerGlobalScope.prototype.
export function install(global, holder) {
  for (const name of Object.keys(interfaces)) exposeGlobal(global, name, interfaces[name]);
  const factory = createFactory();
  const { get } = Object.getOwnPropertyDescriptor(
    {
      get indexedDB() {
        if (this !== undefined && this !== null && this !== global) throw new TypeError("Illegal invocation");
        return factory;
      },
    },
    "indexedDB",
  );
  Object.defineProperty(holder, "indexedDB", { get, set: undefined, enumerable: true, configurable: true });
}
