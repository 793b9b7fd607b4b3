// Runs IndexedDB's folder of web-platform-tests on an implementation in a runtime: `WPT_DIR=SUITE node node/test/conformance/run.mjs`.
// `WPT_DIR` is as for larder-js-host's runner. What is expected to fail is in `node/wpt-expectations.json`, each with its reason;
// anything else that fails, and anything of these that passes, fails the run. An entry has `subtests`, or the beginning of what the harness
// complains of (`harness`), or says of a file that it waits forever when its results are there (`isLeftWaiting`); it may be for some
// `runtimes` alone, or for one `storage`, "memory" or "disk".
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";

import { FAKE, folderOf, OURS, parameters } from "../support/implementations.mjs";
import { runtime } from "../support/runtimes.mjs";
import { files } from "./suite.mjs";

const USAGE = `usage: WPT_DIR=SUITE node run.mjs [--runtime NAME] [--implementation ${FAKE}|FOLDER] [--storage memory|FOLDER] [--jobs N] [--limit SECONDS] [--json FILE] [NAME...]
  NAME                    only files whose names contain one of these
  --runtime NAME          node20, node22, node24, node26, bun or deno (the one that runs this)
  --implementation FOLDER the package's folder (this checkout's)
  --storage FOLDER        data on disk, in a folder for each file; "disk" takes a temporary one (in memory)
  --jobs N                so many processes at once (2)
  --limit SECONDS         no file may take longer (60)
  --json FILE             results as JSON`;
const EXPECTATIONS = resolve(import.meta.dirname, "../../wpt-expectations.json");

const given = parameters(USAGE, ["runtime", "implementation", "storage", "jobs", "limit", "json"]);
if (process.env.WPT_DIR === undefined) {
  console.log("skipped: WPT_DIR does not name the suite's folder");
  process.exit(0);
}
const suite = resolve(process.env.WPT_DIR);
const isFake = given.implementation === FAKE;
const folder = await folderOf(given.implementation ?? OURS);
const program = given.runtime === undefined ? { name: `node${process.versions.node.split(".")[0]}`, path: process.execPath, args: [] } : await runtime(given.runtime);
const limit = Number(given.limit ?? 60) * 1000;
const isOnDisk = given.storage !== undefined && given.storage !== "memory";
const isTemporary = given.storage === "disk";
const storage = isTemporary ? mkdtempSync(join(tmpdir(), "larder-wpt-")) : given.storage;

const isHere = ({ runtimes, storage }) =>
  (runtimes === undefined || runtimes.includes(program.name)) && (storage === undefined || (storage === "disk") === isOnDisk);
const expectations = isFake ? [] : JSON.parse(readFileSync(EXPECTATIONS, "utf8")).filter(isHere);
const reasonOf = (file, name) => expectations.find((one) => one.file === file && one.subtests?.includes(name))?.reason;
const harnessReasonOf = (file, message) => expectations.find((one) => one.file === file && message?.startsWith(one.harness))?.reason;

function processOf(file, variant) {
  const place = isOnDisk ? join(storage, `${file}${variant}`.replace(/[^\w.-]/g, "-")) : "";
  const isLeftWaiting = expectations.some((one) => one.file === `${file}${variant}` && one.isLeftWaiting);
  const args = [...program.args, join(import.meta.dirname, "child.mjs"), suite, folder, file, variant, place, isLeftWaiting ? "exit" : "end"];
  return new Promise((done) => {
    const child = spawn(program.path, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } });
    let [output, errors] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (errors = (errors + text).slice(-2000)));
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, limit);
    child.on("error", (error) => (errors = String(error)));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      done({ output, errors, isLate, code, signal });
    });
  });
}

// Results count for nothing unless the process has ended well: what a script left behind may be what ended it.
function resultOf({ output, errors, isLate, code, signal }) {
  const line = output.split("\n").find((line) => line.startsWith("larder-wpt-result "));
  const result = line === undefined ? { tests: [] } : JSON.parse(line.slice("larder-wpt-result ".length));
  const what = line === undefined ? "without a result" : "after its results";
  if (isLate) return { ...result, status: -1, message: `it took longer than ${limit / 1000} s, ${what}` };
  if (code === 0 && line !== undefined) return result;
  return { ...result, status: -1, message: `the process ended ${what} (${signal ?? code}): ${errors.trim()}` };
}

async function all(work) {
  const results = [];
  const next = work.values();
  const worker = async () => {
    for (const { file, variant } of next) {
      const started = performance.now();
      const result = resultOf(await processOf(file, variant));
      results.push({ file: `${file}${variant}`, ms: Math.round(performance.now() - started), ...result });
    }
  };
  const jobs = Number(given.jobs ?? Math.min(2, availableParallelism()));
  await Promise.all(Array.from({ length: jobs }, worker));
  return results.sort((a, b) => (a.file < b.file ? -1 : 1));
}

const isNamed = ({ file }) => given.rest.length === 0 || given.rest.some((name) => file.includes(name));
const work = files(suite).filter(isNamed).flatMap(({ file, variants }) => variants.map((variant) => ({ file, variant })));
const results = await all(work);
if (isTemporary) rmSync(storage, { recursive: true });
if (given.json !== undefined) writeFileSync(given.json, JSON.stringify(results, null, 2));

let unexpected = 0;
const complain = (what) => {
  unexpected += 1;
  // A message may have the whole text of a class.
  console.log(what.replace(/\s+/g, " ").slice(0, 400));
};
for (const { file, status, message, tests } of results) {
  const reason = status === 0 ? undefined : harnessReasonOf(file, message);
  if (reason !== undefined) console.log(`${file}: expected: ${message}: ${reason}`);
  else if (status !== 0) complain(`${file}: the harness failed: ${message}`);
  for (const test of tests) {
    const reason = reasonOf(file, test.name);
    if (test.status === "PASS" && reason !== undefined) complain(`${file}: passes: ${test.name}`);
    else if (test.status !== "PASS" && reason !== undefined) console.log(`${file}: expected: ${test.name}: ${reason}`);
    else if (test.status !== "PASS") complain(`${file}: ${test.status}: ${test.name}: ${test.message ?? ""}`);
  }
}
if (given.rest.length === 0) {
  for (const { file, subtests = [] } of expectations) {
    const { tests } = results.find((result) => result.file === file) ?? { tests: [] };
    for (const name of subtests) if (!tests.some((test) => test.name === name)) complain(`${file}: is not there: ${name}`);
  }
}
const passed = (tests) => tests.filter(({ status }) => status === "PASS").length;
const sum = (of) => results.reduce((total, result) => total + of(result), 0);
const whole = results.filter(({ status, tests }) => status === 0 && passed(tests) === tests.length).length;
const [testsPassed, tests, ms] = [sum((one) => passed(one.tests)), sum((one) => one.tests.length), sum((one) => one.ms)];
const where = isOnDisk ? "on disk" : "in memory";
console.log(`${program.name}, ${where}: ${whole} of ${results.length} files ${testsPassed} of ${tests} subtests ${ms} ms`);
process.exitCode = unexpected === 0 || isFake ? 0 : 1;
