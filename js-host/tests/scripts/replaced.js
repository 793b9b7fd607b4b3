// What a script has put in place of built-ins is none of IndexedDB's business: every function of the language's that hangs on the global
// object, a constructor or a prototype is replaced by one that notes that it was called. Steps are callbacks: promises are replaced, too.
{
  const { Event: NewEvent, EventTarget: Target, IDBKeyRange: Range } = globalThis;
  const { apply, construct, ownKeys } = Reflect;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const NAMES = [
    "AggregateError", "Array", "ArrayBuffer", "BigInt", "BigInt64Array", "Boolean", "DataView", "Date", "DOMException", "Error",
    "FinalizationRegistry", "Float64Array", "Function", "Iterator", "JSON", "Map", "Math", "Number", "Object", "Promise", "Proxy", "RangeError",
    "Reflect", "RegExp", "Set", "String", "Symbol", "TypeError", "Uint8Array", "WeakMap", "WeakRef", "WeakSet",
  ];
  const noted = { __proto__: null };
  const undo = [];
  let noting = false;
  const text = (key) => (typeof key === "symbol" ? key.description : key);

  function wrapper(name, original) {
    "use strict";
    return function (...args) {
      if (noting) noted[name] = true;
      return new.target === undefined ? apply(original, this, args) : construct(original, args, new.target);
    };
  }

  function replace(owner, name, only) {
    for (const key of only ?? ownKeys(owner)) {
      const old = getOwnPropertyDescriptor(owner, key);
      if (!old?.configurable || key === "constructor") continue;
      const fresh = { __proto__: null, ...old };
      for (const part of ["value", "get", "set"]) {
        if (typeof old[part] === "function") fresh[part] = wrapper(`${name}.${text(key)}`, old[part]);
      }
      if (typeof old.value === "function") fresh.value.prototype = old.value.prototype;
      undo.push([owner, key, old]);
      defineProperty(owner, key, fresh);
    }
  }

  // Found by code that reads a property which an object of its own has not.
  const LURES = ["aborted", "autoIncrement", "capture", "count", "cursorKey", "durability", "get", "keyPath", "once", "options", "passive", "set", "signal", "unique"];

  function replaceAll() {
    const owners = NAMES.filter((name) => name in globalThis).flatMap((name) => [
      [globalThis[name], name],
      [globalThis[name].prototype, `${name}.prototype`],
    ]);
    owners.push([getPrototypeOf(Uint8Array), "TypedArray"], [getPrototypeOf(Uint8Array.prototype), "TypedArray.prototype"]);
    for (const iterable of [[], new Map(), new Set(), "", "".matchAll(/x/g)]) {
      owners.push([getPrototypeOf(iterable[Symbol.iterator]()), `iterator of ${iterable}`]);
    }
    for (const [owner, name] of owners) if (owner !== undefined) replace(owner, name);
    replace(globalThis, "global", [...NAMES, "AbortSignal", "EventTarget", "Event", "IDBKeyRange", "IDBRequest"]);
    for (const name of LURES) {
      const get = wrapper(`Object.prototype.${name}`, () => undefined);
      const set = function (value) {
        if (noting) noted[`Object.prototype.${name} =`] = true;
        defineProperty(this, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
      };
      defineProperty(Object.prototype, name, { __proto__: null, get, set, configurable: true });
      undo.push([Object.prototype, name, undefined]);
    }
  }

  function restore() {
    for (let i = undo.length - 1; i >= 0; i--) {
      const [owner, key, old] = [undo[i][0], undo[i][1], undo[i][2]];
      if (old === undefined) delete owner[key];
      else defineProperty(owner, key, { __proto__: null, ...old });
    }
  }

  const throwing = (run) => {
    try {
      run();
    } catch {
      return;
    }
    throw "did not throw";
  };

  // Each calls the next when it is over; none of them calls a built-in.
  const date = new Date(5);
  const bytes = new Uint8Array([1, 2, 3]);
  const nested = [1, ["two", date], bytes];
  const { signal } = new AbortController();
  signal.addEventListener = wrapper("signal.addEventListener", signal.addEventListener);
  const options = { __proto__: null, once: true, passive: true, capture: false, signal };
  const key = { __proto__: null, keyPath: "a.b", autoIncrement: true };
  const multi = { __proto__: null, unique: false, multiEntry: true };
  const strict = { __proto__: null, durability: "strict" };
  const first3 = { __proto__: null, query: undefined, count: 3, direction: "prev" };
  const value = (n, many) => ({ __proto__: null, n, many });
  const prevent = (event) => event.preventDefault();

  function upgrade(request) {
    const db = request.result;
    const s = db.createObjectStore("s");
    s.createIndex("n", "n", { __proto__: null, unique: false, multiEntry: false });
    s.createIndex("many", "many", multi);
    s.createIndex("gone", "x");
    s.deleteIndex("gone");
    s.name = "t";
    s.index("n").name = "m";
    db.createObjectStore("k", key);
    db.createObjectStore("gone");
    db.deleteObjectStore("gone");
    db.objectStoreNames.contains("t");
    db.objectStoreNames.item(0);
    s.indexNames.contains("m");
    throwing(() => db.createObjectStore("t"));
    throwing(() => db.createObjectStore("bad", { __proto__: null, keyPath: "a b" }));
    throwing(() => s.index("none"));
    for (let i = 0; i < 4; i++) s.put(value(i, nested), i);
    s.put(value(9, 1), nested);
  }

  function records(db, next) {
    const transaction = db.transaction("t", "readwrite", strict);
    const store = transaction.objectStore("t");
    const listener = () => undefined;
    transaction.addEventListener("complete", listener, options);
    transaction.addEventListener("complete", listener, true);
    transaction.removeEventListener("complete", listener, true);
    transaction.oncomplete = next;
    store.get(1);
    store.getKey(Range.bound(0, 2, true, false));
    store.getAll(Range.lowerBound(1), 2);
    store.getAllKeys(first3);
    store.getAllRecords(first3);
    store.count(Range.only(nested));
    store.index("many").getAll("two");
    store.add(value(1), 1).onerror = prevent;
    store.delete(3);
    throwing(() => store.get({}));
    throwing(() => store.put(value(1)));
    throwing(() => store.put(() => undefined, 7));
    throwing(() => store.openCursor(null, "sideways"));
    const walk = store.index("m").openCursor(null, "next");
    let step = 0;
    walk.onsuccess = () => {
      const cursor = walk.result;
      if (cursor === null) return;
      void [cursor.key, cursor.primaryKey, cursor.value, cursor.direction, cursor.source, cursor.request];
      step += 1;
      if (step === 1) cursor.update(cursor.value);
      if (step === 2) cursor.continuePrimaryKey(2, 2);
      else if (step === 3) cursor.advance(1);
      else cursor.continue();
      throwing(() => cursor.continue(1));
    };
  }

  function aborted(db, next) {
    const transaction = db.transaction("k", "readwrite");
    transaction.objectStore("k").put({ __proto__: null }).onerror = prevent;
    transaction.objectStore("k").clear();
    transaction.onabort = () => {
      const failing = db.transaction("t", "readwrite");
      failing.onabort = next;
      failing.objectStore("t").add(1, 1);
    };
    transaction.abort();
    throwing(() => transaction.objectStore("k"));
    throwing(() => db.transaction("none"));
    throwing(() => db.transaction("t", "sideways"));
  }

  function others(db) {
    indexedDB.cmp(nested, bytes);
    indexedDB.databases();
    const range = Range.bound("a", "b");
    range.includes("aa");
    void [range.lower, range.upper, range.lowerOpen, range.upperOpen];
    const target = new Target();
    target.addEventListener("x", () => undefined);
    for (let i = 0; i < 40; i++) target.addEventListener("x", () => undefined);
    target.dispatchEvent(new NewEvent("x", { __proto__: null, bubbles: true }));
    new IDBVersionChangeEvent("x", { __proto__: null, oldVersion: 1.5, newVersion: 2 ** 60 });
    throwing(() => indexedDB.open());
    throwing(() => indexedDB.open("x", -1));
    throwing(() => Range.only(null));
    throwing(() => new Range());
    db.onversionchange = () => db.close();
  }

  test("built-ins that a script has replaced are not called", () => {
    let resolve;
    const over = new Promise((set) => (resolve = set)).then(() => list(Object.keys(noted), []));
    // When nothing is left to do for the promise that this gives.
    setTimeout(() => {
      replaceAll();
      noting = true;
      const end = () => {
        noting = false;
        restore();
        resolve();
      };
      const request = indexedDB.open("replaced", 1);
      request.onupgradeneeded = () => upgrade(request);
      request.onsuccess = () => {
        const db = request.result;
        others(db);
        records(db, () => aborted(db, () => (indexedDB.deleteDatabase("replaced").onsuccess = end)));
      };
    }, 0);
    return over;
  });

  test("what a script has put in place of a constructor is not what is thrown", () => {
    const { TypeError: Old } = globalThis;
    globalThis.TypeError = class Mine {};
    try {
      indexedDB.open("x", -1);
      check(false, "did not throw");
    } catch (error) {
      same(error.constructor, Old);
    } finally {
      globalThis.TypeError = Old;
    }
  });
}
