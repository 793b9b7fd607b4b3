// Stores made to harm: markup everywhere, names that turn the direction of writing, enormous keys, very many object stores.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { temporary } from "./lib/larder.mjs";
import { makeStore, manyObjectStores } from "./lib/make.mjs";
import { ask, chooseRow, closeBrowser, goTo, idsOf, open, openTable } from "./lib/page.mjs";

after(closeBrowser);

const EVIL =
  "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\u202e\u0000\n\"'`${1}";

test("nothing of a store is markup", async (t) => {
  const folder = temporary(t);
  makeStore(
    folder,
    `
    const evil = ${JSON.stringify(EVIL)};
    const transaction = db.transaction([evil], 'readwrite');
    const s = transaction.objectStore(evil);
    const list = [evil, new Map([[evil, evil], [{ [evil]: 1 }, 2]]), new Set([evil]), new Date(0), new Error(evil), new RegExp('<b>')];
    s.put({ [evil]: evil, __proto__: null, constructor: evil, list, file: new File([evil], evil, { type: 'text/html' }), lone: 'a\\ud800b' }, evil);
    s.put(evil, [evil, 1]);
    await new Promise((resolve) => { transaction.oncomplete = resolve; });`,
    {
      upgrade: `{ const evil = ${JSON.stringify(EVIL)}; db.createObjectStore(evil).createIndex(evil, 'constructor'); }`,
    },
  );
  const { page } = await open(t, folder);
  let isAsked = false;
  page.on("request", (request) => {
    if (
      !/\/(api|download)\/|\.(js|css|svg)$|\/$/.test(new URL(request.url()).pathname) &&
      !request.url().startsWith("blob:")
    )
      isAsked = request.url();
  });
  const ids = await idsOf(page, "made", EVIL);
  await openTable(page, ids);
  for (const row of [0, 1]) {
    await chooseRow(page, row);
    await page.getByText("Expand all").click();
    await page.waitForTimeout(200);
  }
  await page.getByText("Where this came from").click();
  await openTable(page, { ...ids, index: ids.indexes[0].id });
  await goTo(page, { ...ids, view: "hidden" });
  await goTo(page, { store: 0 });
  await page.locator(".cards").waitFor();
  await goTo(page, { view: "search", text: "onerror" });
  await page.locator(".hit").first().click();
  await page.locator("#detail .value-tree").waitFor();
  assert.doesNotMatch(await page.title(), /^taken/);
  assert.equal(await page.locator('img:not([src="icon.svg"]):not(.preview), #panels script').count(), 0);
  assert.equal(isAsked, false);
  // What turns the direction of writing is an escape, not itself.
  const text = await page.evaluate(() => document.body.innerText);
  assert.ok(!/[\u202e\u0000]/.test(text));
  assert.match(text, /\\u202e/);
});

test("a key of ten megabytes is shown by its beginning, and its record is opened", async (t) => {
  const folder = temporary(t);
  makeStore(
    folder,
    `
    const transaction = db.transaction('s', 'readwrite');
    transaction.objectStore('s').put({ is: 'found' }, 'k'.repeat(5 * 1024 * 1024));
    transaction.objectStore('s').put({ is: 'small' }, 1);
    await new Promise((resolve) => { transaction.oncomplete = resolve; });`,
  );
  const { page } = await open(t, folder);
  await openTable(page, await idsOf(page, "made", "s"));
  await page.locator('.grid-row[data-row="1"]').waitFor();
  assert.match(await page.locator('.grid-row[data-row="1"] .key').textContent(), /^"k{100,}/);
  assert.ok((await page.locator('.grid-row[data-row="1"] .key').textContent()).length < 1000);
  await chooseRow(page, 1);
  await page.locator("#detail .value-tree", { hasText: "found" }).waitFor();
  assert.equal(await page.locator("#banner").isVisible(), false);
  await chooseRow(page, 0);
  await page.locator("#detail .value-tree", { hasText: "small" }).waitFor();
});

// `LARDER_WHOLE` takes many more.
const OBJECT_STORES = process.env.LARDER_WHOLE ? 100_000 : 10_000;

test(`${OBJECT_STORES} object stores are a tree of which only what is seen is in the page`, async (t) => {
  const { page } = await open(t, manyObjectStores(t, OBJECT_STORES));
  const { databases } = await ask(page, "store", { store: 0 });
  assert.equal(databases[0].count, OBJECT_STORES);
  assert.equal(databases[0].objectStores.length, 500);
  await goTo(page, { store: 0, database: databases[0].id, objectStore: databases[0].objectStores[5].id });
  await page.locator(".place.current").waitFor();
  const tree = page.locator(".tree");
  await tree.focus();
  for (let presses = 0; presses < 8; presses++) {
    await page.keyboard.press("End");
    await page.waitForTimeout(50);
    assert.ok((await tree.locator("[role=treeitem]").count()) < 120);
  }
  const reached = await page.locator(".place.active .place-name").textContent();
  assert.match(reached, /more|n00\d{4}/);
  // One that is far away is found by its address: the page loads what is before it.
  const ids = databases[0].objectStores.at(-1).id;
  await goTo(page, { store: 0, database: databases[0].id, objectStore: ids + 5000 });
  await page.locator("h1", { hasText: /n00/ }).waitFor();
  await page.locator(".place.current").waitFor();
  assert.ok((await tree.locator("[role=treeitem]").count()) < 120);
});
