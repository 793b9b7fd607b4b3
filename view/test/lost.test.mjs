// What a person does after a loss: looks for what was deleted, for a key that is not there, for a day, and for a folder that may not be read.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { temporary } from "./lib/larder.mjs";
import { makeStore } from "./lib/make.mjs";
import { closeBrowser, goTo, idsOf, open, openTable } from "./lib/page.mjs";

after(closeBrowser);

const CHANGE = `
  const change = (work) => new Promise((resolve) => {
    const transaction = db.transaction('s', 'readwrite', { durability: 'strict' });
    work(transaction.objectStore('s'));
    transaction.oncomplete = resolve;
  });`;

/** Notes 1 to 1200 of different days, of which 500 was changed, and 555 deleted. */
function notes(t) {
  const folder = temporary(t);
  makeStore(
    folder,
    `${CHANGE}
    await change((s) => {
      for (let i = 1; i <= 1200; i++) s.put({ text: 'note ' + i, day: new Date(Date.UTC(2024, 0, i)) }, i);
    });
    await change((s) => { s.put({ text: 'note 500, changed', day: new Date(0) }, 500); s.delete(555); });`,
    { upgrade: "opening.transaction.objectStore('s').createIndex('days', 'day');" },
  );
  return folder;
}

test("a record that was deleted, and one that was overwritten, are seen as they were", async (t) => {
  const { page } = await open(t, notes(t));
  const { indexes, ...ids } = await idsOf(page, "made", "s");
  assert.equal(indexes.length, 1);
  await goTo(page, { ...ids, view: "hidden" });
  await page.locator(".hidden-rows [role=status]", { hasText: "2 earlier records" }).waitFor();
  const row = (text) => page.locator(".hidden-rows tbody tr", { hasText: text });
  assert.match(await row("key 555").textContent(), /^deleted.*database "made", object store "s".*note 555/);
  assert.match(await row("key 500").textContent(), /^overwritten.*note 500/);
  assert.equal(await page.locator("#detail").isVisible(), false);
  await row("key 555").getByRole("button").click();
  await page.locator("#detail .notice", { hasText: "was deleted" }).waitFor();
  await page.locator("#detail .value-tree", { hasText: '"note 555"' }).waitFor();
  await page.locator("#detail").getByText("Where this came from").click();
  await page.locator(".provenance dt", { hasText: "Number of the write" }).waitFor();
  // Of the one that was overwritten, the newer version is one step away, and the way back too.
  await row("key 500").getByRole("button").click();
  await page.locator(".provenance tbody tr").nth(1).waitFor();
  assert.match(await page.locator(".provenance tbody tr").nth(1).textContent(), /this one$/);
  await page.locator(".provenance").getByRole("button", { name: "Show" }).click();
  await page.locator("#detail .tabs").getByText("Value").click();
  await page.locator("#detail .value-tree", { hasText: "note 500, changed" }).waitFor();
  assert.equal(await page.locator("#detail .notice").count(), 0);
});

test("a key that is not there is said not to be, and the table stands at the next", async (t) => {
  const { page } = await open(t, notes(t));
  const { indexes, ...ids } = await idsOf(page, "made", "s");
  await openTable(page, ids);
  const jump = async (text) => {
    await page.getByLabel("Jump to key").fill(text);
    await page.keyboard.press("Enter");
  };
  await jump("555");
  await page.locator(".grid-notes", { hasText: "There is no 555 here" }).waitFor();
  await page.locator(".grid-row.active .cell-primaryKey", { hasText: "556" }).waitFor();
  await jump("700");
  await page.locator(".grid-row.active .cell-primaryKey", { hasText: "700" }).waitFor();
  assert.equal(await page.locator(".grid-notes").textContent(), "");
  // In an index over dates, a day is one.
  await openTable(page, { ...ids, index: indexes[0].id });
  await jump("2025-01-31");
  await page.locator(".grid-row.active .cell-key", { hasText: "2025-01-31" }).waitFor();
  assert.equal(await page.locator(".grid-notes").textContent(), "");
  await page.getByText("Range of keys").click();
  await page.getByLabel("From", { exact: true }).fill("2024-02-01");
  await page.getByLabel("To", { exact: true }).fill("2024-02-10");
  await page.getByRole("button", { name: "Show range" }).click();
  await page.locator(".grid-foot", { hasText: /^10 records/ }).waitFor();
});

test("a record of a search is shown in its table, wherever that is", async (t) => {
  const { page } = await open(t, notes(t));
  await page.locator("#search-text").fill("note 1100");
  await page.keyboard.press("Enter");
  await page.locator(".hit").first().waitFor();
  // With the keyboard alone.
  await page.locator("#search-text").focus();
  await page.keyboard.press("ArrowDown");
  await page.locator("#detail .value-tree", { hasText: "note 1100" }).waitFor();
  await page.getByText("Show in its table").click();
  await page.locator(".grid-row.active .cell-primaryKey", { hasText: "1100" }).waitFor();
  await page.locator(".grid-foot", { hasText: /1,199 in all/ }).waitFor();
});

test("what moves on to a page that is not loaded is not said to be gone", async (t) => {
  const folder = notes(t);
  const { page } = await open(t, folder);
  const { indexes, ...ids } = await idsOf(page, "made", "s");
  assert.equal(indexes.length, 1);
  await openTable(page, { ...ids, direction: "prev" });
  await page.locator(".grid-row", { hasText: "1200" }).first().waitFor();
  makeStore(folder, `${CHANGE} await change((s) => s.put({ text: 'new' }, 1201));`);
  await page.locator(".grid-row.marked-new", { hasText: "1201" }).waitFor();
  assert.equal(await page.locator(".passing").textContent(), "1 record new.");
  makeStore(folder, `${CHANGE} await change((s) => s.delete(1199));`);
  await page.locator(".passing", { hasText: "1 record gone" }).waitFor();
});

test("a store that may not be read is said to be so", async (t) => {
  const folder = notes(t);
  const [name] = fs.readdirSync(folder).filter((each) => each.endsWith(".leveldb"));
  fs.chmodSync(path.join(folder, name), 0);
  fs.chmodSync(folder, 0o755);
  try {
    // Root may read everything.
    const { page } = await open(t, folder, { uid: process.getuid() === 0 ? 65534 : undefined });
    await page.locator(".card .bad", { hasText: "Permission denied" }).waitFor();
    await page.locator(".card").click();
    await page.locator("#middle .bad", { hasText: "cannot be opened" }).waitFor();
  } finally {
    fs.chmodSync(path.join(folder, name), 0o700);
  }
});

test("blobs without a name are saved with the ending of their type", async (t) => {
  const folder = temporary(t);
  makeStore(folder, `${CHANGE} await change((s) => s.put(new Blob(['x'], { type: 'image/png;q=1' }), 1));`);
  const { page } = await open(t, folder);
  const { indexes, ...ids } = await idsOf(page, "made", "s");
  assert.deepEqual(indexes, []);
  await openTable(page, ids);
  await page.locator('.grid-row[data-row="0"]').click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator("#detail .blob").getByText("Download").click(),
  ]);
  assert.equal(download.suggestedFilename(), "blob-0.png");
});
