// A store that a browser writes to while it is looked at: new and changed records appear by themselves, and are marked.
import assert from "node:assert/strict";
import http from "node:http";
import path from "node:path";
import { after, test } from "node:test";
import { chromium } from "playwright-core";
import { temporary } from "./lib/larder.mjs";
import { EXECUTABLE, FLAGS, closeBrowser, idsOf, open, openTable } from "./lib/page.mjs";

after(closeBrowser);

/** A page of a real browser, with a profile of its own and a database that it can be asked to write to. */
async function writer(t) {
  const server = http.createServer((request, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>writer</title>");
  });
  await new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  t.after(() => server.close());
  const profile = temporary(t);
  const context = await chromium.launchPersistentContext(profile, { executablePath: EXECUTABLE, args: FLAGS });
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const opening = indexedDB.open("live", 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore("s");
        opening.onsuccess = () => {
          globalThis.db = opening.result;
          resolve();
        };
        opening.onerror = () => reject(opening.error);
      }),
  );
  const write = (puts, deletes = []) =>
    page.evaluate(
      ([values, gone]) =>
        new Promise((resolve, reject) => {
          const transaction = globalThis.db.transaction("s", "readwrite", { durability: "strict" });
          for (const [key, value] of values) transaction.objectStore("s").put(value, key);
          for (const key of gone) transaction.objectStore("s").delete(key);
          transaction.oncomplete = resolve;
          transaction.onerror = () => reject(transaction.error);
        }),
      [puts, deletes],
    );
  return { folder: path.join(profile, "Default", "IndexedDB"), write };
}

test("what a browser writes is shown by itself, marked, and the selection stays", async (t) => {
  const { folder, write } = await writer(t);
  await write([...Array(600).keys()].map((key) => [key, { n: key, text: "before" }]));
  const { page } = await open(t, folder);
  await openTable(page, await idsOf(page, "live", "s"));
  await page.getByLabel("Jump to key").fill("300");
  await page.keyboard.press("Enter");
  await page.locator("#detail .record-title", { hasText: "300" }).waitFor();
  const place = () =>
    page.evaluate(() => {
      const row = document.querySelector(".grid-row.active");
      return [row.querySelector(".key").textContent, Math.round(row.getBoundingClientRect().top)];
    });
  const before = await place();
  await write([
    [302, { n: 302, text: "after" }],
    [302.5, { n: 302.5, text: "new" }],
  ]);
  await page.locator(".grid-row.marked-changed", { hasText: "after" }).waitFor();
  await page.locator(".grid-row.marked-new", { hasText: "302.5" }).waitFor();
  assert.match(await page.locator("#polite").textContent(), /1 record changed, 1 record new/);
  assert.deepEqual(await place(), before);
  // The marks go after some seconds.
  await page.waitForFunction(() => document.querySelectorAll(".grid-row.marked").length === 0);
  // The record that is open follows its record.
  await write([[300, { n: 300, text: "changed while it is open" }]]);
  await page.locator("#detail .value-tree", { hasText: "changed while it is open" }).waitFor();
  // A record that goes while it is open is said to be gone.
  await write([], [300]);
  await page.locator("#detail", { hasText: "not in the store any more" }).waitFor();
});

test("a page that is paused stays as it is until it goes on", async (t) => {
  const { folder, write } = await writer(t);
  await write([[1, "first"]]);
  const { page } = await open(t, folder);
  await openTable(page, await idsOf(page, "live", "s"));
  await page.locator(".grid-row", { hasText: "first" }).waitFor();
  await page.locator("#live-switch").click();
  let asked = 0;
  page.on("request", (request) => {
    if (request.url().endsWith("/api/records")) asked++;
  });
  await write([[2, "second"]]);
  await page.waitForTimeout(3000);
  assert.equal(asked, 0);
  assert.equal(await page.locator(".grid-row", { hasText: "second" }).count(), 0);
  await page.locator("#live-switch").click();
  await page.locator(".grid-row.marked-new", { hasText: "second" }).waitFor();
});

test("a command that has ended is said to be away", async (t) => {
  const { folder, write } = await writer(t);
  await write([[1, "first"]]);
  const { page, stop } = await open(t, folder);
  await stop();
  await page.locator("#banner", { hasText: "does not answer" }).waitFor();
});
