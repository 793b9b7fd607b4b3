// The change feed of a database, as a line of time.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { temporary } from "./lib/larder.mjs";
import { makeStore } from "./lib/make.mjs";
import { closeBrowser, goTo, idsOf, open } from "./lib/page.mjs";

after(closeBrowser);

test("what changed is shown transaction by transaction, the oldest first", async (t) => {
  const folder = temporary(t);
  makeStore(
    folder,
    `
    db.close();
    await larder.setChangeFeed('made', true);
    const again = await new Promise((resolve) => { const opening = indexedDB.open('made'); opening.onsuccess = () => resolve(opening.result); });
    const change = (work) => new Promise((resolve) => {
      const transaction = again.transaction('s', 'readwrite');
      work(transaction.objectStore('s'));
      transaction.oncomplete = resolve;
    });
    await change((s) => { s.put({ name: 'first', n: 1 }, 'a'); s.put({ name: 'second' }, 'b'); });
    await change((s) => s.put({ name: 'first', n: 2 }, 'a'));
    await change((s) => s.delete('b'));
    again.close();`,
  );
  const { page } = await open(t, folder);
  const { database } = await idsOf(page, "made", "s");
  await goTo(page, { store: 0, database });
  await page.getByRole("button", { name: "Changes" }).click();
  await page.locator(".transaction").nth(2).waitFor();
  const shown = await page
    .locator(".transaction")
    .evaluateAll((all) =>
      all.map((each) =>
        [...each.querySelectorAll(".revisions li")].map((revision) => [
          revision.querySelector(".tag").textContent,
          revision.querySelector(".key").textContent,
        ]),
      ),
    );
  assert.deepEqual(shown, [
    [
      ["new", '"a"'],
      ["new", '"b"'],
    ],
    [["changed", '"a"']],
    [["removed", '"b"']],
  ]);
  assert.match(await page.locator(".transaction").nth(1).textContent(), /name: "first", n: 2/);
});
