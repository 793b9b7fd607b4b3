// Each golden store opens, with the databases, object stores, indexes and counts that its browser said.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { all, expected, folderOf } from "./lib/fixtures.mjs";
import { ask, closeBrowser, goTo, open } from "./lib/page.mjs";

after(closeBrowser);

/** Opens all of the tree and reads it. */
async function readTree(page) {
  return page.evaluate(async () => {
    const settle = () =>
      new Promise((resolve) => {
        // Rows follow a height in the frame after.
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 30)));
      });
    const tree = document.querySelector(".tree");
    // All rows are in the document if all are in sight.
    tree.style.flex = "none";
    tree.style.height = "60000px";
    for (let closed = true; closed; await settle()) {
      closed = tree.querySelector('[aria-expanded="false"] > .twist');
      closed?.click();
    }
    while ([...tree.querySelectorAll(".count")].some((count) => /[…+]$/.test(count.textContent))) await settle();
    await settle();
    return [...tree.querySelectorAll("[role=treeitem]")].map((row) => ({
      level: Number(row.getAttribute("aria-level")),
      name: row.querySelector(".place-name").textContent,
      count: row.querySelector(".count")?.textContent,
      unseen: Boolean(row.querySelector(".tag")?.textContent === "unseen"),
    }));
  });
}

/** A name with the escapes that the page shows, or null where this test does not know them. */
const shownName = (name) =>
  name === "" ? "(empty name)" : typeof name === "string" && /^[ -~À-ɏ]*$/.test(name) ? name : null;

for (const { name } of all) {
  test(`${name} opens`, async (t) => {
    const { page } = await open(t, folderOf(t, name));
    const { stores } = await ask(page, "stores", {});
    assert.ok(stores.length > 0);
    await goTo(page, { store: 0 });
    await page.locator("h1").first().waitFor();
    const rows = await readTree(page);
    const document = expected(name);
    if (!document) return;
    const shown = rows.filter((row, at) => row.level >= 2 && !isUnseen(rows, at));
    const databases = document.databases;
    assert.equal(shown.filter(({ level }) => level === 2).length, databases.length);
    assert.equal(
      shown.filter(({ level }) => level === 3).length,
      databases.reduce((sum, each) => sum + each.stores.length, 0),
    );
    for (const database of databases) {
      for (const store of database.stores) {
        const wanted = shownName(store.name);
        if (wanted === null) continue;
        const found = shown.filter((row) => row.level === 3 && row.name === wanted);
        assert.ok(
          found.some(({ count }) => count === new Intl.NumberFormat("en").format(store.count)),
          `${database.name}, ${store.name}: ${JSON.stringify(found)}, not ${store.count}`,
        );
        for (const index of store.indexes) {
          const indexes = shown.filter((row) => row.level === 4 && row.name === (shownName(index.name) ?? row.name));
          assert.ok(
            indexes.some(({ count }) => count === new Intl.NumberFormat("en").format(index.count)),
            `index ${index.name}: ${JSON.stringify(indexes)}, not ${index.count}`,
          );
        }
      }
    }
  });
}

/** Whether a row belongs to a database that pages do not see. */
function isUnseen(rows, at) {
  for (let above = at; above >= 0; above--) if (rows[above].level === 2) return rows[above].unseen;
  return false;
}
