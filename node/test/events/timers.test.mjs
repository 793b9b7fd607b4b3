// Timers that a test replaces: requests go on, and IndexedDB never waits for a replaced one.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { installed } from "../support/packages.mjs";
import { ended, opened, PACKAGE, settled, startedBare } from "./support.mjs";

const SINON = "@sinonjs/fake-timers";

test("requests are answered while sinon's timers stand still, whether they were replaced before the package was loaded or after", { timeout: 60_000 }, async () => {
  const packages = await installed({ [SINON]: "15.5.0" });
  const fakeTimers = `import { createRequire } from "node:module";
    const FakeTimers = createRequire(${JSON.stringify(join(packages, "package.json"))})(${JSON.stringify(SINON)});`;
  const use = `
    const { ended, opened, settled } = await import(${JSON.stringify(new URL("support.mjs", import.meta.url))});
    for (let round = 0; round < 3; round++) {
      const db = await opened(new larder.IDBFactory(), "d");
      const transaction = db.transaction("records", "readwrite");
      transaction.objectStore("records").put("value", 1);
      await ended(transaction);
      console.log(await settled(db.transaction("records").objectStore("records").get(1)));
      db.close();
      await settled(larder.indexedDB.deleteDatabase("d"));
    }
    clock.uninstall();`;
  const load = `const larder = await import(${JSON.stringify(PACKAGE)});`;
  for (const toFake of [undefined, ["setTimeout", "setImmediate", "setInterval", "nextTick", "queueMicrotask", "performance", "Date", "hrtime"]]) {
    const fake = `const clock = FakeTimers.install({ now: 1000, toFake: ${JSON.stringify(toFake)} });`;
    for (const source of [load + fake + use, fake + load + use]) {
      const running = startedBare(fakeTimers + source);
      const timer = setTimeout(() => running.child.kill("SIGKILL"), 10_000);
      assert.deepEqual(await running.end, { code: 0, signal: null }, `${source.slice(0, 60)} ${toFake}: ${running.errors}`);
      clearTimeout(timer);
      assert.deepEqual(running.lines, ["value", "value", "value"]);
    }
  }
});

test("node:test's own mocked timers do not stop requests", { timeout: 20_000 }, async (t) => {
  const { IDBFactory } = await import(PACKAGE);
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate", "Date"] });
  const db = await opened(new IDBFactory(), "d");
  const transaction = db.transaction("records", "readwrite");
  transaction.objectStore("records").put(new Date(), 1);
  await ended(transaction);
  assert.equal((await settled(db.transaction("records").objectStore("records").get(1))).getTime(), 0);
  db.close();
});
