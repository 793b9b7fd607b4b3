// Two worker threads of one process have one folder open.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { ended, opened, PACKAGE, PRELUDE, settled, temporary } from "./support.mjs";

const ADDITIONS = 300;

function run(source, workerData) {
  const url = new URL(`data:text/javascript,${encodeURIComponent(PRELUDE + `import { parentPort, workerData } from "node:worker_threads";` + source)}`);
  const worker = new Worker(url, { workerData });
  return new Promise((done, fail) => {
    let message;
    worker.on("message", (given) => (message = given));
    worker.on("error", fail);
    worker.on("exit", (code) => (code === 0 ? done(message) : fail(new Error(`exit ${code}`))));
  });
}

test("two threads that add to one record lose no addition", async (t) => {
  const folder = temporary(t);
  const larder = await import(PACKAGE);
  const indexedDB = larder.open({ folder });
  const db = await opened(indexedDB, "shared");
  const adder = `
    const db = await opened(larder.open({ folder: workerData }), "shared");
    for (let i = 0; i < ${ADDITIONS}; i++) {
      const transaction = db.transaction("records", "readwrite");
      const store = transaction.objectStore("records");
      const before = (await settled(store.get("sum"))) ?? 0;
      store.put(before + 1, "sum");
      await ended(transaction);
    }
    db.close();
    parentPort.postMessage("done");`;
  assert.deepEqual(await Promise.all([run(adder, folder), run(adder, folder)]), ["done", "done"]);
  assert.equal(await settled(db.transaction("records").objectStore("records").get("sum")), 2 * ADDITIONS);
  db.close();
  await larder.close(indexedDB);
});

test("a thread that asks for a newer version gets it when the other thread has closed its connection", async (t) => {
  const folder = temporary(t);
  const larder = await import(PACKAGE);
  const indexedDB = larder.open({ folder });
  const db = await opened(indexedDB, "shared");
  const seen = [];
  db.onversionchange = ({ oldVersion, newVersion }) => {
    seen.push([oldVersion, newVersion]);
    db.close();
  };
  const version = await run(
    `const request = larder.open({ folder: workerData }).open("shared", 2);
    request.onupgradeneeded = () => request.result.createObjectStore("more");
    const db = await settled(request);
    parentPort.postMessage([db.version, ...db.objectStoreNames]);
    db.close();`,
    folder,
  );
  assert.deepEqual(version, [2, "more", "records"]);
  assert.deepEqual(seen, [[1, 2]]);
  await larder.close(indexedDB);
});

test("a thread that is terminated while it commits leaves the folder to the others, and what was acknowledged in it", async (t) => {
  const folder = temporary(t);
  const larder = await import(PACKAGE);
  const indexedDB = larder.open({ folder });
  const db = await opened(indexedDB, "shared");
  for (let round = 0; round < 5; round++) {
    const source = `
      import { parentPort, workerData } from "node:worker_threads";
      const db = await opened(larder.open({ folder: workerData.folder }), "shared");
      for (let i = 0; ; i++) {
        const transaction = db.transaction("records", "readwrite");
        transaction.objectStore("records").put("x".repeat(2000), [workerData.round, i]);
        await ended(transaction);
        Atomics.store(workerData.last, 0, i);
      }`;
    const last = new Int32Array(new SharedArrayBuffer(4)).fill(-1);
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(PRELUDE + source)}`), { workerData: { folder, round, last } });
    while (Atomics.load(last, 0) < 5 + 7 * round) await new Promise((done) => setTimeout(done, 2));
    await worker.terminate();
    const acknowledged = Atomics.load(last, 0);
    const keys = await settled(db.transaction("records").objectStore("records").getAllKeys());
    const there = keys.filter(([of]) => of === round).map(([, i]) => i);
    assert.ok(there.length >= acknowledged + 1, `${there.length} of ${acknowledged + 1}`);
    assert.deepEqual(there, there.map((_, i) => i));
    const transaction = db.transaction("records", "readwrite");
    transaction.objectStore("records").put("after", ["main", round]);
    await ended(transaction);
  }
  db.close();
  await larder.close(indexedDB);
});
