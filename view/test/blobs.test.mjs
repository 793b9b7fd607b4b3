// Blobs: previews, and downloads with their very bytes. Exports: JSON Lines, archives, canonical JSON, the clipboard.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { expected, folderOf, storeOf } from "./lib/fixtures.mjs";
import { larder, temporary } from "./lib/larder.mjs";
import { makeStore } from "./lib/make.mjs";
import { chooseRow, closeBrowser, idsOf, open, openTable } from "./lib/page.mjs";

after(closeBrowser);

async function saved(page, press) {
  const [download] = await Promise.all([page.waitForEvent("download"), press()]);
  return { name: download.suggestedFilename(), bytes: fs.readFileSync(await download.path()) };
}

const contents = (node, found = []) => {
  if (node === null || typeof node !== "object") return found;
  if (node.t === "Blob" || node.t === "File") found.push(node);
  Object.values(node).forEach((member) => contents(member, found));
  return found;
};

for (const name of ["c156", "c64-lite", "s156-lite"]) {
  test(`each blob of ${name} is saved with the bytes that its browser read`, async (t) => {
    const { page } = await open(t, folderOf(t, name));
    await openTable(page, await idsOf(page, "blobs", "b"));
    const { records } = storeOf(expected(name), "blobs", "b");
    let count = 0;
    for (const [at, [, value]] of records.entries()) {
      const blobs = contents(value);
      if (blobs.length === 0) continue;
      await chooseRow(page, at);
      await page.locator("#detail .record-title", { hasText: JSON.stringify(records[at][0].v).slice(0, 20) }).waitFor();
      await page.getByText("Expand all").click();
      const buttons = page.locator("#detail .blob").getByText("Download");
      assert.equal(await buttons.count(), blobs.length);
      for (const [number, blob] of blobs.entries()) {
        const { bytes } = await saved(page, () => buttons.nth(number).click());
        assert.equal(bytes.length, blob.size);
        if (blob.bytes.hex !== undefined) assert.equal(bytes.toString("hex"), blob.bytes.hex);
        else assert.equal(createHash("sha256").update(bytes).digest("hex"), blob.bytes.sha256);
        count++;
      }
    }
    assert.ok(count > 5, `${count} blobs`);
  });
}

// A picture of 2 by 1 pixels.
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAAD0lEQVR4nGP4z8DwH4QBEfcD/SSm4JoAAAAASUVORK5CYII=";

test("pictures and texts are previewed, markup is text, and other bytes are in hex", async (t) => {
  const folder = temporary(t);
  makeStore(
    folder,
    `
    const png = Uint8Array.from(atob('${PNG}'), (c) => c.charCodeAt(0));
    const transaction = db.transaction('s', 'readwrite');
    const s = transaction.objectStore('s');
    s.put(new Blob([png], { type: 'image/png' }), 1);
    s.put(new Blob(['<script>document.title = "taken"</script>\\n\\u202eback'], { type: 'text/html' }), 2);
    s.put(new Blob([Uint8Array.of(0, 1, 2, 255)], { type: 'application/x-other' }), 3);
    s.put(new Blob(['no picture'], { type: 'image/png' }), 4);
    await new Promise((resolve) => { transaction.oncomplete = resolve; });`,
  );
  const { page } = await open(t, folder);
  await openTable(page, await idsOf(page, "made", "s"));
  await chooseRow(page, 0);
  const image = page.locator("#detail img.preview");
  await image.waitFor();
  await page.waitForFunction(() => document.querySelector("#detail img.preview").complete);
  assert.deepEqual(await image.evaluate((element) => [element.naturalWidth, element.naturalHeight]), [2, 1]);
  assert.match(await image.getAttribute("src"), /^blob:/);
  await chooseRow(page, 1);
  const text = page.locator("#detail .text-content");
  await text.waitFor();
  assert.match(await text.textContent(), /<script>document\.title = "taken"<\/script>\n\\u202eback/);
  assert.doesNotMatch(await page.title(), /taken/);
  await chooseRow(page, 2);
  await page.locator("#detail .blob .hex-bytes", { hasText: "00 01 02 ff" }).waitFor();
  await chooseRow(page, 3);
  await page.locator("#detail .blob .hex-bytes", { hasText: "6e 6f 20 70" }).waitFor();
});

test("what is seen is exported as the command writes it", async (t) => {
  const folder = folderOf(t, "c156");
  const { page } = await open(t, folder);
  const ids = await idsOf(page, "indexes", "people");
  await openTable(page, ids);
  await page.getByRole("button", { name: "Export" }).click();
  const { name, bytes } = await saved(page, () => page.getByText("as JSON Lines").click());
  assert.match(name, /\.jsonl$/);
  const lines = bytes
    .toString("utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const dumped = larder(["dump", folder, "--format", "jsonl", "--database", "indexes", "--store", "people"])
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const values = (all) => all.filter((line) => "value" in line).map(({ value }) => value);
  assert.deepEqual(values(lines), values(dumped));
  assert.equal(values(lines).length, storeOf(expected("c156"), "indexes", "people").count);
  // In another order, and within bounds.
  const index = ids.indexes.find(
    (each) => each.name === storeOf(expected("c156"), "indexes", "people").indexes[0].name,
  );
  await openTable(page, { ...ids, index: index.id, direction: "prev" });
  await page.getByRole("button", { name: "Export" }).click();
  const reversed = await saved(page, () => page.getByText("as JSON Lines").click());
  const { entries } = storeOf(expected("c156"), "indexes", "people").indexes[0];
  const inOrder = entries.map(([, key]) => key).reverse();
  const byKey = new Map(dumped.filter((line) => "value" in line).map((line) => [line.value.id, line.value]));
  assert.deepEqual(
    values(
      reversed.bytes
        .toString("utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ),
    inOrder.map((key) => byKey.get(key.t === "number" ? Number(key.v) : key.v)),
  );
});

test("an archive of an object store can be imported again", async (t) => {
  const folder = folderOf(t, "c156");
  const { page } = await open(t, folder);
  await openTable(page, await idsOf(page, "blobs", "b"));
  await page.getByRole("button", { name: "Export" }).click();
  const { name, bytes } = await saved(page, () => page.getByText("as an archive").click());
  const out = temporary(t);
  const file = path.join(out, name);
  fs.writeFileSync(file, bytes);
  larder(["import", file, path.join(out, "again")]);
  const dump = (where) =>
    JSON.parse(larder(["dump", where, "--format", "canonical", "--digests", "--database", "blobs", "--store", "b"]))
      .databases.find((each) => each.name === "blobs")
      .stores.find((each) => each.name === "b").records;
  assert.deepEqual(dump(path.join(out, "again")), dump(folder));
});

test("a record is copied as JSON and saved as canonical JSON", async (t) => {
  const folder = folderOf(t, "c156");
  const { page, context } = await open(t, folder);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await openTable(page, await idsOf(page, "indexes", "people"));
  await chooseRow(page, 0);
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Value as JSON").click();
  await page.locator(".record-tools [role=status]", { hasText: "copied" }).waitFor();
  const dumped = larder(["dump", folder, "--format", "jsonl", "--database", "indexes", "--store", "people"])
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .find((line) => "value" in line);
  assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), dumped.value);
  await page.getByRole("button", { name: "Save" }).click();
  const { bytes } = await saved(page, () => page.getByText("as canonical JSON").click());
  assert.match(bytes.toString("utf8"), /"t":"Object"/);
});

test("where a record came from is said in words and bytes", async (t) => {
  const { page } = await open(t, folderOf(t, "c156"));
  await openTable(page, await idsOf(page, "many", "rows"));
  await chooseRow(page, 3);
  await page.getByText("Where this came from").click();
  await page.locator(".provenance .hex-row").first().waitFor();
  const text = await page.locator(".provenance").textContent();
  for (const word of ["File", "Number of the write", "Version", "Envelope", "History"])
    assert.ok(text.includes(word), word);
  assert.match(await page.locator(".provenance dd").first().textContent(), /^\d{6}\.(ldb|log)$/);
});
