// Closing a factory while its requests are open: each is answered, and the process goes on.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import vm from "node:vm";

import { close, forceCloseDatabase, IDBFactory, install, open } from "../js/index.js";

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

// Nothing but the close itself keeps the process alive, and nothing but it the factory.
test("the process stays until connections that are closed by force have their events", { timeout: 30_000 }, async () => {
  const databaseOf = async (i) => settled(new IDBFactory().open(`d${i}`));
  for (let i = 0; i < 40; i++) {
    const database = await databaseOf(i);
    const closed = new Promise((resolve) => database.addEventListener("close", resolve));
    const answered = forceCloseDatabase(database);
    await (i % 2 === 0 ? closed : answered);
  }
});

for (const place of ["memory", "a folder"]) {
  test(`what is asked before a factory in ${place} is closed is answered`, { timeout: 10_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "larder-close-"));
    const factory = place === "memory" ? new IDBFactory() : open({ folder });
    const opening = factory.open("d");
    opening.onupgradeneeded = () => opening.result.createObjectStore("s");
    const database = await settled(opening);
    const store = database.transaction("s", "readwrite").objectStore("s");
    const put = settled(store.put({ blob: new Blob(["content"]) }, 1));
    const got = settled(store.get(1));
    const end = new Promise((resolve) => {
      store.transaction.oncomplete = () => resolve("complete");
      store.transaction.onabort = () => resolve("abort");
    });
    const closed = close(factory);
    assert.equal(await put, 1);
    // Its content may be out of reach by then.
    const { blob } = await got;
    assert.equal(blob.size, 7);
    assert.match(await end, /^(complete|abort)$/);
    await closed;
    assert.throws(() => factory.open("d"), { name: "InvalidStateError" });
    rmSync(folder, { recursive: true });
  });
}

test("connections of another realm are closed by force as well", { timeout: 10_000 }, async () => {
  const indexedDB = install(vm.runInContext("globalThis", vm.createContext({})));
  const database = await settled(indexedDB.open("d"));
  const closed = new Promise((resolve) => database.addEventListener("close", resolve));
  forceCloseDatabase(database);
  await closed;
  for (const other of [undefined, {}, indexedDB]) assert.throws(() => forceCloseDatabase(other), TypeError);
});
