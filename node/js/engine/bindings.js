// The interfaces of IndexedDB for a realm, and factories of it.
import { types } from "node:util";

import { createBinding } from "../../../binding/src/mod.js";
import { peek } from "../../../binding/src/slot.js";
import { Codec } from "../codec/index.js";
import { CALL } from "./calls.js";
import * as cryptoKeys from "./crypto_keys.js";
import { Engine } from "./engine.js";
import * as geometry from "./geometry.js";
import { addInspection } from "./inspect.js";
import { Loop } from "./loop.js";
import { start } from "./native.js";
import { Realm } from "./realm.js";

const loop = new Loop(start);
const { wire } = loop;

// Engines of the factories that this module has made, by the object that script has, and by their links.
const engines = new WeakMap();

// Objects of the runtime's own classes.
const describe = (object) => cryptoKeys.describe(object) ?? geometry.describe(object);
const make = (description) => cryptoKeys.make(description) ?? geometry.make(description);

const onceCollected = new FinalizationRegistry((seat) => seat.leave(loop));

export class Interfaces {
  // `target` is the realm's global object.
  constructor(target) {
    this.realm = new Realm(target);
    const { realm } = this;
    const { Event, EventTarget } = target;
    const hasEvents = typeof Event === "function" && typeof EventTarget === "function";
    const host = {
      ...loop.host,
      wantCheckpointCleanup: () => loop.wantCleanup(this.cleanup),
      isProxy: types.isProxy,
      compare: (first, second) => compare(realm, first, second),
      keyToValue: (key) => valueOf(realm, key),
    };
    const runtime = hasEvents ? { Event, EventTarget } : undefined;
    this.binding = createBinding({ global: realm.global, host, runtime });
    addInspection(this.binding.interfaces, placeOf);
    this.cleanup = this.binding.checkpoint.runCheckpointCleanup;
    this.codec = new Codec({ global: realm.global, describe, make });
  }

  // A factory of databases in memory, or in a folder: {folder, origin}.
  factory(place) {
    const engine = new Engine(loop, this.realm, this.codec, place);
    const { indexedDB, link } = this.binding.createFactory(engine.calls, engine.serialize);
    engine.link = link;
    engines.set(indexedDB, engine);
    engines.set(link, engine);
    onceCollected.register(engine, engine.seat);
    return indexedDB;
  }
}

// The engine of a factory; undefined if it is none of this module's.
export const engineOf = (factory) => engines.get(factory);

// {folder, origin}; undefined for databases in memory.
export const placeOf = (factory) => engineOf(factory).place;

// Closes by force all connections to the database that a connection is to; resolves when each has got its event.
export function forceClose(database) {
  const state = peek(database);
  if (state?.connection === undefined) throw new TypeError("not a connection of larder-idb");
  return engines.get(state.link).forceClose(state.connection);
}

function compare(realm, first, second) {
  const type = typeof first;
  // By number, and by units: as keys are.
  if (type === typeof second && (type === "number" || type === "string")) return first < second ? -1 : Number(first > second);
  wire.begin(CALL.COMPARE);
  wire.putKey(first);
  wire.putKey(second);
  return wire.ask(realm.fail) - 1;
}

// The value of a key that the binding has converted.
function valueOf(realm, key) {
  if (typeof key !== "object") return key;
  if (Array.isArray(key)) {
    const array = realm.newArray();
    for (let i = 0; i < key.length; i++) realm.append(array, valueOf(realm, key[i]));
    return array;
  }
  if (key.date !== undefined) return new realm.Date(key.date);
  const copy = new realm.Uint8Array(key.byteLength);
  copy.set(new Uint8Array(key));
  return copy.buffer;
}
