// The binding in a runtime that has events of its own, several times in one realm, and in another realm.
import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";

import { createBinding } from "../src/mod.js";
import { Engine } from "./engine.js";

// A binding on engines whose tasks are run by hand. Microtasks are not: no test here has listeners that await.
function made(global, runtime) {
  const errors = [];
  let wanted = false;
  const host = {
    reportError: (error) => errors.push(error),
    microtaskCheckpoint: () => checkpoint(),
    wantCheckpointCleanup: () => (wanted = true),
    now: () => 7,
    isProxy: () => false,
    compare: (a, b) => (a < b ? -1 : Number(a > b)),
    keyToValue: (key) => key,
  };
  const binding = createBinding({ global, host, runtime });
  function checkpoint() {
    if (wanted) binding.checkpoint.runCheckpointCleanup();
    wanted = false;
  }
  const factory = () => {
    const engine = new Engine();
    const { indexedDB, link } = binding.createFactory(engine, structuredClone);
    return { engine, indexedDB, run: () => (checkpoint(), engine.run(link, checkpoint)) };
  };
  return { binding, errors, factory };
}

const runtime = { Event, EventTarget };
const here = () => made(globalThis, runtime);

// A database with an object store "s".
function opened({ indexedDB, run }, name = "d") {
  const request = indexedDB.open(name);
  const events = [];
  request.onupgradeneeded = (event) => {
    events.push(event);
    request.result.createObjectStore("s");
  };
  request.onsuccess = (event) => events.push(event);
  run();
  return { database: request.result, events, request };
}

test("events are the runtime's events, and targets its targets", () => {
  const { factory, errors } = here();
  const { database, events, request } = opened(factory());
  assert.deepEqual(events.map((event) => event.type), ["upgradeneeded", "success"]);
  for (const event of events) {
    assert.ok(event instanceof Event);
    assert.equal(event.target, request);
    assert.equal(Event.prototype.isPrototypeOf(event), true);
  }
  assert.equal(events[0].oldVersion, 0);
  assert.equal(events[0].timeStamp, 7);
  for (const target of [request, database, database.transaction("s")]) assert.ok(target instanceof EventTarget);
  assert.deepEqual(errors, []);
});

test("factories of one realm have nothing to do with each other", () => {
  const { factory } = here();
  const [a, b] = [factory(), factory()];
  const [first, second] = [opened(a).database, opened(b).database];
  const results = [];
  const put = (database, value) => {
    const store = database.transaction("s", "readwrite").objectStore("s");
    store.put(value, "k");
    store.get("k").onsuccess = (event) => results.push(event.target.result);
  };
  put(first, "of a");
  put(second, "of b");
  // Each answers when its own engine does.
  b.run();
  assert.deepEqual(results, ["of b"]);
  a.run();
  assert.deepEqual(results, ["of b", "of a"]);
  const committed = ({ engine }) => engine.calls.filter(([name]) => name === "commit").length;
  assert.deepEqual([committed(a), committed(b)], [2, 2]);
});

test("nothing that the runtime has is overwritten", () => {
  const { binding, factory } = here();
  const target = { Event, EventTarget, DOMStringList: "its own", IDBRequest: "another's" };
  const { indexedDB } = factory();
  const before = Object.getOwnPropertyDescriptors(globalThis);
  const members = [Event, EventTarget].map(({ prototype }) => Object.getOwnPropertyDescriptors(prototype));
  binding.install(target, target, indexedDB);
  assert.equal(target.Event, Event);
  assert.equal(target.EventTarget, EventTarget);
  assert.equal(target.DOMStringList, "its own");
  assert.equal(target.IDBRequest, binding.interfaces.IDBRequest);
  assert.equal(target.indexedDB, indexedDB);
  assert.deepEqual(Object.keys(Object.getOwnPropertyDescriptors(globalThis)), Object.keys(before));
  assert.deepEqual([Event, EventTarget].map(({ prototype }) => Object.getOwnPropertyDescriptors(prototype)), members);
  assert.ok(new AbortController().signal instanceof target.EventTarget);
});

test("signals of the runtime and of other realms end listeners", () => {
  const { factory } = here();
  const { database } = opened(factory());
  // A realm's own class of signals, as a window of another library's has it.
  const foreign = vm.runInNewContext(`(class AbortSignal {
    aborted = false;
    get [Symbol.toStringTag]() { return "AbortSignal"; }
    addEventListener(type, callback) { this.callback = callback; }
    abort() { this.aborted = true; this.callback(); }
  })`);
  const controller = new AbortController();
  const theirs = new foreign();
  const calls = [];
  database.addEventListener("x", () => calls.push("ours"), { signal: controller.signal });
  database.addEventListener("x", () => calls.push("theirs"), { signal: theirs });
  database.addEventListener("x", () => calls.push("never"), { signal: AbortSignal.abort() });
  assert.throws(() => database.addEventListener("x", () => {}, { signal: {} }), TypeError);
  database.dispatchEvent(new Event("x"));
  assert.deepEqual(calls, ["ours", "theirs"]);
  controller.abort();
  database.dispatchEvent(new Event("x"));
  assert.deepEqual(calls, ["ours", "theirs", "theirs"]);
  theirs.abort();
  database.dispatchEvent(new Event("x"));
  assert.deepEqual(calls, ["ours", "theirs", "theirs"]);
});

test("events bubble from a request by its transaction to its database, and what a listener throws aborts", () => {
  const { factory, errors } = here();
  const own = factory();
  const { database } = opened(own);
  const log = [];
  const transaction = database.transaction("s", "readwrite");
  const request = transaction.objectStore("s").put(1, "k");
  const thrown = new Error("from a listener");
  request.addEventListener("success", (event) => {
    log.push(["request", event.eventPhase, event.currentTarget === request, event.composedPath().length]);
    throw thrown;
  });
  for (const [name, target] of [["transaction", transaction], ["database", database]]) {
    target.addEventListener("success", (event) => log.push([name, event.eventPhase]), true);
    target.addEventListener("abort", (event) => log.push([name, event.type, event.target === transaction]));
  }
  own.run();
  assert.deepEqual(log, [
    ["database", 1],
    ["transaction", 1],
    ["request", 2, true, 3],
    ["transaction", "abort", true],
    ["database", "abort", true],
  ]);
  assert.deepEqual(errors, [thrown]);
  assert.equal(transaction.error.name, "AbortError");
});

test("what scripts get is of the realm that was asked for, which has no events here", async () => {
  const context = vm.createContext({ DOMException });
  const global = vm.runInContext("globalThis", context);
  const { binding, factory } = made(global, undefined);
  const own = factory();
  binding.install(global, global, own.indexedDB);
  assert.equal(vm.runInContext("indexedDB", context), own.indexedDB);
  assert.equal(vm.runInContext("globalThis.indexedDB", context), own.indexedDB);
  const holder = {};
  binding.install(vm.createContext(), holder, own.indexedDB);
  assert.throws(() => holder.indexedDB);
  assert.throws(() => Object.create(global).indexedDB, (error) => vm.runInContext("(error) => error instanceof TypeError", context)(error));
  const { database } = opened(own);
  const is = (value, name) => vm.runInContext(`(value) => value instanceof ${name}`, context)(value);
  assert.ok(is(database, "IDBDatabase") && is(database, "EventTarget"));
  assert.ok(!(database instanceof EventTarget));
  const databases = own.indexedDB.databases();
  own.run();
  assert.ok(is(databases, "Promise"));
  assert.ok(is((await databases)[0], "Object"));
  assert.equal((await databases)[0].name, "d");
  assert.throws(() => own.indexedDB.open(), (error) => is(error, "TypeError"));
  // A range of another realm is a range.
  const { IDBKeyRange } = here().binding.interfaces;
  const request = database.transaction("s").objectStore("s").get(IDBKeyRange.only("k"));
  own.run();
  assert.equal(request.readyState, "done");
});
