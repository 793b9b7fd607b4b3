// What scripts can no longer reach is collected, and nothing else: contexts with all that is in them, and requests only once they have been answered.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { PACKAGE } from "./support.mjs";

// What a program prints that can collect garbage.
function run(program) {
  const folder = mkdtempSync(join(tmpdir(), "larder-collected-"));
  const prelude = `
    import * as larder from ${JSON.stringify(PACKAGE)};
    import vm from "node:vm";
    import { setTimeout as wait } from "node:timers/promises";
    const folder = ${JSON.stringify(folder)};
    const collect = async () => {
      for (let turn = 0; turn < 5; turn++) {
        await wait(5);
        gc();
      }
    };
    const done = (request) => new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const opened = (indexedDB) => {
      const request = indexedDB.open("library", 1);
      request.onupgradeneeded = () => request.result.createObjectStore("books", { autoIncrement: true });
      return done(request);
    };
    const put = async (indexedDB) => {
      const database = await opened(indexedDB);
      const transaction = database.transaction("books", "readwrite");
      transaction.objectStore("books").put({ title: "A" });
      await new Promise((resolve) => (transaction.oncomplete = resolve));
      return database;
    };
    `;
  const args = ["--expose-gc", "--input-type=module", "--eval", prelude + program];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
  rmSync(folder, { recursive: true });
  assert.equal(status, 0, stdout + stderr);
  return stdout.trim();
}

test("contexts whose scripts have used IndexedDB", () => {
  const said = run(`
    const contexts = [];
    const used = async (index) => {
      const global = vm.runInContext("globalThis", vm.createContext());
      await put(index % 2 === 0 ? larder.install(global) : larder.install(global, larder.open({ folder })));
      contexts.push(new WeakRef(global));
    };
    for (let index = 0; index < 10; index++) await used(index);
    await collect();
    console.log(contexts.filter((context) => context.deref() !== undefined).length);`);
  assert.equal(said, "0");
});

test("a factory goes with its connections, and a folder is free then", () => {
  const said = run(`
    let kept = await put(larder.open({ folder }));
    await collect();
    console.log((await done(kept.transaction("books").objectStore("books").count())));
    kept = undefined;
    await collect();
    console.log((await import("node:child_process")).spawnSync(process.execPath, ["--input-type=module", "--eval", \`
      import { open } from ${JSON.stringify(PACKAGE)};
      const request = open({ folder: \${JSON.stringify(folder)} }).open("library");
      request.onsuccess = () => console.log("free");
      request.onerror = () => console.log(request.error.message);\`], { encoding: "utf8" }).stdout.trim());`);
  assert.equal(said, "1\nfree");
});

test("a request that nothing else refers to is answered", () => {
  const said = run(`
    const ask = () => {
      const request = new larder.IDBFactory().open("library", 1);
      request.onupgradeneeded = ({ target }) => target.result.createObjectStore("books").put(1, 1);
      request.onsuccess = ({ target }) => {
        target.result.transaction("books").objectStore("books").get(1).onsuccess = ({ target: { result } }) => console.log(result);
        gc();
      };
    };
    ask();
    gc();
    await collect();`);
  assert.equal(said, "1");
});

test("a connection that listens is asked to make way, and an iterator of changes that waits gets what comes", () => {
  const said = run(`
    const listener = async () => {
      const database = await opened(larder.open({ folder }));
      database.onversionchange = () => {
        console.log("versionchange");
        database.close();
      };
      return database;
    };
    const other = larder.open({ folder });
    (await opened(other)).close();
    await larder.setChangeFeed("library", true, other);
    const listening = await listener();
    const follow = async () => {
      const database = await opened(larder.open({ folder }));
      const iterator = larder.changes(database);
      iterator.next().then(({ value }) => {
        console.log(value.changes.length);
        database.close();
      });
    };
    await follow();
    await collect();
    (await put(other)).close();
    await collect();
    await done(other.open("library", 2)).then((database) => database.close());
    console.log(listening.name);`);
  assert.equal(said, "1\nversionchange\nlibrary");
});
