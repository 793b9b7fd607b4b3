// Every value of every type that browsers wrote is shown, and what is shown is what its browser said.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { all, expected, folderOf, storeOf } from "./lib/fixtures.mjs";
import { closeBrowser, idsOf, open, openTable, readRows } from "./lib/page.mjs";
import { Reading, comparable, rendered } from "./lib/reader.mjs";

after(closeBrowser);

// One and the same types by the newest browser, by the oldest, and out of SQLite files.
const STORES = ["c156-lite", "c64-lite", "s156-lite"];

/** Goes through the rows with the arrow key, and compares each record with its expectation. */
async function compareRecords(page, store, name) {
  const { records } = store;
  const seen = await readRows(page);
  assert.equal(seen.length, records.length, name);
  await page.locator(".grid").focus();
  await page.keyboard.press("Home");
  for (const [at, [key, value]] of records.entries()) {
    if (at > 0) {
      await page.locator(".grid").focus();
      await page.keyboard.press("ArrowDown");
    }
    const shownKey = `${seen[at][0]}`;
    await page.waitForFunction(
      (text) =>
        document.querySelector("#detail .record-title .key")?.textContent.slice(0, 400) === text.slice(0, 400) &&
        !document.querySelector("#detail[aria-busy]"),
      shownKey,
    );
    const place = `${name}, ${JSON.stringify(key).slice(0, 100)}`;
    let read;
    try {
      read = new Reading().value(await rendered(page));
    } catch (error) {
      throw new Error(`${place}: ${error.message}`, { cause: error });
    }
    assert.deepEqual(comparable(read), comparable(value), place);
  }
}

// An old store's values are forms that the codec has tests of: with `LARDER_WHOLE`.
const tried = STORES.filter((each) => each !== "c64-lite" || process.env.LARDER_WHOLE);
for (const name of tried.filter((each) => all.some((fixture) => fixture.name === each))) {
  test(`values of ${name} are shown as its browser said them`, async (t) => {
    const { page } = await open(t, folderOf(t, name));
    const document = expected(name);
    for (const [database, objectStore] of [
      ["values", "v"],
      ["blobs", "b"],
      ["blobs", "big"],
    ]) {
      if (!document.databases.some((each) => each.name === database)) continue;
      await openTable(page, { ...(await idsOf(page, database, objectStore)) });
      await compareRecords(page, storeOf(document, database, objectStore), `${name}, ${database}, ${objectStore}`);
    }
  });
}
