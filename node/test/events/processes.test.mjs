// Several processes and one folder.
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";

import { opened, PACKAGE, settled, started, temporary } from "./support.mjs";

const ROUNDS = Number(process.env.LARDER_ROUNDS ?? 20);

test("a second process gets an error that names the first, and the folder when the first has ended", async (t) => {
  const folder = temporary(t);
  const first = started(`const db = await opened(larder.open({ folder: process.argv.at(-1) }), "d"); console.log("open"); process.stdin.once("end", () => db.close()).resume();`, folder);
  await first.said("open");
  const { open, close } = await import(PACKAGE);
  const indexedDB = open({ folder });
  await assert.rejects(settled(indexedDB.open("d")), (error) => {
    assert.ok(error instanceof DOMException, `${error}`);
    assert.ok(error.message.includes(String(first.child.pid)), error.message);
    return true;
  });
  first.child.stdin.end();
  assert.deepEqual(await first.end, { code: 0, signal: null });
  const db = await opened(indexedDB, "d");
  assert.deepEqual([...db.objectStoreNames], ["records"]);
  db.close();
  await close(indexedDB);
});

test("a process that is killed while it commits loses nothing that was acknowledged", async (t) => {
  const folder = temporary(t);
  const writer = `
    const db = await opened(larder.open({ folder: process.argv.at(-1) }), "d");
    const last = (await settled(db.transaction("records").objectStore("records").count()));
    for (let i = last; ; i++) {
      const transaction = db.transaction("records", "readwrite");
      transaction.objectStore("records").put({ i, text: "x".repeat(500 + (i % 7) * 3000) }, i);
      await ended(transaction);
      process.stdout.write(i + "\\n");
    }`;
  let acknowledged = -1;
  for (let round = 0; round < ROUNDS; round++) {
    const running = started(writer, folder);
    await running.said(String(acknowledged + 1 + (round % 5) * 20));
    await new Promise((done) => setTimeout(done, round % 4));
    running.child.kill("SIGKILL");
    await running.end;
    acknowledged = Math.max(acknowledged, ...running.lines.map(Number));
    const reader = started(
      `const indexedDB = larder.open({ folder: process.argv.at(-1) });
      const db = await opened(indexedDB, "d");
      const all = await settled(db.transaction("records").objectStore("records").getAll());
      console.log(all.length, all.every(({ i, text }, at) => i === at && text.length === 500 + (i % 7) * 3000));
      db.close();`,
      folder,
    );
    assert.deepEqual(await reader.end, { code: 0, signal: null }, reader.errors);
    const [count, isWhole] = reader.lines[0].split(" ");
    assert.ok(Number(count) > acknowledged, `round ${round}: ${count} records, ${acknowledged} was acknowledged`);
    assert.equal(isWhole, "true");
    acknowledged = Number(count) - 1;
  }
});
