// Realms other than the package's own: vm contexts, and windows of jsdom and happy-dom.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import vm from "node:vm";

import { installed } from "../support/packages.mjs";
import { PACKAGE } from "./support.mjs";

// What a script in a realm sees of its values, errors and events.
const SCRIPT = `(async () => {
  const settled = (request) => new Promise((done, fail) => { request.onsuccess = () => done(request.result); request.onerror = () => fail(request.error); });
  const request = indexedDB.open("d", 1);
  let event;
  request.onupgradeneeded = (given) => { event = given; request.result.createObjectStore("records"); };
  const db = await settled(request);
  const transaction = db.transaction("records", "readwrite");
  const ended = new Promise((done) => (transaction.oncomplete = done));
  const store = transaction.objectStore("records");
  const value = { list: [1, 2], at: new Date(5), map: new Map([["a", new Set([1])]]), bytes: new Uint8Array([1, 2]), error: new RangeError("r"), pattern: /x/g };
  store.put(value, ["key", new Date(7)]);
  const found = await settled(store.get(["key", new Date(7)]));
  const [key] = await settled(store.getAllKeys());
  const all = [];
  const say = (name, is) => { all.push([name, Boolean(is)]); };
  say("objects", found instanceof Object && Object.getPrototypeOf(found) === Object.prototype);
  say("arrays", found.list instanceof Array);
  say("dates", found.at instanceof Date && found.at.getTime() === 5);
  say("maps", found.map instanceof Map && found.map.get("a") instanceof Set);
  say("bytes", found.bytes instanceof Uint8Array && found.bytes.buffer instanceof ArrayBuffer);
  say("errors", found.error instanceof RangeError);
  say("patterns", found.pattern instanceof RegExp);
  say("keys", key instanceof Array && key[1] instanceof Date);
  let thrown;
  try { store.put(1); } catch (error) { thrown = error; }
  say("exceptions", thrown instanceof DOMException && thrown.name === "DataError");
  let wrong;
  try { indexedDB.open(); } catch (error) { wrong = error; }
  say("type errors", wrong instanceof TypeError);
  const failed = await new Promise((done) => { const again = store.add(1, ["key", new Date(7)]); again.onerror = (given) => { given.preventDefault(); done(again.error); }; });
  say("errors of requests", failed instanceof DOMException && failed.name === "ConstraintError");
  say("interfaces", db instanceof IDBDatabase && request instanceof IDBRequest && indexedDB instanceof IDBFactory);
  say("events", event instanceof IDBVersionChangeEvent && event instanceof Event && db instanceof EventTarget);
  say("promises", indexedDB.databases() instanceof Promise && (await indexedDB.databases()) instanceof Array);
  const controller = new AbortController();
  let heard = 0;
  db.addEventListener("versionchange", () => (heard += 1), { signal: controller.signal });
  controller.abort();
  await ended;
  db.onversionchange = () => db.close();
  await settled(indexedDB.deleteDatabase("d"));
  say("signals", heard === 0);
  return JSON.stringify(all.filter(([, is]) => !is).map(([name]) => name));
})()`;

const TIME = { timeout: 20_000 };

test("a script in a vm context gets values, errors and events of its own realm", TIME, async () => {
  const { install } = await import(PACKAGE);
  const context = vm.createContext({ Event, EventTarget, AbortController, DOMException, structuredClone });
  const global = vm.runInContext("globalThis", context);
  install(global);
  assert.equal(await vm.runInContext(SCRIPT, context), "[]");
});

test("two contexts and this realm have databases of their own or one, as install is given", TIME, async () => {
  const { install, IDBFactory } = await import(PACKAGE);
  const [a, b] = [1, 2].map(() => vm.runInContext("globalThis", vm.createContext({ Event, EventTarget, DOMException })));
  const shared = new IDBFactory();
  install(a, shared);
  install(b, shared);
  const names = (realm) => realm.eval("indexedDB.databases().then((all) => all.map(({ name }) => name).join())");
  await a.eval(`new Promise((done) => (indexedDB.open("of a").onsuccess = ({ target }) => done(target.result.close())))`);
  assert.equal(await names(a), "of a");
  assert.equal(await names(b), "of a");
  const c = vm.runInContext("globalThis", vm.createContext({ Event, EventTarget, DOMException }));
  install(c, new IDBFactory());
  assert.equal(await names(c), "");
});

// jsdom needs 22.22 or newer.
const [major, minor] = process.versions.node.split(".").map(Number);
const isOld = major < 22 || (major === 22 && minor < 22);

test("a script in a window of jsdom gets values, errors and events of that window", { ...TIME, skip: isOld && "jsdom 31 needs a newer Node" }, async () => {
  const packages = await installed({ jsdom: "31.0.1" });
  const { JSDOM } = createRequire(join(packages, "package.json"))("jsdom");
  const { install } = await import(PACKAGE);
  const { window } = new JSDOM("", { url: "https://app.example/", runScripts: "outside-only" });
  install(window);
  assert.equal(await window.eval(SCRIPT), "[]");
  window.close();
});

test("a window of happy-dom has IndexedDB, and its signals and values are taken", TIME, async () => {
  const packages = await installed({ "happy-dom": "21.0.4" });
  const { Window } = createRequire(join(packages, "package.json"))("happy-dom");
  const { install } = await import(PACKAGE);
  const window = new Window({ url: "https://app.example/" });
  install(window);
  const run = new Function("window", `with (window) return ${SCRIPT}`);
  assert.equal(await run(window), "[]");
  await window.happyDOM.close();
});
