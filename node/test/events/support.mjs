// What the tests of this folder share. `LARDER_IDB` names the folder of another `larder-idb`.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { OURS } from "../support/implementations.mjs";

/** The package's module, as a URL that other processes and threads import. */
export const PACKAGE = pathToFileURL(join(resolve(process.env.LARDER_IDB ?? OURS), "js/index.js")).href;

/** A folder that is gone when the test has ended. */
export function temporary(test) {
  const folder = mkdtempSync(join(tmpdir(), "larder-events-"));
  test.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

export const settled = (request) =>
  new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });

export const ended = (transaction) =>
  new Promise((done, fail) => {
    transaction.oncomplete = () => done();
    transaction.onabort = () => fail(transaction.error ?? new Error("aborted"));
  });

/** A connection to a database with object stores of these names. */
export function opened(indexedDB, name, stores = ["records"]) {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => stores.forEach((store) => request.result.createObjectStore(store));
  return settled(request);
}

/** What a script is given in front of it: the package and the functions of this module. */
export const PRELUDE = `
import * as larder from ${JSON.stringify(PACKAGE)};
import { ended, opened, settled } from ${JSON.stringify(import.meta.url)};
`;

/** A process that runs a module's text behind the prelude. `lines` has what it printed so far; `end` is how it ended. */
export const started = (source, ...args) => startedBare(PRELUDE + source, ...args);

/** A process that runs a module's text and nothing else. */
export function startedBare(source, ...args) {
  const child = spawn(process.execPath, ["--expose-gc", "--input-type=module", "--eval", source, "--", ...args], { stdio: ["pipe", "pipe", "pipe"] });
  const running = { child, lines: [], errors: "" };
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    running.lines.push(...parts);
    child.emit("line");
  });
  child.stderr.setEncoding("utf8").on("data", (text) => (running.errors += text));
  running.end = new Promise((done) => child.on("close", (code, signal) => done({ code, signal })));
  running.said = async (line) => {
    while (!running.lines.includes(line)) {
      await Promise.race([new Promise((done) => child.once("line", done)), running.end.then(() => Promise.reject(new Error(`it ended: ${running.errors}`)))]);
    }
  };
  return running;
}
