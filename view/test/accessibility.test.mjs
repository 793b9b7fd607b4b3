// axe-core finds nothing serious in any view, light and dark, wide and as narrow as a phone; and the keyboard reaches everything.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import fs from "node:fs";
import { after, test } from "node:test";
import { expected, folderOf, storeOf } from "./lib/fixtures.mjs";
import { chooseRow, closeBrowser, goTo, idsOf, open, openTable } from "./lib/page.mjs";

after(closeBrowser);

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function check(page, name) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(
    serious.map(({ id, nodes }) => [
      name,
      id,
      nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 200)}: ${failureSummary}`),
    ]),
    [],
  );
}

const LOOKS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["light, phone", { colorScheme: "light", viewport: { width: 390, height: 844 } }],
  ["dark, phone", { colorScheme: "dark", viewport: { width: 390, height: 844 } }],
];

for (const [look, options] of LOOKS) {
  // These two have both colours and both widths: the others are tried with `LARDER_WHOLE`.
  if (!["light", "dark, phone"].includes(look) && !process.env.LARDER_WHOLE) continue;
  test(`no view has a serious fault: ${look}`, async (t) => {
    const { page } = await open(t, folderOf(t, "c156"), options);
    const isNarrow = options.viewport !== undefined;
    await page.locator(".cards").waitFor();
    if (isNarrow) await page.getByRole("button", { name: "Stores" }).click();
    await page.locator(".place").first().waitFor();
    await check(page, "tree");
    if (isNarrow) await page.locator(".place").first().click();
    await page.locator(".cards").waitFor();
    await check(page, "store");
    const values = await idsOf(page, "values", "v");
    await goTo(page, { store: 0, database: values.database });
    await page.locator(".plain-table").waitFor();
    await check(page, "database");
    await openTable(page, await idsOf(page, "indexes", "people"));
    await check(page, "table");
    await page.getByText("Range of keys").click();
    await page.getByRole("button", { name: "Columns" }).click();
    await check(page, "table with tools");
    await page.keyboard.press("Escape");
    await openTable(page, values);
    for (const [at, [key]] of storeOf(expected("c156"), "values", "v").records.entries()) {
      if (!/Map|typed|Image|Error|Crypto/i.test(key.v ?? "")) continue;
      if (isNarrow && at >= 20) continue;
      if (at < 20) await chooseRow(page, at);
      else {
        await page.locator(".grid").focus();
        await page.keyboard.press("ArrowDown");
      }
      await page.getByText("Expand all").click();
      if (isNarrow) {
        await check(page, key.v);
        await page.getByText("‹ Records").click();
      }
    }
    if (!isNarrow) await check(page, "values");
    await page.locator(".grid-row.active").click();
    await page.getByText("Where this came from").click();
    await page.locator(".provenance .hex").waitFor();
    await check(page, "where this came from");
    await goTo(page, { store: 0, view: "problems" });
    await page.getByRole("button", { name: "Check quickly" }).click();
    await page.locator(".search-status p").waitFor();
    await check(page, "problems");
    await goTo(page, { store: 0, view: "hidden" });
    await page.locator(".hidden-rows [role=status]", { hasText: /earlier record/ }).waitFor();
    await check(page, "earlier records");
    await page.locator(".hidden-rows tbody button").first().click();
    await page.locator("#detail .tabs").getByText("Value").click();
    await page.locator("#detail .value-tree").waitFor();
    await check(page, "an earlier record");
    if (isNarrow) await page.getByText("‹ Hidden rows").click();
    await page.getByLabel("Show", { exact: true }).selectOption("all");
    await page.locator(".hidden-rows [role=status]", { hasText: /hidden row/ }).waitFor();
    await check(page, "hidden rows");
    await goTo(page, { view: "search", text: "one" });
    await page.locator(".hit").first().waitFor();
    await check(page, "search");
    await page.locator("#help-button").click();
    await check(page, "help");
  });
}

test("a record is reached and read with the keyboard alone", async (t) => {
  const { page } = await open(t, folderOf(t, "c156"));
  await page.locator(".place.is-database", { hasText: "many" }).waitFor();
  await page.locator(".tree").focus();
  await page.keyboard.type("many");
  await page.locator(".place.active", { hasText: "many" }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.locator("h1", { hasText: "rows" }).waitFor();
  await page.locator(".grid-foot span").first().waitFor();
  for (let presses = 0; presses < 30; presses++) {
    if (await page.evaluate(() => document.activeElement.getAttribute("role") === "grid")) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.locator("#detail .value-tree").waitFor();
  const active = await page.evaluate(() =>
    document
      .getElementById(document.querySelector(".grid").getAttribute("aria-activedescendant"))
      ?.getAttribute("aria-selected"),
  );
  assert.equal(active, "true");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => Boolean(document.activeElement.closest("#detail"))), true);
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "treeitem");
});
