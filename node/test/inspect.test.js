// What the console shows of the interfaces' objects, and where errors lead.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import vm from "node:vm";

import { IDBFactory, IDBDatabase, IDBKeyRange, install, open } from "../js/index.js";

// On one line: where lines are broken differs between versions of Node.
const LINE = { breakLength: Infinity, compact: true };
const shows = (value, text) => assert.equal(inspect(value, LINE), text);

const ended = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function opened(factory = new IDBFactory()) {
  const request = factory.open("books", 3);
  request.onupgradeneeded = () => {
    const store = request.result.createObjectStore("book", { keyPath: "isbn" });
    store.createIndex("title", ["title", "year"], { unique: true });
    store.put({ isbn: 1, title: "A", year: 1901 });
    request.result.createObjectStore("loan", { autoIncrement: true });
  };
  return { request, database: await ended(request) };
}

test("a factory shows where its databases are", () => {
  shows(new IDBFactory(), "IDBFactory { inMemory: true }");
  shows(
    open({ folder: "/nowhere/data", origin: "https://example.com" }),
    "IDBFactory { folder: '/nowhere/data', origin: 'https://example.com' }",
  );
});

test("a connection shows its database, and that it is closed", async () => {
  const { request, database } = await opened();
  const text = "IDBDatabase { name: 'books', version: 3, objectStoreNames: [ 'book', 'loan' ] }";
  shows(database, text);
  shows(request, `IDBOpenDBRequest { readyState: 'done', result: ${text} }`);
  shows(database.objectStoreNames, "DOMStringList [ 'book', 'loan' ]");
  assert.equal(inspect({ a: { database } }, { ...LINE, depth: 1 }), "{ a: { database: [IDBDatabase] } }");
  assert.equal(inspect({ request }, { ...LINE, depth: 1 }), "{ request: IDBOpenDBRequest { readyState: 'done', result: [IDBDatabase] } }");
  assert.match(inspect({ request }, { depth: null }), /\n {4}result: IDBDatabase \{/);
  database.close();
  assert.match(inspect(database, LINE), /^IDBDatabase { name: 'books', version: 3, .*closed: true }$/);
});

test("a transaction shows its mode and state", async () => {
  const { database } = await opened();
  const transaction = database.transaction(["loan", "book"], "readwrite");
  const shown = (state) => `IDBTransaction { mode: 'readwrite', state: '${state}', objectStoreNames: [ 'book', 'loan' ] }`;
  shows(transaction, shown("active"));
  const store = transaction.objectStore("book");
  shows(store, "IDBObjectStore { name: 'book', keyPath: 'isbn', autoIncrement: false, indexNames: [ 'title' ] }");
  shows(store.index("title"), "IDBIndex { name: 'title', keyPath: [ 'title', 'year' ], unique: true, multiEntry: false }");
  const request = store.get(1);
  shows(request, "IDBRequest { readyState: 'pending' }");
  await ended(request);
  shows(request, "IDBRequest { readyState: 'done', result: { isbn: 1, title: 'A', year: 1901 } }");
  await new Promise((resolve) => (transaction.oncomplete = resolve));
  shows(transaction, shown("finished"));
});

test("a request that has failed shows its error, as does its transaction", async () => {
  const { database } = await opened();
  const transaction = database.transaction("book", "readwrite");
  const request = transaction.objectStore("book").add({ isbn: 1 });
  await new Promise((resolve) => (transaction.onabort = resolve));
  assert.match(inspect(request, LINE), /^IDBRequest { readyState: 'done', error: .*ConstraintError/);
  assert.match(inspect(transaction, LINE), /state: 'finished', .*error: .*ConstraintError/);
});

test("a cursor shows where it stands", async () => {
  const { database } = await opened();
  const store = database.transaction("book").objectStore("book");
  const request = store.openCursor();
  const keys = store.index("title").openKeyCursor(null, "prev");
  const cursor = await ended(request);
  shows(cursor, "IDBCursorWithValue { direction: 'next', key: 1, primaryKey: 1, value: { isbn: 1, title: 'A', year: 1901 } }");
  cursor.continue();
  shows(cursor, "IDBCursorWithValue { direction: 'next' }");
  await ended(request);
  shows(cursor, "IDBCursorWithValue { direction: 'next' }");
  shows(keys.result, "IDBCursor { direction: 'prev', key: [ 'A', 1901 ], primaryKey: 1 }");
});

test("a record shows its members", async () => {
  const { database } = await opened();
  const [record] = await ended(database.transaction("book").objectStore("book").index("title").getAllRecords());
  shows(record, "IDBRecord { key: [ 'A', 1901 ], primaryKey: 1, value: { isbn: 1, title: 'A', year: 1901 } }");
});

test("a range shows the bounds that it has", () => {
  shows(IDBKeyRange.bound(1, "b", false, true), "IDBKeyRange { lower: 1, lowerOpen: false, upper: 'b', upperOpen: true }");
  shows(IDBKeyRange.lowerBound(1, true), "IDBKeyRange { lower: 1, lowerOpen: true }");
  shows(IDBKeyRange.upperBound([1]), "IDBKeyRange { upper: [ 1 ], upperOpen: false }");
  shows(IDBKeyRange.only(2), "IDBKeyRange { lower: 2, lowerOpen: false, upper: 2, upperOpen: false }");
});

test("the event of an upgrade shows its versions", async () => {
  const request = new IDBFactory().open("books", 3);
  let text;
  request.onupgradeneeded = (event) => (text = inspect(event, LINE));
  await ended(request);
  assert.equal(text, "IDBVersionChangeEvent { type: 'upgradeneeded', oldVersion: 0, newVersion: 3 }");
});

test("a prototype is shown as any object is, and has nothing more to enumerate", () => {
  assert.match(inspect(IDBDatabase.prototype), /IDBDatabase/);
  const { enumerable } = Object.getOwnPropertyDescriptor(IDBDatabase.prototype, inspect.custom);
  assert.equal(enumerable, false);
});

test("objects of another realm are shown as well", () => {
  const context = vm.createContext({ Event, EventTarget });
  install(vm.runInContext("globalThis", context));
  shows(vm.runInContext("IDBKeyRange.only(2)", context), "IDBKeyRange { lower: 2, lowerOpen: false, upper: 2, upperOpen: false }");
  shows(vm.runInContext("indexedDB", context), "IDBFactory { inMemory: true }");
});

test("what a call throws leads to the caller's line", async () => {
  const { database } = await opened();
  const store = database.transaction("book").objectStore("book");
  const calls = [
    () => store.put({ isbn: 2 }),
    () => store.get(),
    () => store.get({}),
    () => IDBKeyRange.bound(2, 1),
    () => database.transaction("none"),
    () => database.createObjectStore("new"),
  ];
  for (const call of calls) assert.throws(call, ({ stack }) => stack.includes("inspect.test.js"));
});
