// The page in a browser: opening it, and what is done in it again and again.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { view } from "./larder.mjs";

export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
export const EXECUTABLE = process.env.LARDER_CHROMIUM ?? "/usr/bin/chromium";

let browser;
/** One browser for all tests of a file. */
export async function browserOf() {
  browser ??= await chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
  return browser;
}
export async function closeBrowser() {
  await browser?.close();
  browser = undefined;
}

/** Opens the page on a folder. Faults of the page fail the test. */
export async function open(t, folder, { args, uid, ...options } = {}) {
  const served = await view(t, folder, { args, uid });
  const context = await (
    await browserOf()
  ).newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.stack));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource|ERR_CONNECTION/.test(message.text()))
      faults.push(message.text());
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, []);
  });
  await page.goto(served.url);
  await page.locator("[role=treeitem]").first().waitFor({ state: "attached" });
  return { page, context, ...served };
}

/** Asks the server as the page does. */
export const ask = (page, question, asked) =>
  page.evaluate(
    async ([name, body]) => {
      const response = await fetch(`/api/${name}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "Larder-Token": sessionStorage.getItem("larder-token") },
        body: JSON.stringify(body),
      });
      return response.json();
    },
    [question, asked],
  );

const nameOf = (name) => (typeof name === "string" ? name : JSON.stringify(name));

/** The ids of a database and object store, by their names. */
export async function idsOf(page, database, objectStore, store = 0) {
  const { databases } = await ask(page, "store", { store });
  const found = databases.find(({ name }) => nameOf(name) === nameOf(database));
  assert.ok(found, `database ${nameOf(database)}`);
  const inside = found.objectStores.find(({ name }) => nameOf(name) === nameOf(objectStore));
  assert.ok(inside, `object store ${nameOf(objectStore)}`);
  return { store, database: found.id, objectStore: inside.id, indexes: inside.indexes };
}

/** Goes to a place by its address. */
export async function goTo(page, place) {
  const members = new URLSearchParams(
    Object.entries(place).filter(([, value]) => value !== undefined && typeof value !== "object"),
  );
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#${members}`);
}

/** Opens an object store or index, and waits for its rows. */
export async function openTable(page, place) {
  // A table that was there before is not the one that is waited for, unless it is the same.
  await page.evaluate(
    (wanted) => {
      const now = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
      delete now.key;
      if (JSON.stringify(Object.entries(now).sort()) !== JSON.stringify(Object.entries(wanted).sort()))
        document.querySelector(".records")?.classList.add("old");
    },
    Object.fromEntries(
      Object.entries(place)
        .filter(([, value]) => value !== undefined && typeof value !== "object")
        .map(([name, value]) => [name, String(value)]),
    ),
  );
  await goTo(page, place);
  await page.locator(".records:not(.old) .grid-foot span").first().waitFor();
}

/** All keys of a table, from first to last as the rows show them, scrolled through. `column`: of which cells. */
export async function readRows(page, columns = ["primaryKey"]) {
  return page.evaluate(async (names) => {
    const grid = document.querySelector(".grid");
    const rows = new Map();
    // Rows follow the scroll position in the next frame.
    const settle = () =>
      new Promise((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)));
      });
    grid.scrollTop = 0;
    await settle();
    for (let steps = 0; ; steps++) {
      if (steps > 2000) throw new Error("the table has no end");
      let isMissing = false;
      for (const row of grid.querySelectorAll(".grid-body .grid-row")) {
        const cells = names.map((name) => row.querySelector(`.cell-${name} .key, .cell-${name}`)?.textContent);
        if (cells[0] === undefined) isMissing = true;
        else rows.set(Number(row.dataset.row), cells);
      }
      const isAtEnd = grid.scrollTop + grid.clientHeight >= grid.scrollHeight - 1;
      const isWhole = !/more/.test(document.querySelector(".grid-foot span").textContent);
      if (isMissing || (isAtEnd && !isWhole)) await settle();
      else if (isAtEnd) break;
      else {
        grid.scrollTop += grid.clientHeight - 80;
        await settle();
      }
    }
    return [...rows].sort(([a], [b]) => a - b).map(([, cells]) => cells);
  }, columns);
}

/** Chooses a row by its place and waits until its record is shown. */
export async function chooseRow(page, index) {
  await page.locator(`.grid-row[data-row="${index}"]`).click();
  await page.locator("#detail .value-tree").waitFor();
}
