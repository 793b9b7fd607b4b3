// Stores in a server, looked at by their address: what is there, and what another program writes there meanwhile.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import net from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { expected, folderOf, storeOf } from "./lib/fixtures.mjs";
import { LARDER, larder, temporary } from "./lib/larder.mjs";
import { makeStore } from "./lib/make.mjs";
import { closeBrowser, idsOf, open, openTable, readRows } from "./lib/page.mjs";

after(closeBrowser);

const freePort = () =>
  new Promise((resolve) => {
    const server = net.createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Why there is no server to look into: a default build of the command has no engines, and not every machine has etcd. */
const missing = () => {
  if (process.env.LARDER_REQUIRE_PEERS) return false;
  const { error } = spawnSync("etcd", ["--version"]);
  if (error) return "etcd is not installed";
  const { stderr } = spawnSync(LARDER, ["ls", "etcd://127.0.0.1:1/none"], { encoding: "utf8" });
  return /without the feature etcd/.test(stderr) && "larder was built without the feature etcd";
};
const skip = missing();

/** An etcd that goes with the test: its address. */
async function etcd(t) {
  const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
  const where = ["--data-dir", path.join(temporary(t), "data")];
  const clients = ["--listen-client-urls", client, "--advertise-client-urls", client];
  const peers = ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", `n=${peer}`];
  const server = spawn("etcd", ["--name", "n", ...where, ...clients, ...peers, "--log-level", "error"], {
    stdio: "ignore",
  });
  const ended = new Promise((resolve, reject) => {
    server.on("close", resolve);
    server.on("error", reject);
  });
  t.after(async () => {
    server.kill();
    await ended;
  });
  for (;;) {
    const health = await Promise.race([fetch(`${client}/health`).catch(() => null), ended]);
    if (typeof health === "number") throw new Error(`etcd ended with ${health}`);
    if (health?.ok) return client.replace("http", "etcd");
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}

test("a store in a server is shown as its browser said it", { skip }, async (t) => {
  const address = `${await etcd(t)}/copied`;
  larder(["copy", folderOf(t, "c156-lite"), address]);
  const { page } = await open(t, address);
  const { indexes, ...place } = await idsOf(page, "values", "v");
  assert.ok(Array.isArray(indexes));
  await openTable(page, place);
  const { records } = storeOf(expected("c156-lite"), "values", "v");
  assert.ok(records.length > 20);
  assert.deepEqual(
    await readRows(page),
    records.map(([key]) => [JSON.stringify(key.v)]),
  );
});

test("what a program writes in a server is shown by itself", { skip }, async (t) => {
  const address = `${await etcd(t)}/written`;
  const scripts = temporary(t);
  const put = (key) =>
    makeStore(
      address,
      `
      const transaction = db.transaction('s', 'readwrite', { durability: 'strict' });
      transaction.objectStore('s').put('text of ${key}', ${key});
      await new Promise((resolve) => { transaction.oncomplete = resolve; });`,
      { scripts },
    );
  put(1);
  const { page } = await open(t, address);
  await openTable(page, await idsOf(page, "made", "s"));
  await page.locator(".grid-row", { hasText: "text of 1" }).waitFor();
  put(2);
  await page.locator(".grid-row.marked-new", { hasText: "text of 2" }).waitFor();
  assert.equal(await page.locator(".grid-row", { hasText: "text of 1" }).count(), 1);
});
