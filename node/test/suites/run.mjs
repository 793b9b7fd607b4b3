// Runs a suite of another project, unchanged, on fake-indexeddb and on larder-idb, and prints what came out side by side:
// `node node/test/suites/run.mjs dexie --checkout FOLDER`.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";

import { FAKE, folderOf, OURS, parameters } from "../support/implementations.mjs";
import { installed } from "../support/packages.mjs";
import { runtime } from "../support/runtimes.mjs";
import { bundle, bundleParts } from "./bundle.mjs";
import { SUITES } from "./list.mjs";

const USAGE = `usage: node run.mjs SUITE --checkout FOLDER [--runtime NAME] [--only ${FAKE}|larder-idb] [--implementation FOLDER] [--storage disk] [--limit SECONDS] [--json FILE]
  SUITE                   ${Object.keys(SUITES).join(", ")}
  --checkout FOLDER       the project's checkout: ${Object.entries(SUITES).map(([name, { project }]) => `${name}: ${project}`).join(", ")}
  --runtime NAME          node20, node22, node24 (used if none is named), node26, bun or deno
  --only NAME             one of the two
  --implementation FOLDER the folder of a larder-idb (this checkout's)
  --storage disk          larder-idb's data in a temporary folder (in memory)
  --limit SECONDS         a suite may take so long (600)
  --json FILE             results as JSON`;

const given = parameters(USAGE, ["checkout", "runtime", "only", "implementation", "storage", "limit", "json"]);
const [name] = given.rest;
const suite = SUITES[name];
if (suite === undefined || given.checkout === undefined) {
  console.error(USAGE);
  process.exit(2);
}
const checkout = resolve(given.checkout);
const packages = await installed(suite.packages);
const program = await runtime(given.runtime ?? "node24");
const work = mkdtempSync(join(tmpdir(), "larder-suite-"));

async function run(implementation) {
  const folder = await folderOf(implementation === FAKE ? FAKE : (given.implementation ?? OURS));
  const place = join(work, implementation);
  mkdirSync(place);
  const bundles = [];
  for (const [at, entry] of (suite.bundles?.(implementation) ?? []).entries()) {
    const outfile = join(place, `bundle-${at}.mjs`);
    const transpiled = suite.transpiled === undefined ? undefined : join(checkout, suite.transpiled);
    await bundle({ entry: join(checkout, entry), outfile, packages, folder, replaced: suite.replaced(implementation), transpiled });
    bundles.push(outfile);
  }
  const settings = { suite: { ...suite, without: suite.without?.source, commonJs: suite.commonJs?.source }, folder, packages, bundles, checkout };
  if (suite.commonJs !== undefined) settings.checkout = await arranged(place);
  if (given.storage === "disk" && implementation !== FAKE) settings.storage = join(place, "data");
  return child(settings);
}

// Tests that find packages by paths in their checkout: a copy, where these are links, and the one that npm does not have is built.
async function arranged(place) {
  const copy = join(place, "checkout");
  cpSync(join(checkout, "tests"), join(copy, "tests"), { recursive: true });
  const there = join(packages, "node_modules");
  const here = join(copy, "packages/node_modules");
  mkdirSync(here, { recursive: true });
  for (const name of readdirSync(there)) symlinkSync(join(there, name), join(here, name));
  symlinkSync(there, join(copy, "node_modules"));
  const built = join(here, suite.built);
  cpSync(join(checkout, "packages/node_modules", suite.built), built, { recursive: true });
  await bundleParts({ entry: join(built, "src/index.js"), outfile: join(built, "lib/index.js"), packages, alias: suite.alias });
  return copy;
}

function child(settings) {
  const env = { ...process.env, NO_COLOR: "1" };
  if (suite.adapter !== undefined) Object.assign(env, { ADAPTERS: suite.adapter, VIEW_ADAPTERS: "memory" });
  const args = [...program.args, join(import.meta.dirname, "child.mjs"), JSON.stringify(settings)];
  return new Promise((done) => {
    const started = spawn(program.path, args, { stdio: ["ignore", "pipe", "pipe"], env });
    let [output, errors] = ["", ""];
    started.stdout.setEncoding("utf8").on("data", (text) => (output += text));
    started.stderr.setEncoding("utf8").on("data", (text) => (errors = (errors + text).slice(-3000)));
    const timer = setTimeout(() => started.kill("SIGKILL"), Number(given.limit ?? 600) * 1000);
    started.on("close", (code, signal) => {
      clearTimeout(timer);
      const line = output.split("\n").find((line) => line.startsWith("larder-suite "));
      if (line === undefined) done({ passed: 0, failed: [["the process", `ended (${signal ?? code}) without a result: ${errors.trim()}`]], skipped: 0 });
      else done(JSON.parse(line.slice("larder-suite ".length)));
    });
  });
}

const results = {};
try {
  for (const implementation of [FAKE, "larder-idb"]) {
    if (given.only === undefined || given.only === implementation) results[implementation] = await run(implementation);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
if (given.json !== undefined) writeFileSync(given.json, JSON.stringify(results, null, 2));
const failures = new Map();
for (const [implementation, { failed }] of Object.entries(results)) {
  for (const [test, message] of failed) failures.set(test, { ...failures.get(test), [implementation]: message });
}
for (const [test, messages] of failures) {
  const where = Object.keys(results).map((implementation) => `${implementation}: ${messages[implementation] ?? "passes"}`);
  console.log(`${test}\n  ${where.join("\n  ")}`);
}
const counts = Object.entries(results).map(([implementation, { passed, failed, skipped }]) => {
  const rest = skipped === 0 ? "" : `, ${skipped} skipped`;
  return `${implementation} ${passed} of ${passed + failed.length}${rest}`;
});
console.log(`${name}, ${program.name}: ${counts.join("; ")}`);
