// A million records: however far one scrolls, the page has only the rows that are seen, and only some pages in memory.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { temporary } from "./lib/larder.mjs";
import { makeStore } from "./lib/make.mjs";
import { closeBrowser, idsOf, open, openTable } from "./lib/page.mjs";

after(closeBrowser);

// `LARDER_WHOLE` takes a million.
const RECORDS = process.env.LARDER_WHOLE ? 1_000_000 : 100_000;

test(`${RECORDS} records are scrolled with a bounded number of rows in the page`, async (t) => {
  const folder = temporary(t);
  makeStore(
    folder,
    `
    for (let begin = 0; begin < ${RECORDS}; begin += 50000) {
      const transaction = db.transaction('s', 'readwrite');
      const s = transaction.objectStore('s');
      for (let i = begin; i < begin + 50000; i++) s.put({ i, text: 'record ' + i }, i);
      await new Promise((resolve) => { transaction.oncomplete = resolve; });
    }`,
  );
  const { page } = await open(t, folder);
  const { indexes, ...ids } = await idsOf(page, "made", "s");
  await openTable(page, ids);
  const grid = page.locator(".grid");
  const rows = () => page.locator(".grid-body .grid-row").count();
  await grid.focus();
  const passed = async () => Number((await page.locator(".grid-foot span").first().textContent()).replace(/\D/g, ""));
  for (let step = 0; (await passed()) < 6000; step++) {
    assert.ok(step < 5000, `${await passed()} records are passed`);
    await page.evaluate(() => {
      const element = document.querySelector(".grid");
      element.scrollTop = element.scrollHeight;
    });
    await page.waitForTimeout(5);
    if (step % 20 === 0) assert.ok((await rows()) < 80, `${await rows()} rows`);
  }
  // What was passed long ago is not kept: it is asked for again.
  await Promise.all([
    page.waitForRequest(/\/api\/records$/),
    page.evaluate(() => {
      document.querySelector(".grid").scrollTop = 0;
    }),
  ]);
  await page.locator('.grid-row[data-row="0"] .cell-primaryKey', { hasText: "0" }).waitFor();
  assert.ok((await rows()) < 80);
  // The end is asked for by key: what is between is not passed.
  await page.keyboard.press("End");
  await page.locator(".grid-row.active", { hasText: String(RECORDS - 1) }).waitFor();
  for (let step = 0; step < 30; step++) {
    await page.evaluate(() => {
      document.querySelector(".grid").scrollTop -= 5000;
    });
    await page.waitForTimeout(10);
    assert.ok((await rows()) < 80);
  }
  for (const part of [0.5, 0.123456, 0.777777]) {
    const key = String(Math.floor(part * RECORDS));
    await page.getByLabel("Jump to key").fill(key);
    await page.keyboard.press("Enter");
    await page.locator(".grid-row.active .cell-primaryKey", { hasText: key }).waitFor();
    await page.locator("#detail .value-tree", { hasText: `record ${key}` }).waitFor();
  }
  assert.deepEqual(indexes, []);
});
