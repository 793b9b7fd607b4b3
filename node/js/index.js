// larder-idb: IndexedDB in Chromium's own format.
import { resolve } from "node:path";
import { env } from "node:process";

import { engineOf, forceClose, Interfaces, placeOf } from "./engine/bindings.js";

const own = new Interfaces(globalThis);
const { interfaces } = own.binding;

// Where no origin is given.
const ORIGIN = "http://localhost";

export const {
  IDBCursor, IDBCursorWithValue, IDBDatabase, IDBIndex, IDBKeyRange, IDBObjectStore, IDBOpenDBRequest, IDBRecord, IDBRequest, IDBTransaction,
  IDBVersionChangeEvent,
} = interfaces;

// Made by scripts, it has databases in memory, which are its own. Instances of either class are of both.
export const IDBFactory = constructible(interfaces.IDBFactory);

function constructible({ prototype }) {
  function IDBFactory() {
    if (new.target === undefined) throw new TypeError("Class constructor IDBFactory cannot be invoked without 'new'");
    return own.factory();
  }
  Object.defineProperty(IDBFactory, "prototype", { value: prototype });
  return IDBFactory;
}

// In memory, or in the folder that LARDER_IDB_DIR names.
export const indexedDB = env.LARDER_IDB_DIR ? open({ folder: env.LARDER_IDB_DIR }) : own.factory();

// The databases of an origin in a folder, as a browser's profile has them in its folder "IndexedDB". All threads of a process may have a folder open, but
// one process at a time: in another, requests fail with an error that says so.
export function open({ folder, origin = ORIGIN }) {
  if (folder instanceof URL) throw new TypeError("folder: a path, not a URL (node:url has fileURLToPath)");
  return own.factory({ folder: resolve(`${folder}`), origin: `${origin}` });
}

// Puts IndexedDB on a global object: this realm's, a vm context's (its globalThis), a window of jsdom or happy-dom. Gives its `indexedDB`.
export function install(target = globalThis, factory = undefined) {
  const isOwn = target === globalThis;
  const realm = isOwn ? own : new Interfaces(target);
  const installed = factory ?? (isOwn ? indexedDB : realm.factory(placeOf(indexedDB)));
  realm.binding.install(target, target, installed);
  return installed;
}

function engine(factory) {
  const found = engineOf(factory);
  if (found === undefined) throw new TypeError("not a factory of larder-idb");
  return found;
}

// Deletes all databases, whose connections are closed by force.
export async function reset(factory = indexedDB) {
  await engine(factory).reset();
}

// Closes all connections. Resolves when all that was committed is on the disk, and the folder is free for another process.
export async function close(factory = indexedDB) {
  await engine(factory).close();
}

// Closes all connections to a connection's database, as a browser does when its user deletes the data: they get the event "close". Resolves when they
// have.
export function forceCloseDatabase(database) {
  return forceClose(database);
}

// The transactions of a database's change feed, as an async iterator: those that there are, and then those that come (docs/format/feed.md has the options).
export const { changes } = own.binding.changes;

// Turns the change feed of a database on or off.
export function setChangeFeed(name, isOn = true, factory = indexedDB) {
  return own.binding.changes.setChangeFeed(factory, name, isOn);
}

export default indexedDB;
