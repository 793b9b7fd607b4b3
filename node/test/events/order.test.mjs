// Orders of events at the end of an upgrade, on disk, where threads take their time: four databases at once, several rounds.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { PACKAGE } from "./support.mjs";

const ROUNDS = Number(process.env.LARDER_ROUNDS ?? 15);

// What happens to a database that is made, by name; `during` is called in its upgrade and gives what its end waits for.
function made(indexedDB, name, during) {
  const seen = [];
  return new Promise((resolve) => {
    indexedDB.deleteDatabase(name).onsuccess = () => {
      const opening = indexedDB.open(name);
      opening.onupgradeneeded = () => {
        seen.push("upgrade");
        during(opening, seen).then(async () => {
          // Whatever comes too late.
          await setTimeout(2);
          if (opening.readyState === "done" && opening.error === null) opening.result.close();
          resolve(seen.join(", "));
        });
      };
      opening.onsuccess = () => seen.push("opened");
      opening.onerror = (event) => {
        event.preventDefault();
        seen.push("failed");
      };
    };
  });
}

const deleted = (indexedDB, name, seen) =>
  new Promise((resolve) => {
    indexedDB.deleteDatabase(name).onsuccess = () => {
      seen.push("deleted");
      resolve();
    };
  });

const CASES = {
  "upgrade, opened, deleted": (indexedDB, name) => (opening, seen) => {
    opening.addEventListener("success", () => opening.result.close());
    return deleted(indexedDB, name, seen);
  },
  "upgrade, failed, deleted": (indexedDB, name) => (opening, seen) => {
    opening.transaction.abort();
    return deleted(indexedDB, name, seen);
  },
  // Asked for before the abort.
  "upgrade, failed, deleted ": (indexedDB, name) => (opening, seen) => {
    const end = deleted(indexedDB, name, seen);
    opening.transaction.abort();
    return end;
  },
  "upgrade, upgraded, opened, written": () => (opening, seen) => {
    opening.result.createObjectStore("s");
    return new Promise((resolve) => {
      opening.transaction.oncomplete = () => {
        seen.push("upgraded");
        const writing = opening.result.transaction("s", "readwrite");
        writing.objectStore("s").put(1, 1);
        writing.oncomplete = () => {
          seen.push("written");
          resolve();
        };
      };
    });
  },
};

test("the end of an upgrade, of its request, and what comes behind them", { timeout: 120_000 }, async () => {
  const { close, open } = await import(PACKAGE);
  const folder = mkdtempSync(join(tmpdir(), "larder-order-"));
  const indexedDB = open({ folder });
  for (let round = 0; round < ROUNDS; round++) {
    const cases = Object.entries(CASES).map(async ([expected, make], n) => {
      const name = `${n} ${round}`;
      assert.equal(await made(indexedDB, name, make(indexedDB, name)), expected.trim(), `round ${round}`);
    });
    await Promise.all(cases);
  }
  await close(indexedDB);
  rmSync(folder, { recursive: true });
});
