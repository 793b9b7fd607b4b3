// `Engine`: the binding's engine (binding/README.md) on the native half, for one factory.
import { CALL } from "./calls.js";
import { readValue, writeValue } from "./value.js";
import { AGAIN } from "./wire.js";

// The bits of a range that the native half has beside the binding's: whether there is a bound.
const HAS_LOWER = 8;
const HAS_UPPER = 16;

const ALL = { lower: undefined, upper: undefined, flags: 0 };

const DIRECTIONS = { __proto__: null, next: 0, nextunique: 1, prev: 2, prevunique: 3 };
// Bits.
const OPERATIONS = { __proto__: null, creation: 1, modification: 2, removal: 4 };
const DURABILITIES = { __proto__: null, default: 0, strict: 1, relaxed: 2 };

export class Engine {
  #last = 0;

  // `place` is undefined for databases in memory, or {folder, origin}. Nothing is opened before it is needed.
  constructor(loop, realm, codec, place) {
    this.loop = loop;
    this.wire = loop.wire;
    this.realm = realm;
    this.codec = codec;
    this.place = place;
    this.seat = new Seat(this);
    // The binding's.
    this.link = undefined;
    // Blobs that are being read.
    this.blobs = new Set();
    // Answers of ours, not of the link's, by number.
    this.own = new Map();
    // Requests that are not answered yet.
    this.left = 0;
    // A value goes to `put` at once or nowhere: so its bytes stay where the codec has written them.
    this.serialize = codec.encoded.bind(codec);
    this.calls = calls(this);
  }

  // The native half's number.
  opened() {
    const { seat } = this;
    if (seat.number === undefined) this.#open();
    if (seat.number === null) throw this.realm.fail("InvalidStateError", "The storage has been closed.");
    return seat.number;
  }

  #open() {
    const { wire, place } = this;
    if (place === undefined) {
      wire.begin(CALL.OPEN_MEMORY);
    } else {
      wire.begin(CALL.OPEN_FOLDER);
      wire.putString(place.folder);
      wire.putString(place.origin);
    }
    this.seat.number = wire.ask(this.realm.fail);
    this.loop.seats[this.seat.number] = this.seat;
  }

  // A request has been made: until it is answered, the engine is kept.
  asked() {
    this.left += 1;
    this.seat.kept = this;
    this.loop.asked();
  }

  answered() {
    this.left -= 1;
    if (this.left === 0) this.seat.kept = undefined;
    this.loop.answered();
  }

  settle(number, error) {
    const own = this.own.get(number);
    this.own.delete(number);
    if (error === undefined) own.resolve();
    else own.reject(error);
  }

  // Something that is no request of the binding's: a promise.
  #promise(what, handle = this.seat.number) {
    const number = OWN + this.#last++;
    this.wire.begin(what, handle, number);
    this.wire.ask(this.realm.fail);
    this.asked();
    return new Promise((resolve, reject) => this.own.set(number, { resolve, reject }));
  }

  // Closes all connections; resolves when what was stored is on the disk.
  async close() {
    const { seat } = this;
    if (typeof seat.number !== "number") {
      seat.number = null;
      return;
    }
    await Promise.allSettled(this.blobs);
    const closed = this.#promise(CALL.CLOSE);
    seat.number = null;
    await closed;
  }

  // Closes by force all connections to the database that one is to; resolves when each has got its event.
  forceClose(connection) {
    return this.#promise(CALL.FORCE_CLOSE, connection);
  }

  // Deletes all databases. Connections are closed by force.
  async reset() {
    if (this.seat.number === undefined && this.place === undefined) return;
    this.opened();
    await this.#promise(CALL.RESET);
  }
}

// The binding's numbers are counted from 0.
export const OWN = 2 ** 31;

// What the loop and the native half have of an engine. They do not keep it: an engine is of a realm, and keeps all of that realm. Scripts do, by the factory, a
// connection or what hangs on one, and so does a request that is not answered yet.
class Seat {
  // The native half's number, once it is opened; null when it has been closed.
  number = undefined;
  kept = undefined;
  #engine;

  constructor(engine) {
    this.#engine = new WeakRef(engine);
  }

  // Undefined once it has been collected.
  get engine() {
    return this.kept ?? this.#engine.deref();
  }

  // The engine has been collected: what it has in memory goes, and a folder is free if nothing else of this process has it.
  leave(loop) {
    if (typeof this.number !== "number") return;
    loop.wire.begin(CALL.CLOSE, this.number, OWN);
    this.number = null;
    loop.wire.ask((name, message) => new Error(`${name}: ${message}`));
    loop.asked();
  }
}

function calls(engine) {
  const { loop, wire, realm } = engine;
  const { fail } = realm;

  // A request that is answered later.
  function request() {
    wire.ask(fail);
    engine.asked();
  }

  const bitsOf = ({ lower, upper, flags }) => flags | (lower === undefined ? 0 : HAS_LOWER) | (upper === undefined ? 0 : HAS_UPPER);

  function putBounds({ lower, upper }) {
    if (lower !== undefined) wire.putKey(lower);
    if (upper !== undefined) wire.putKey(upper);
  }

  function beginRange(what, number, source, range, d = 0, e = 0, f = 0) {
    wire.begin(what, number, source, bitsOf(range), d, e, f);
    putBounds(range);
  }

  // An answer at once, of whatever size: `begin` writes what is asked.
  function askWhole(begin) {
    for (;;) {
      begin();
      const answered = wire.ask(fail);
      if (answered !== AGAIN) return answered;
    }
  }

  function named(what, handle, name) {
    wire.begin(what, handle);
    wire.putString(name);
    wire.ask(fail);
  }

  function names(what, handle) {
    askWhole(() => wire.begin(what, handle));
    return wire.strings();
  }

  function getAll(parts) {
    return (number, source, range, count, direction) => {
      beginRange(CALL.GET_ALL, number, source, range, parts, count ?? 0, DIRECTIONS[direction]);
      request();
    };
  }

  return {
    __proto__: null,
    openDatabase(number, name, version) {
      wire.begin(CALL.OPEN_DATABASE, engine.opened(), number, version === undefined ? 0 : 1);
      wire.putNumber(version ?? 0);
      wire.putString(name);
      request();
    },
    deleteDatabase(number, name) {
      wire.begin(CALL.DELETE_DATABASE, engine.opened(), number);
      wire.putString(name);
      request();
    },
    databases(number) {
      wire.begin(CALL.DATABASES, engine.opened(), number);
      request();
    },
    watchConnection(connection, watch) {
      wire.begin(CALL.WATCH_CONNECTION, connection, watch);
      wire.ask(fail);
    },
    versionChangeDispatched(token) {
      wire.begin(CALL.DISPATCHED, token);
      wire.ask(fail);
    },
    closeConnection(connection) {
      wire.begin(CALL.CLOSE_CONNECTION, connection);
      wire.ask(fail);
    },
    objectStoreNames: (connection) => names(CALL.OBJECT_STORE_NAMES, connection),
    beginTransaction(connection, scope, mode, durability) {
      wire.begin(CALL.BEGIN, connection, mode === "readwrite" ? 1 : 0, DURABILITIES[durability]);
      wire.putStrings(scope);
      return wire.ask(fail);
    },
    watchTransaction(transaction, number) {
      wire.begin(CALL.WATCH_TRANSACTION, transaction, number);
      request();
    },
    commit(transaction) {
      const commit = () => {
        wire.begin(CALL.COMMIT, transaction);
        wire.ask(fail);
      };
      if (engine.blobs.size === 0) commit();
      else Promise.allSettled(engine.blobs).then(commit);
    },
    abort(transaction, name, message) {
      wire.begin(CALL.ABORT, transaction, name === null ? 0 : 1);
      wire.putString(name ?? "");
      wire.putString(message);
      wire.ask(fail);
    },
    objectStore(transaction, name) {
      const handle = askWhole(() => {
        wire.begin(CALL.OBJECT_STORE, transaction);
        wire.putString(name);
      });
      const autoIncrement = wire.words[1] !== 0;
      return [handle, wire.keyPath(), autoIncrement];
    },
    createObjectStore(transaction, name, keyPath, autoIncrement) {
      wire.begin(CALL.CREATE_OBJECT_STORE, transaction, autoIncrement ? 1 : 0);
      wire.putString(name);
      wire.putKeyPath(keyPath);
      return wire.ask(fail);
    },
    deleteObjectStore: (transaction, name) => named(CALL.DELETE_OBJECT_STORE, transaction, name),
    renameObjectStore: (handle, name) => named(CALL.RENAME_OBJECT_STORE, handle, name),
    indexNames: (handle) => names(CALL.INDEX_NAMES, handle),
    index(handle, name) {
      const number = askWhole(() => {
        wire.begin(CALL.INDEX, handle);
        wire.putString(name);
      });
      const [, unique, multiEntry] = wire.words;
      return [number, wire.keyPath(), unique !== 0, multiEntry !== 0];
    },
    createIndex(handle, name, keyPath, unique, multiEntry) {
      wire.begin(CALL.CREATE_INDEX, handle, unique ? 1 : 0, multiEntry ? 1 : 0);
      wire.putString(name);
      wire.putKeyPath(keyPath);
      return wire.ask(fail);
    },
    deleteIndex: (handle, name) => named(CALL.DELETE_INDEX, handle, name),
    renameIndex: (handle, name) => named(CALL.RENAME_INDEX, handle, name),
    put(number, handle, clone, key, overwrite) {
      wire.begin(CALL.PUT, number, handle, overwrite ? 1 : 0, key === undefined ? 0 : 1);
      const readBlobs = writeValue(engine, wire, clone);
      if (key !== undefined) wire.putKey(key);
      request();
      readBlobs?.();
    },
    delete(number, handle, range) {
      beginRange(CALL.DELETE, number, handle, range);
      request();
    },
    clear(number, handle) {
      wire.begin(CALL.CLEAR, number, handle);
      request();
    },
    get(number, source, range) {
      beginRange(CALL.GET, number, source, range);
      request();
    },
    getKey(number, source, range) {
      beginRange(CALL.GET_KEY, number, source, range);
      request();
    },
    count(number, source, range) {
      beginRange(CALL.COUNT, number, source, range);
      request();
    },
    getAll: getAll(0),
    getAllKeys: getAll(1),
    getAllRecords: getAll(2),
    openCursor(number, source, range, direction, withValue) {
      beginRange(CALL.OPEN_CURSOR, number, source, range, withValue ? 1 : 0, DIRECTIONS[direction]);
      request();
    },
    advanceCursor(number, cursor, count) {
      wire.begin(CALL.ADVANCE, number, cursor, count);
      request();
    },
    continueCursor(number, cursor, key) {
      wire.begin(CALL.CONTINUE, number, cursor, key === undefined ? 0 : 1);
      if (key !== undefined) wire.putKey(key);
      request();
    },
    continueCursorPrimaryKey(number, cursor, key, primaryKey) {
      wire.begin(CALL.CONTINUE_PRIMARY_KEY, number, cursor);
      wire.putKey(key);
      wire.putKey(primaryKey);
      request();
    },
    cursorKey(cursor) {
      askWhole(() => wire.begin(CALL.CURSOR_KEY, cursor));
      return wire.key(realm);
    },
    cursorPrimaryKey(cursor) {
      askWhole(() => wire.begin(CALL.CURSOR_PRIMARY_KEY, cursor));
      return wire.key(realm);
    },
    cursorValue(cursor) {
      const has = askWhole(() => wire.begin(CALL.CURSOR_VALUE, cursor));
      return has === 0 ? undefined : readValue(engine, wire);
    },
    updateCursor(number, cursor, clone) {
      wire.begin(CALL.UPDATE, number, cursor);
      const readBlobs = writeValue(engine, wire, clone);
      request();
      readBlobs?.();
    },
    deleteCursor(number, cursor) {
      wire.begin(CALL.DELETE_CURSOR, number, cursor);
      request();
    },
    setChangeFeed(number, name, isOn) {
      wire.begin(CALL.SET_CHANGE_FEED, engine.opened(), number, isOn ? 1 : 0);
      wire.putString(name);
      request();
    },
    openChanges(connection, { after, consumer, stores, range = ALL, operationTypes, values }) {
      let kinds = 0;
      for (const name of operationTypes ?? []) kinds |= OPERATIONS[name];
      wire.begin(CALL.OPEN_CHANGES, connection, consumer === undefined ? 0 : 1, values ? 1 : 0, stores === undefined ? 0 : 1, bitsOf(range), kinds);
      if (consumer === undefined) wire.putNumber(after);
      else wire.putString(consumer);
      if (stores !== undefined) wire.putStrings(stores);
      putBounds(range);
      return wire.ask(fail);
    },
    nextChanges(number, changes, isLive) {
      wire.begin(CALL.NEXT_CHANGES, number, changes, isLive ? 1 : 0);
      request();
    },
    acknowledgeChanges(number, changes, position) {
      wire.begin(CALL.ACKNOWLEDGE_CHANGES, number, changes);
      wire.putNumber(position);
      request();
    },
    stopChanges(changes) {
      wire.begin(CALL.STOP_CHANGES, changes);
      wire.ask(fail);
    },
    release(handle) {
      wire.begin(CALL.RELEASE, handle);
      wire.ask(fail);
    },
  };
}
