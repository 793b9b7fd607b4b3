// Each example is run where the package is installed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";

import { install, missing, NODE, node, pack, run, temporary, TOOLS } from "./support.js";

const EXAMPLES = path.join(NODE, "examples");
const PROFILE = path.resolve(NODE, "../fixtures/chromium/c156-lite/store");

describe("examples", { skip: missing() }, () => {
  const packed = temporary();
  const app = temporary();

  before(() => {
    install(app, pack(packed));
    fs.symlinkSync(path.join(TOOLS, "dexie"), path.join(app, "node_modules/dexie"));
    fs.cpSync(EXAMPLES, app, { recursive: true });
  });

  after(() => [packed, app].forEach((folder) => fs.rmSync(folder, { recursive: true })));

  test("all are listed, and run by a test here", () => {
    const programs = fs.readdirSync(EXAMPLES).filter((name) => name.endsWith(".mjs")).sort();
    const listed = fs.readFileSync(path.join(EXAMPLES, "README.md"), "utf8").match(/(?<=^\| `)[\w.-]+(?=`)/gm).sort();
    assert.deepEqual(programs, listed);
    const tests = fs.readFileSync(new URL(import.meta.url), "utf8");
    for (const name of programs) assert.ok(tests.includes(`"${name}"`), name);
  });

  // The server, and where it listens.
  async function server(data) {
    const child = spawn(process.execPath, ["server.mjs"], { cwd: app, env: { ...process.env, PORT: "0", SHOP_DATA: data }, stdio: ["ignore", "pipe", "inherit"] });
    const address = await new Promise((resolve, reject) => {
      child.stdout.once("data", (text) => resolve(String(text).trim()));
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    const ended = (signal) => new Promise((resolve) => child.once("exit", resolve) && child.kill(signal));
    return { address, ended };
  }

  test("what a server has stored is there after it was killed, and after it has ended", async () => {
    const data = path.join(app, "shop-data");
    const order = async (address, item) => {
      const response = await fetch(address, { method: "POST", body: JSON.stringify({ item, count: 2 }) });
      assert.equal(response.status, 201);
    };
    const items = async (address) => (await (await fetch(address)).json()).map(({ id, item }) => [id, item]);
    const first = await server(data);
    await order(first.address, "tea");
    await first.ended("SIGKILL");
    const second = await server(data);
    assert.deepEqual(await items(second.address), [[1, "tea"]]);
    await order(second.address, "milk");
    await second.ended("SIGTERM");
    const third = await server(data);
    assert.deepEqual(await items(third.address), [[1, "tea"], [2, "milk"]]);
    assert.deepEqual(await items(`${third.address}?item=milk`), [[2, "milk"]]);
    await third.ended("SIGTERM");
  });

  test("an app's main process has its settings when it starts again", () => {
    // Without Electron the folder is one of the system's for temporary files.
    const env = { TMPDIR: app };
    for (const said of ["started 1 time\n", "started 2 times\n"]) assert.equal(run(app, process.execPath, ["electron-main.mjs"], env), said);
  });

  test("a browser's profile is printed as what its pages stored", () => {
    fs.cpSync(PROFILE, path.join(app, "IndexedDB"), { recursive: true });
    const printed = node(app, "profile.mjs", "IndexedDB", "many");
    const [origin, ...rest] = printed.split("\n");
    assert.equal(origin, "http://127.0.0.1:18917");
    assert.ok(rest.includes("  max_version, version 9007199254740991"));
    assert.ok(rest.includes('    rows: 270 records, key path "id", indexes by_city, by_score'));
    assert.equal(printed.match(/^ {6}/gm).length >= 270, true);
  });

  test("tests have no data of one another's", () => {
    const printed = node(app, "--test", "--test-reporter=tap", "books.test.mjs");
    assert.match(printed, /^# pass 4$/m);
  });
});
