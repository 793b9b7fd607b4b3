// One suite on one implementation, in a process of its own: prints the result as JSON. Its argument is a JSON object as run.mjs makes it.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

import { load } from "../support/implementations.mjs";
import { FileReader } from "../support/page.mjs";
import { harness } from "./harnesses.mjs";

const { suite, folder, packages, bundles, checkout, storage } = JSON.parse(process.argv[2]);
const require = createRequire(join(packages, "package.json"));

// Harnesses take a realm that has a window for a page.
const start = () => harness(suite.harness, { packages, timeout: suite.timeout, without: suite.without && new RegExp(suite.without, "i") });
const ran = await start();

// What tests for a page look for.
Object.defineProperty(globalThis, "self", { value: globalThis, writable: true, configurable: true });
if (suite.adapter === undefined) Object.defineProperty(globalThis, "window", { value: globalThis, writable: true, configurable: true });
Object.defineProperty(globalThis, "location", { value: { search: "", href: "http://localhost/", origin: "http://localhost" }, writable: true, configurable: true });
if (suite.hasDocument) globalThis.document = { getElementsByTagName: () => [] };
const target = new EventTarget();
for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"]) {
  if (globalThis[name] === undefined) globalThis[name] = target[name].bind(target);
}

globalThis.FileReader ??= FileReader;
globalThis.requestAnimationFrame ??= (callback) => setTimeout(callback, 16);

const { install } = await load(folder, storage);
install(globalThis);
for (const [name, from] of Object.entries(suite.globals ?? {})) globalThis[name] = require(from);
const modules = [];
for (const path of bundles) modules.push(await import(pathToFileURL(path).href));
for (const path of suite.scripts ?? []) vm.runInThisContext(readFileSync(join(checkout, path), "utf8"), { filename: path });
const result = suite.commonJs === undefined ? await ran.run(modules) : await fileByFile();
console.log(`larder-suite ${JSON.stringify(result)}`);
process.exit(0);

// Tests in CommonJS, whose hooks end the run that they are in when one fails: each file is a run, with the hooks of all.
async function fileByFile() {
  const sum = { passed: 0, failed: [], skipped: 0 };
  process.chdir(checkout);
  const tests = join(checkout, suite.folder);
  require(join(tests, suite.setUp));
  const files = readdirSync(tests).filter((name) => new RegExp(suite.commonJs).test(name));
  for (const name of files.sort()) {
    const run = await start();
    delete require.cache[join(tests, suite.hooks)];
    require(join(tests, suite.hooks));
    if (name !== suite.hooks) require(join(tests, name));
    const { passed, failed, skipped } = await run.run();
    // A hook that has failed leaves its listener.
    process.removeAllListeners("unhandledRejection");
    sum.passed += passed;
    sum.failed.push(...failed);
    sum.skipped += skipped;
  }
  return sum;
}
