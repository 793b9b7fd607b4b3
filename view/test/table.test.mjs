// Tables: paging by key, jumping, ranges, filters, and indexes in four directions.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { expected, folderOf, storeOf } from "./lib/fixtures.mjs";
import { closeBrowser, goTo, idsOf, open, openTable, readRows } from "./lib/page.mjs";

after(closeBrowser);

const NAME = "c156";
const quoted = (key) => (key.t === "string" ? `"${key.v}"` : key.v);

/** Positions that a direction visits, as an expectation writes them. */
function orderOf(orders, direction, count) {
  const forward = [...Array(count).keys()];
  if (direction === "next" || orders[direction] === "same") return forward;
  return orders[direction] === "reverse" ? forward.reverse() : orders[direction];
}

test("thousands of records are scrolled through in the order of keys, in pages", async (t) => {
  const { page } = await open(t, folderOf(t, NAME));
  const asked = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/api/records")) asked.push(request.postDataJSON());
  });
  await openTable(page, await idsOf(page, "many", "rows"));
  const keys = storeOf(expected(NAME), "many", "rows").records.map(([key]) => [quoted(key)]);
  assert.deepEqual(await readRows(page), keys);
  assert.ok(asked.length >= keys.length / 200, `${asked.length} pages`);
  assert.ok(asked.every((each) => !("offset" in each) && each.limit <= 500));
  assert.ok(asked.slice(1).every((each) => each.after));
});

test("indexes are shown in four directions as the browser visited them", async (t) => {
  const { page } = await open(t, folderOf(t, NAME));
  const people = storeOf(expected(NAME), "indexes", "people");
  const ids = await idsOf(page, "indexes", "people");
  const texts = await (async () => {
    await openTable(page, ids);
    const rows = await readRows(page);
    return new Map(people.records.map(([key], at) => [JSON.stringify(key), rows[at][0]]));
  })();
  for (const index of people.indexes) {
    const { id } = ids.indexes.find(({ name }) => name === index.name);
    for (const direction of ["next", "nextunique", "prev", "prevunique"]) {
      await openTable(page, { ...ids, index: id, direction });
      await page.waitForFunction(() => document.querySelector(".grid-foot span"));
      const wanted = orderOf(index.orders, direction, index.entries.length).map((at) =>
        texts.get(JSON.stringify(index.entries[at][1])),
      );
      const rows = await readRows(page);
      assert.deepEqual(
        rows.map(([key]) => key),
        wanted,
        `${index.name}, ${direction}`,
      );
    }
  }
});

test("keys of every type are shown in their order", async (t) => {
  const { page } = await open(t, folderOf(t, NAME));
  await openTable(page, await idsOf(page, "keys", "all_keys"));
  const { records } = storeOf(expected(NAME), "keys", "all_keys");
  const rows = await readRows(page);
  assert.equal(rows.length, records.length);
  records.forEach(([key], at) => {
    if (key.t === "number") assert.equal(rows[at][0], key.v);
    if (key.t === "string" && /^[ -~]{0,400}$/.test(key.v ?? "\0")) assert.equal(rows[at][0], `"${key.v}"`);
    if (key.t === "date") assert.equal(rows[at][0], new Date(Number(key.v)).toISOString());
    if (key.t === "binary") assert.equal(rows[at][0].slice(0, 400), `0x${key.hex}`.slice(0, 400));
  });
});

test("a jump goes to a key, and what is before it is above", async (t) => {
  const { page } = await open(t, folderOf(t, NAME));
  await openTable(page, await idsOf(page, "many", "rows"));
  const keys = storeOf(expected(NAME), "many", "rows").records.map(([key]) => quoted(key));
  const wanted = keys[3000];
  await page.getByLabel("Jump to key").fill(wanted);
  await page.keyboard.press("Enter");
  await page.locator("#detail .record-title .key", { hasText: wanted }).waitFor();
  assert.equal(await page.locator(".grid-row.active .cell-primaryKey .key").textContent(), wanted);
  await page.locator(".grid").focus();
  for (let step = 1; step <= 5; step++) {
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction(
      (key) => document.querySelector(".grid-row.active .cell-primaryKey .key")?.textContent === key,
      keys[3000 - step],
    );
  }
  await page.keyboard.press("End");
  await page.waitForFunction(
    (key) => document.querySelector(".grid-row.active .cell-primaryKey .key")?.textContent === key,
    keys.at(-1),
  );
  await page.keyboard.press("Home");
  await page.waitForFunction(
    (key) => document.querySelector(".grid-row.active .cell-primaryKey .key")?.textContent === key,
    keys[0],
  );
});

test("a range has the keys in it, and a fault in a key is said at its field", async (t) => {
  const { page } = await open(t, folderOf(t, NAME));
  await openTable(page, await idsOf(page, "many", "rows"));
  const keys = storeOf(expected(NAME), "many", "rows").records.map(([key]) => quoted(key));
  await page.getByText("Range of keys").click();
  await page.getByLabel("From", { exact: true }).fill(keys[1000]);
  await page.getByLabel("To", { exact: true }).fill(keys[1300]);
  await page.getByLabel("without this key").nth(1).check();
  await page.getByText("Show range").click();
  await page.locator('.grid-row.active, .grid-row[data-row="0"]', { hasText: keys[1000] }).first().waitFor();
  assert.deepEqual(
    (await readRows(page)).map(([key]) => key),
    keys.slice(1000, 1300),
  );
  await page.getByLabel("To", { exact: true }).fill('{"date": "no date"}');
  await page.getByText("Show range").click();
  const fault = page.locator(".field-error:not(:empty)");
  await fault.waitFor();
  assert.equal(
    await page.locator('[aria-invalid="true"]').getAttribute("aria-describedby"),
    await fault.getAttribute("id"),
  );
  assert.equal(await page.locator('[aria-invalid="true"]').inputValue(), '{"date": "no date"}');
});

test("back, forward and reloading come to the same place", async (t) => {
  const { page } = await open(t, folderOf(t, NAME));
  const [rows, people] = [await idsOf(page, "many", "rows"), await idsOf(page, "indexes", "people")];
  await openTable(page, rows);
  await page.locator('.grid-row[data-row="7"]').click();
  const key = await page.locator('.grid-row[data-row="7"] .key').textContent();
  await page.locator("#detail .record-title .key", { hasText: key }).waitFor();
  await goTo(page, people);
  await page.locator("h1", { hasText: "people" }).waitFor();
  assert.equal(await page.locator("#detail .value-tree").count(), 0);
  await page.goBack();
  await page.locator("h1", { hasText: "rows" }).waitFor();
  await page.locator("#detail .record-title .key", { hasText: key }).waitFor();
  await page.reload();
  await page.locator("h1", { hasText: "rows" }).waitFor();
  await page.locator("#detail .record-title .key", { hasText: key }).waitFor();
  assert.ok(!page.url().includes(await page.evaluate(() => sessionStorage.getItem("larder-token"))));
  await page.goForward();
  await page.locator("h1", { hasText: "people" }).waitFor();
});

test("a filter leaves the rows that have its text, and columns can be chosen", async (t) => {
  const { page } = await open(t, folderOf(t, NAME));
  await openTable(page, await idsOf(page, "indexes", "people"));
  const people = storeOf(expected(NAME), "indexes", "people").records;
  const all = await readRows(page);
  await page.getByLabel("Filter", { exact: true }).fill("robert");
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    (count) =>
      document.querySelectorAll(".grid-body .grid-row").length > 0 &&
      document.querySelectorAll(".grid-body .grid-row").length < Math.min(count, 30),
    all.length,
  );
  const wanted = people
    .map(([, value], at) => [JSON.stringify(value), all[at][0]])
    .filter(([text]) => text.includes("robert"))
    .map(([, key]) => [key]);
  assert.deepEqual(await readRows(page), wanted);
  assert.equal(await page.getByRole("columnheader", { name: "email" }).count(), 1);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "email" }).uncheck();
  assert.equal(await page.getByRole("columnheader", { name: "email" }).count(), 0);
});
