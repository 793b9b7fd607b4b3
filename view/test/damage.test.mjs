// Damage is said in words where it belongs, the rest is shown; and what the files still have of earlier writes.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { expected, folderOf } from "./lib/fixtures.mjs";
import { closeBrowser, goTo, idsOf, open, openTable, readRows } from "./lib/page.mjs";

after(closeBrowser);

/** Flips bytes in the middle of the largest table. */
function harm(folder) {
  const files = fs
    .readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".ldb"))
    .map((name) => path.join(folder, name));
  const [largest] = files.sort((a, b) => fs.statSync(b).size - fs.statSync(a).size);
  const bytes = fs.readFileSync(largest);
  const at = Math.floor(bytes.length / 2);
  for (let offset = at; offset < at + 16; offset++) bytes[offset] ^= 0x5a;
  fs.writeFileSync(largest, bytes);
  return path.basename(largest);
}

test("a damaged store shows what is wrong, and all that is not", async (t) => {
  const folder = folderOf(t, "c156");
  const file = harm(folder);
  const { page } = await open(t, folder);
  await goTo(page, { store: 0, view: "problems" });
  await page.getByRole("button", { name: "Check quickly" }).click();
  await page.locator(".finding").first().waitFor();
  await page.locator(".search-status .bad").waitFor();
  assert.ok((await page.locator(".findings").textContent()).includes(file));
  assert.ok((await page.locator(".tree .badge").count()) === 1);
  // Something of the rest is there, whole: small object stores lie in other blocks.
  const document = expected("c156");
  let shown = 0;
  let said = 0;
  for (const database of document.databases) {
    for (const store of database.stores) {
      const ids = await idsOf(page, database.name, store.name).catch(() => null);
      if (!ids) continue;
      await openTable(page, ids);
      const count = (await readRows(page)).length;
      assert.ok(count <= store.count, `${database.name}, ${store.name}: ${count} of ${store.count}`);
      const problems = await page.locator(".withheld li").allTextContents();
      if (count === store.count) shown++;
      else
        assert.ok(
          problems.length > 0,
          `${database.name}, ${store.name}: ${count} of ${store.count}, and nothing is said`,
        );
      said += problems.length;
    }
  }
  assert.ok(shown > 10, `${shown} object stores are whole`);
  assert.ok(said > 0);
});

test("a sound store is said to be sound", async (t) => {
  const { page } = await open(t, folderOf(t, "c156-lite"));
  await goTo(page, { store: 0, view: "problems" });
  await page.getByRole("button", { name: "Check in full" }).click();
  await page.locator(".search-status .good").waitFor();
  assert.equal(await page.locator(".finding").count(), 0);
});

test("rows that pages do not see are listed with their reason", async (t) => {
  const { page } = await open(t, folderOf(t, "c156-killed-spill"));
  await goTo(page, { store: 0, view: "hidden" });
  await page.getByLabel("Show", { exact: true }).selectOption("all");
  await page.locator(".hidden-rows tbody tr", { hasText: "undo" }).first().waitFor();
  const rows = await page
    .locator(".hidden-rows tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  for (const row of rows) {
    assert.match(row[0], /^(stale|overwritten|deleted|deletion|undone|undo)$/);
    assert.ok(row[6].length > 10, row.join(" | "));
  }
});

test("what a killed browser had not committed is said to be undone, and not shown", async (t) => {
  const { page } = await open(t, folderOf(t, "c156-killed-spill"));
  await goTo(page, { store: 0 });
  await page.locator(".notice", { hasText: /undone|taken back|undo/i }).waitFor();
  const document = expected("c156-killed-spill");
  for (const database of document.databases) {
    for (const store of database.stores.slice(0, 3)) {
      await openTable(page, await idsOf(page, database.name, store.name));
      assert.equal((await readRows(page)).length, store.count);
    }
  }
});
