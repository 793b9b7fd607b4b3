// The browser that the command opens gets an address that is good once: command lines are read by other users of the machine.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { folderOf } from "./lib/fixtures.mjs";
import { LARDER, temporary } from "./lib/larder.mjs";
import { browserOf, closeBrowser } from "./lib/page.mjs";

after(closeBrowser);

test("what a browser is opened with shows the stores once", { skip: process.platform !== "linux" }, async (t) => {
  const folder = temporary(t);
  const given = path.join(folder, "given");
  fs.writeFileSync(
    path.join(folder, "xdg-open"),
    `#!/bin/sh\nprintf %s "$1" >'${given}.new'\nmv '${given}.new' '${given}'\n`,
    { mode: 0o755 },
  );
  const child = spawn(LARDER, ["view", folderOf(t, "c156-lite")], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
  });
  const ended = new Promise((resolve) => {
    child.on("close", resolve);
  });
  t.after(async () => {
    child.kill();
    await ended;
  });
  while (!fs.existsSync(given))
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  const url = fs.readFileSync(given, "utf8");
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/#once=[0-9a-f]{32}$/);
  const context = await (await browserOf()).newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  await page.locator(".cards").waitFor();
  assert.doesNotMatch(page.url(), /once/);
  // The tab keeps the token.
  await page.reload();
  await page.locator(".cards").waitFor();
  const other = await (await browserOf()).newContext();
  t.after(() => other.close());
  const second = await other.newPage();
  await second.goto(url);
  await second.getByText("needs the whole address").waitFor();
});
