// Makes the pictures of the page in docs/: `node screenshots.mjs`, with the command built.
import path from "node:path";
import { after, test } from "node:test";
import { folderOf } from "./lib/fixtures.mjs";
import { ROOT } from "./lib/larder.mjs";
import { closeBrowser, goTo, idsOf, open, openTable } from "./lib/page.mjs";

const picture = (name) => path.join(ROOT, "docs", name);

test("pictures", async (t) => {
  const { page } = await open(t, folderOf(t, "c156"), { viewport: { width: 1400, height: 780 }, colorScheme: "light" });
  const people = await idsOf(page, "indexes", "people");
  await openTable(page, people);
  await page.locator(".twist").nth(3).click();
  await page.locator('.grid-row[data-row="4"]').click();
  await page.locator("#detail .value-tree").waitFor();
  await page.locator(".grid").evaluate((grid) => {
    grid.scrollLeft = 0;
  });
  await page.mouse.move(0, 0);
  await page.waitForTimeout(1500);
  await page.screenshot({ path: picture("view-records.png") });
  await goTo(page, { view: "search", text: "u1@" });
  await page.locator(".hit").first().waitFor();
  await page.locator(".hit").first().click();
  await page.locator("#detail .value-tree .found").waitFor();
  await page.mouse.move(0, 0);
  await page.waitForTimeout(500);
  await page.screenshot({ path: picture("view-search.png") });
});
after(closeBrowser);
