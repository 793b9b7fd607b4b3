// Ours on disk beside fake-indexeddb in memory and indexeddbshim on disk, by turns: `nice node node/bench/run.mjs`. Medians.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import process from "node:process";

import { FAKE, folderOf, OURS, parameters } from "../test/support/implementations.mjs";
import { installed } from "../test/support/packages.mjs";
import { runtime } from "../test/support/runtimes.mjs";

const USAGE = `usage: node run.mjs [--runtime node24] [--runs N] [--implementation FOLDER|none] [--no-shim] [--warm]
  --runtime NAME          of node22, node24 and node26, bun and deno; the shim runs in Node alone, from 22.18 (node24)
  --runs N                processes of each implementation (5)
  --implementation FOLDER the package's folder (this checkout's), or "none"
  --no-shim               without indexeddbshim
  --warm                  5 times 10,000 operations of each kind run before, so that what is measured is compiled (2,000)`;
const SHIM = "indexeddbshim";
const SHIM_VERSION = "17.3.4";
// Ours at most so much of the others' CPU time, and of an awaited get so many microseconds.
const GOALS = { [FAKE]: 0.7, [SHIM]: 0.1 };
const GET_GOAL = 5;

const given = parameters(USAGE, ["runtime", "runs", "implementation"], ["no-shim", "warm"]);
const program = await runtime(given.runtime ?? "node24");
const runs = Number(given.runs ?? 5);
const warmth = given.warm ? ["5", "10000"] : ["1", "2000"];
const implementations = [];
if (given.implementation !== "none") implementations.push(["larder-idb", await folderOf(given.implementation ?? OURS)]);
implementations.push([FAKE, await folderOf(FAKE)]);
if (!given["no-shim"]) implementations.push([SHIM, join(await installed({ [SHIM]: SHIM_VERSION }), "node_modules", SHIM)]);

async function measure(name, folder) {
  const data = await mkdtemp(join(tmpdir(), "larder-bench-"));
  try {
    const args = [...program.args, join(import.meta.dirname, "child.mjs"), name, folder, data, ...warmth];
    const { stdout } = await promisify(execFile)(program.path, args);
    const line = stdout.split("\n").find((line) => line.startsWith("larder-bench "));
    return JSON.parse(line.slice("larder-bench ".length));
  } finally {
    await rm(data, { recursive: true });
  }
}

const found = Object.fromEntries(implementations.map(([name]) => [name, []]));
for (let run = 0; run < runs; run++) for (const [name, folder] of implementations) found[name].push(await measure(name, folder));

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const of = (name, workload, what) => median(found[name].map((one) => one[workload][what]));
const names = implementations.map(([name]) => name);
console.log(`${program.name} ${program.version}, milliseconds for 10,000 operations, medians of ${runs}: CPU (wall)`);
console.log(`| | ${names.join(" | ")} | ours of ${names.filter((name) => name in GOALS).join(", of ")} |`);
console.log(`|---|${"---|".repeat(names.length + 1)}`);
let isMet = true;
for (const workload of Object.keys(found[names[0]][0])) {
  const cells = names.map((name) => `${of(name, workload, "cpu").toFixed(1)} (${of(name, workload, "wall").toFixed(1)})`);
  const shares = names.filter((name) => name in GOALS && found["larder-idb"] !== undefined).map((name) => {
    const share = of("larder-idb", workload, "cpu") / of(name, workload, "cpu");
    const isEnough = share <= GOALS[name];
    isMet &&= isEnough;
    return `${share.toFixed(2)}${isEnough ? "" : ` (goal ${GOALS[name]})`}`;
  });
  console.log(`| ${workload} | ${cells.join(" | ")} | ${shares.join(", ")} |`);
}
if (found["larder-idb"] !== undefined) {
  const get = of("larder-idb", "gets awaited", "cpu") / 10;
  isMet &&= get <= GET_GOAL;
  console.log(`an awaited get: ${get.toFixed(2)} microseconds of CPU${get <= GET_GOAL ? "" : ` (goal ${GET_GOAL})`}`);
  console.log(isMet ? "all goals are met" : "not all goals are met");
}
