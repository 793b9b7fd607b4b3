// What a script throws where it is not awaited, in a process whose asynchronous contexts are watched: each comes as an uncaught exception, and requests go on.
import assert from "node:assert/strict";
import { test } from "node:test";

import { started } from "./support.mjs";

test("ticks, microtasks, rejections and listeners may throw", { timeout: 20_000 }, async () => {
  const running = started(`
    import { createHook } from "node:async_hooks";
    createHook({ init() {}, before() {}, after() {}, destroy() {} }).enable();
    const caught = [];
    process.on("uncaughtException", (error) => caught.push(error.message));
    const db = await opened(new larder.IDBFactory(), "d");
    const store = db.transaction("records", "readwrite").objectStore("records");
    store.put(1, 1).onsuccess = () => {
      process.nextTick(() => { throw new Error("tick"); });
      process.nextTick(() => { throw new Error("second tick"); });
      queueMicrotask(() => { throw new Error("microtask"); });
      Promise.reject(new Error("rejection"));
    };
    store.get(1).onsuccess = ({ target }) => {
      console.log("went on with", target.result);
      throw new Error("listener");
    };
    store.transaction.onabort = () => console.log("aborted");
    process.on("exit", () => console.log(caught.sort().join(", ")));
  `);
  assert.deepEqual(await running.end, { code: 0, signal: null }, running.errors);
  assert.deepEqual(running.lines, ["went on with 1", "aborted", "listener, microtask, rejection, second tick, tick"]);
});
