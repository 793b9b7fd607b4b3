// Tests of what uses IndexedDB, with node:test: node --test books.test.mjs
import "larder-idb/auto";

import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";

import { reset } from "larder-idb";

// What is tested: it has the browser's global `indexedDB`.
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function library() {
  const request = indexedDB.open("library", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("books", { keyPath: "isbn" }).createIndex("author", "author");
  return await done(request);
}

async function add(book) {
  const database = await library();
  await done(database.transaction("books", "readwrite").objectStore("books").add(book));
}

async function booksOf(author) {
  const database = await library();
  return await done(database.transaction("books").objectStore("books").index("author").getAll(IDBKeyRange.only(author)));
}

// Closes what the test has left open, and deletes all databases.
afterEach(() => reset());

test("a book is found by its author", async () => {
  await add({ isbn: 1, author: "Woolf" });
  assert.deepEqual(await booksOf("Woolf"), [{ isbn: 1, author: "Woolf" }]);
});

test("another test begins with no books", async () => {
  assert.deepEqual(await booksOf("Woolf"), []);
});

test("one number is one book", async () => {
  await add({ isbn: 1, author: "Woolf" });
  await assert.rejects(add({ isbn: 1, author: "Stein" }), { name: "ConstraintError" });
});

test("time that stands still stops no request", async () => {
  mock.timers.enable();
  await add({ isbn: 1, author: "Woolf" });
  assert.equal((await booksOf("Woolf")).length, 1);
  mock.timers.reset();
});
