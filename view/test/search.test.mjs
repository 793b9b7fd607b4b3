// Searching: hits as they come, their records with the place, kinds, scopes, and stopping.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { folderOf } from "./lib/fixtures.mjs";
import { larder, temporary } from "./lib/larder.mjs";
import { closeBrowser, goTo, idsOf, open } from "./lib/page.mjs";
import { makeStore } from "./lib/make.mjs";

after(closeBrowser);

const ended = (page) =>
  page.waitForFunction(
    () =>
      /found|Nothing|places are shown/.test(document.querySelector(".search-status")?.textContent ?? "") &&
      !document.querySelector(".search-status .cancel"),
  );

test("what is found is what the command finds, and a hit shows its place", async (t) => {
  const folder = folderOf(t, "c156");
  const { page } = await open(t, folder);
  await page.getByPlaceholder("Search in everything").fill("shared content");
  await page.keyboard.press("Enter");
  await ended(page);
  for (const [kind, text] of [
    ["text", "one"],
    ["regex", "^o.e$"],
    ["type", "Map"],
    ["key", '"k"'],
  ]) {
    await goTo(page, { view: "search", kind, text });
    await ended(page);
    const option = { text: [text], regex: ["--regex", text], type: ["--type", text], key: ["--key", text] }[kind];
    const found = larder(
      ["find", folder, ...option, "--ignore-case", "--format", "json"].filter(
        (each) => kind === "text" || kind === "regex" || each !== "--ignore-case",
      ),
    )
      .toString()
      .trim()
      .split("\n");
    const said = await page.locator(".search-status").textContent();
    assert.equal(Number(/^([\d,]+)/.exec(said)[1].replaceAll(",", "")), found.length, `${kind}: ${said}`);
  }
  await goTo(page, { view: "search", text: "one", ignoreCase: "no" });
  await ended(page);
  await page.locator(".hit", { hasText: '"Map"' }).first().click();
  await page.locator("#detail .value-tree .line.found").waitFor();
  assert.match(await page.locator("#detail .line.found").textContent(), /"one"/);
});

test("a search within an object store finds nothing outside of it", async (t) => {
  const { page } = await open(t, folderOf(t, "c156"));
  const { indexes, ...ids } = await idsOf(page, "indexes", "people");
  await goTo(page, { view: "search", ...ids, text: "a" });
  await ended(page);
  assert.ok((await page.locator(".hit").count()) > 3);
  for (const where of await page.locator(".hit-where").allTextContents()) assert.match(where, /› indexes › people ›/);
  assert.ok(indexes.length > 0);
});

test("a pattern that is none is named in words", async (t) => {
  const { page } = await open(t, folderOf(t, "c156-lite"));
  await goTo(page, { view: "search", kind: "regex", text: "(" });
  await page.locator(".search-status .bad").waitFor();
});

test("a search that is stopped ends at once", async (t) => {
  const folder = temporary(t);
  makeStore(
    folder,
    `
    for (let begin = 0; begin < 200000; begin += 20000) {
      const transaction = db.transaction('s', 'readwrite');
      for (let i = begin; i < begin + 20000; i++) transaction.objectStore('s').put({ title: 'needle ' + i, text: 'x'.repeat(200) }, i);
      await new Promise((resolve) => { transaction.oncomplete = resolve; });
    }`,
  );
  const { page } = await open(t, folder);
  // The button is pressed as soon as it is there: the search must not end before.
  await page.evaluate(() => {
    const observer = new MutationObserver(() => {
      const button = document.querySelector(".search-status .cancel");
      if (!button) return;
      observer.disconnect();
      button.click();
    });
    observer.observe(document.body, { childList: true, subtree: true });
  });
  await goTo(page, { view: "search", kind: "regex", text: "needle .*9999[0-9]?$" });
  await page.locator(".search-status", { hasText: "Stopped" }).waitFor();
  await goTo(page, { view: "search", text: "needle 199999" });
  await page.locator(".hit").first().waitFor();
  await ended(page);
});
