// What the judges of this folder judge: `fake-indexeddb`, fetched at one version, or the folder of a `larder-idb`.
import { pathToFileURL } from "node:url";
import { isAbsolute, join, resolve } from "node:path";
import process from "node:process";

import { installed } from "./packages.mjs";

export const FAKE = "fake-indexeddb";
const FAKE_VERSION = "6.2.8";
/** This checkout's package. */
export const OURS = resolve(import.meta.dirname, "../..");

const INTERFACES = [
  "IDBCursor",
  "IDBCursorWithValue",
  "IDBDatabase",
  "IDBFactory",
  "IDBIndex",
  "IDBKeyRange",
  "IDBObjectStore",
  "IDBOpenDBRequest",
  "IDBRecord",
  "IDBRequest",
  "IDBTransaction",
  "IDBVersionChangeEvent",
];

/** The folder of an implementation's package. */
export async function folderOf(implementation) {
  if (implementation !== FAKE) return isAbsolute(implementation) ? implementation : resolve(implementation);
  const folder = await installed({ [FAKE]: FAKE_VERSION });
  return join(folder, "node_modules", FAKE);
}

/** Loads a package from its folder: `{ module, install(target) }`. `storage` is a folder for its data; without, it is in memory. */
export async function load(folder, storage = undefined) {
  const isFake = folder.endsWith(FAKE);
  const at = (path) => import(pathToFileURL(join(folder, path)).href);
  if (isFake) {
    if (storage !== undefined) throw new Error(`${FAKE} has no storage on disk`);
    const module = await at("build/esm/index.js");
    return { module, standIns: {}, install: (target) => define(target, module) };
  }
  const module = await at("js/index.js");
  const { Stored, StoredFileList } = await at("js/codec/index.js");
  const standIns = { Stored, StoredFileList };
  const factory = storage === undefined ? module.indexedDB : module.open({ folder: storage });
  return { module, standIns, install: (target) => module.install(target, factory) };
}

function define(target, module) {
  for (const name of INTERFACES) {
    if (module[name] !== undefined) Object.defineProperty(target, name, { value: module[name], writable: true, configurable: true });
  }
  Object.defineProperty(target, "indexedDB", { value: module.indexedDB, writable: true, enumerable: true, configurable: true });
}

/** Takes `--name VALUE` of `names` and flags of `flags` from the command line; the rest is `rest`. */
export function parameters(usage, names, flags = [], from = process.argv.slice(2)) {
  const found = { rest: [] };
  for (let at = 0; at < from.length; at++) {
    const name = from[at].startsWith("--") ? from[at].slice(2) : undefined;
    if (name === undefined) found.rest.push(from[at]);
    else if (flags.includes(name)) found[name] = true;
    else if (names.includes(name) && at + 1 < from.length) found[name] = from[++at];
    else {
      console.error(usage);
      process.exit(2);
    }
  }
  return found;
}
