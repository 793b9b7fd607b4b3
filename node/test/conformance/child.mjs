// One file of the suite in a process of its own, in the runtime that runs this: prints what testharness.js says as JSON, and ends when
// nothing is left to do. Arguments: the suite's folder, the package's folder, the file, its variant, where data goes if on disk, and "exit" if
// the file leaves something that waits forever.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import vm from "node:vm";

import { load } from "../support/implementations.mjs";
import { addDocument, prepare } from "./environment.mjs";
import { read } from "./suite.mjs";

const [suite, folder, file, variant, storage, atEnd] = process.argv.slice(2);
const { title, scripts, source } = read(suite, file);
const { standIns, install } = await load(folder, storage === "" ? undefined : storage);

const STATUSES = ["PASS", "FAIL", "TIMEOUT", "NOTRUN", "PRECONDITION_FAILED"];

function run(name, text) {
  try {
    vm.runInThisContext(text, { filename: name });
  } catch (error) {
    globalThis.dispatchEvent(Object.assign(new Event("error"), { error, message: String(error) }));
  }
}

const runFile = (path) => run(path, readFileSync(join(suite, path), "utf8"));

prepare(globalThis, { suite, file, variant, title });
install(globalThis);
runFile("resources/testharness.js");
setup({ explicit_done: true });
let isComplete = false;
add_completion_callback((tests, status) => {
  isComplete = true;
  const all = tests.map(({ name, status, message }) => ({ name, status: STATUSES[status], message }));
  console.log(`larder-wpt-result ${JSON.stringify({ status: status.status, message: status.message, tests: all })}`);
  if (atEnd === "exit") setTimeout(() => process.exit(0), 100);
});
addDocument(globalThis, standIns);
for (const script of scripts) {
  const path = script.startsWith("/") ? script.slice(1) : join(dirname(join("IndexedDB", file)), script);
  // What is not there has a stand-in.
  if (existsSync(join(suite, path))) runFile(path);
}
run(file, source);
done();
// Nothing more can come. If the harness has not reported yet, it waits in vain.
process.on("beforeExit", () => {
  if (!isComplete) timeout();
});
