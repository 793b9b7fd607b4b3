// How long a process lives, how it ends, and what becomes of exceptions.
import assert from "node:assert/strict";
import { test } from "node:test";

import { PACKAGE, settled, started, temporary } from "./support.mjs";

/** What a script printed, after it has ended by itself within the time. */
async function outputOf(source, { args = [], code = 0, seconds = 10 } = {}) {
  const running = started(source, ...args);
  const timer = setTimeout(() => running.child.kill("SIGKILL"), seconds * 1000);
  const end = await running.end;
  clearTimeout(timer);
  assert.deepEqual(end, { code, signal: null }, running.errors);
  return running;
}

for (const place of ["memory", "a folder"]) {
  const factory = place === "memory" ? "larder.indexedDB" : "larder.open({ folder: process.argv.at(-1) })";

  test(`in ${place}, a process ends when no request is pending, though connections are open`, async (t) => {
    const { lines } = await outputOf(
      `const db = await opened(${factory}, "d");
      const transaction = db.transaction("records", "readwrite");
      transaction.objectStore("records").put(1, 1);
      transaction.oncomplete = () => console.log("complete");`,
      { args: [temporary(t)] },
    );
    assert.deepEqual(lines, ["complete"]);
  });

  test(`in ${place}, a process lives until all answers have come, and all transactions have ended`, async (t) => {
    const { lines } = await outputOf(
      `const db = await opened(${factory}, "d");
      const transaction = db.transaction("records", "readwrite");
      let seen = 0;
      for (let i = 0; i < 500; i++) transaction.objectStore("records").put({ i }, i).onsuccess = () => (seen += 1);
      transaction.oncomplete = () => {
        const count = db.transaction("records").objectStore("records").count();
        count.onsuccess = () => console.log(seen, count.result);
      };`,
      { args: [temporary(t)] },
    );
    assert.deepEqual(lines, ["500 500"]);
  });

  test(`in ${place}, a process lives until a deletion has waited for a connection that a timer closes`, async (t) => {
    const { lines } = await outputOf(
      `const indexedDB = ${factory};
      const db = await opened(indexedDB, "d");
      setTimeout(() => db.close(), 50);
      const request = indexedDB.deleteDatabase("d");
      request.onblocked = () => console.log("blocked");
      request.onsuccess = () => console.log("deleted");`,
      { args: [temporary(t)] },
    );
    assert.deepEqual(lines, ["blocked", "deleted"]);
  });
}

test("what was acknowledged before process.exit in the middle of other commits is there", async (t) => {
  const folder = temporary(t);
  for (let round = 0; round < 5; round++) {
    const { lines } = await outputOf(
      `const round = Number(process.argv.at(-1));
      const db = await opened(larder.open({ folder: process.argv.at(-2) }), "d");
      let count = 0;
      for (let i = 0; i < 200; i++) {
        const transaction = db.transaction("records", "readwrite");
        transaction.objectStore("records").put("x".repeat(3000), [round, i]);
        transaction.oncomplete = () => {
          console.log(i);
          if (++count === 20 + 10 * round) process.exit(0);
        };
      }`,
      { args: [folder, String(round)] },
    );
    const { lines: counts } = await outputOf(
      `const db = await opened(larder.open({ folder: process.argv.at(-1) }), "d");
      const keys = await settled(db.transaction("records").objectStore("records").getAllKeys());
      console.log(JSON.stringify(keys));`,
      { args: [folder] },
    );
    const there = new Set(JSON.parse(counts[0]).map(String));
    for (const i of lines) assert.ok(there.has(`${round},${i}`), `${round},${i} was acknowledged`);
  }
});

test("an interrupt in the middle of commits loses nothing that was acknowledged", async (t) => {
  const folder = temporary(t);
  const running = started(
    `const db = await opened(larder.open({ folder: process.argv.at(-1) }), "d");
    for (let i = 0; ; i++) {
      const transaction = db.transaction("records", "readwrite");
      transaction.objectStore("records").put("x".repeat(3000), i);
      await ended(transaction);
      process.stdout.write(i + "\\n");
    }`,
    folder,
  );
  await running.said("50");
  running.child.kill("SIGINT");
  assert.deepEqual(await running.end, { code: null, signal: "SIGINT" });
  const { lines } = await outputOf(
    `const db = await opened(larder.open({ folder: process.argv.at(-1) }), "d");
    console.log(await settled(db.transaction("records").objectStore("records").count()));`,
    { args: [folder] },
  );
  assert.ok(Number(lines[0]) >= running.lines.length, `${lines[0]} of ${running.lines.length}`);
});

test("microtasks of a listener run before the next listener, and those of an answer before the next answer", async () => {
  const { lines } = await outputOf(`
    const db = await opened(larder.indexedDB, "d");
    const store = db.transaction("records").objectStore("records");
    for (const request of [1, 2]) {
      const asked = store.get(request);
      for (const listener of ["a", "b"]) {
        asked.addEventListener("success", () => {
          console.log(request + listener);
          queueMicrotask(() => console.log("microtask of " + request + listener));
        });
      }
    }`);
  const expected = ["1a", "1b", "2a", "2b"].flatMap((listener) => [listener, `microtask of ${listener}`]);
  assert.deepEqual(lines, expected);
});

test("what a listener throws is an uncaught exception, and aborts the transaction", async () => {
  const { lines } = await outputOf(`
    process.on("uncaughtException", (error, origin) => console.log("uncaught", error.message, origin));
    const db = await opened(larder.indexedDB, "d");
    const transaction = db.transaction("records", "readwrite");
    transaction.onabort = () => console.log("abort", transaction.error.name);
    transaction.objectStore("records").put(1, 1).onsuccess = () => {
      throw new Error("mine");
    };`);
  assert.deepEqual(lines.toSorted(), ["abort AbortError", "uncaught mine uncaughtException"]);
});

test("an exception of a listener that nothing catches ends the process as Node does", async () => {
  const { errors } = await outputOf(
    `const db = await opened(larder.indexedDB, "d");
    db.transaction("records").objectStore("records").get(1).onsuccess = function listener() {
      throw new Error("mine");
    };`,
    { code: 1 },
  );
  assert.match(errors, /Error: mine\n.*listener/);
});

test("a promise that is rejected in a listener, and that nothing handles, is an unhandled rejection", async () => {
  const { lines } = await outputOf(`
    process.on("unhandledRejection", (reason) => console.log("unhandled", reason.message));
    const db = await opened(larder.indexedDB, "d");
    const transaction = db.transaction("records");
    transaction.objectStore("records").get(1).onsuccess = async () => {
      throw new Error("mine");
    };
    transaction.oncomplete = () => console.log("complete");`);
  assert.deepEqual(lines.toSorted(), ["complete", "unhandled mine"]);
  const { errors } = await outputOf(
    `const db = await opened(larder.indexedDB, "d");
    db.transaction("records").objectStore("records").get(1).onsuccess = () => Promise.reject(new Error("mine"));`,
    { code: 1 },
  );
  assert.match(errors, /Error: mine/);
});

test("a rejection that a later microtask handles is none", async () => {
  const { lines } = await outputOf(`
    process.on("unhandledRejection", (reason) => console.log("unhandled", reason.message));
    const db = await opened(larder.indexedDB, "d");
    const transaction = db.transaction("records");
    transaction.objectStore("records").get(1).onsuccess = () => {
      const rejected = Promise.reject(new Error("mine"));
      queueMicrotask(() => rejected.catch(() => console.log("handled")));
    };`);
  assert.deepEqual(lines, ["handled"]);
});

test("an exception of a call says in which line of the script it was made", async () => {
  const { IDBFactory } = await import(PACKAGE);
  const request = new IDBFactory().open("d", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("records");
  const db = await settled(request);
  let error;
  try {
    db.transaction("records").objectStore("records").put(1, 1);
  } catch (thrown) {
    error = thrown;
  }
  assert.equal(error.name, "ReadOnlyError");
  assert.match(error.stack, /life\.test\.mjs/);
  db.close();
});
