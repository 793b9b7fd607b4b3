// What is left of requests: nothing. `LARDER_REQUESTS=1000000` is the long form.
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";

import { started } from "./support.mjs";

const REQUESTS = Number(process.env.LARDER_REQUESTS ?? 100_000);

for (const kind of ["put", "get", "cursor", "transaction"]) {
  test(`${REQUESTS} requests leave no memory behind: ${kind}`, async () => {
    const running = started(
      `const [kind, count] = [process.argv.at(-2), Number(process.argv.at(-1))];
      const db = await opened(new larder.IDBFactory(), "d");
      const record = (i) => ({ id: i % 1000, name: "name " + i, email: "user@example.org" });
      const PART = 1000;
      async function part() {
        if (kind === "transaction") {
          for (let i = 0; i < PART / 10; i++) {
            const transaction = db.transaction("records", "readwrite");
            for (let j = 0; j < 10; j++) transaction.objectStore("records").put(record(j), j);
            await ended(transaction);
          }
          return;
        }
        const transaction = db.transaction("records", "readwrite");
        const store = transaction.objectStore("records");
        if (kind === "cursor") {
          store.openCursor().onsuccess = ({ target: { result: cursor } }) => cursor?.continue();
        } else {
          for (let i = 0; i < PART; i++) kind === "put" ? store.put(record(i), i % 1000) : store.get(i % 1000);
        }
        await ended(transaction);
      }
      const first = db.transaction("records", "readwrite");
      for (let i = 0; i < PART; i++) first.objectStore("records").put(record(i), i);
      await ended(first);
      const rest = async () => {
        for (let i = 0; i < 5; i++) {
          globalThis.gc();
          await new Promise((done) => setTimeout(done, 20));
        }
        const { rss, heapUsed, external } = process.memoryUsage();
        return { rss, heap: heapUsed + external };
      };
      const parts = count / PART;
      for (let i = 0; i < Math.min(parts, 500); i++) await part();
      const before = await rest();
      for (let i = 0; i < parts; i++) await part();
      const after = await rest();
      console.log(JSON.stringify({ rss: after.rss - before.rss, heap: after.heap - before.heap }));`,
      kind,
      String(REQUESTS),
    );
    assert.deepEqual(await running.end, { code: 0, signal: null }, running.errors);
    const { rss, heap } = JSON.parse(running.lines[0]);
    console.log(`${kind}: heap ${(heap / 1024).toFixed(0)} KiB more, process ${(rss / 1024).toFixed(0)} KiB more`);
    // A single object of 40 bytes for each request would be more.
    assert.ok(heap < 40 * REQUESTS && heap < 8 << 20, `${heap} bytes of the heap`);
    assert.ok(rss < 64 << 20, `${rss} bytes of the process`);
  });
}
