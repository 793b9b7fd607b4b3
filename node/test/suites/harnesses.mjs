// Runs tests by the harness that they are written for, in this process: each gives `{ passed, failed: [[name, message]], skipped }`.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const result = () => ({ passed: 0, failed: [], skipped: 0 });
const textOf = (error) => String(error?.message ?? error).replace(/\s+/g, " ").slice(0, 300);

/** `prepare` makes the harness's globals; `run` runs what was loaded since. */
export async function harness(name, { packages, timeout, without }) {
  if (name === "qunit") return qunit(packages, timeout);
  if (name === "lib0") return lib0(packages);
  return mocha(name, packages, timeout, without);
}

function mocha(ui, packages, timeout, without) {
  const Mocha = createRequire(join(packages, "package.json"))("mocha");
  const found = result();
  // A title as mocha's own reports have it.
  const titleOf = (test) => test.fullTitle();
  class Reporter {
    constructor(runner) {
      runner.on("pass", () => (found.passed += 1));
      runner.on("fail", (test, error) => found.failed.push([titleOf(test), textOf(error)]));
      runner.on("pending", () => (found.skipped += 1));
    }
  }
  const mocha = new Mocha({ ui, timeout, reporter: Reporter });
  if (without !== undefined) mocha.grep(without).invert();
  mocha.suite.emit("pre-require", globalThis, null, mocha);
  const run = async () => {
    await new Promise((done) => mocha.run(done));
    mocha.dispose();
    return found;
  };
  return { run };
}

function qunit(packages, timeout) {
  const QUnit = createRequire(join(packages, "package.json"))("qunitjs");
  globalThis.QUnit = QUnit;
  // As in a page.
  for (const name of ["test", "asyncTest", "start", "stop"]) globalThis[name] = QUnit[name];
  for (const name of ["ok", "equal", "notEqual", "deepEqual", "notDeepEqual", "strictEqual", "notStrictEqual", "propEqual", "throws", "expect"]) {
    globalThis[name] = (...args) => QUnit.config.current.assert[name](...args);
  }
  const found = result();
  Object.assign(QUnit.config, { autostart: false, testTimeout: timeout, reorder: false });
  let messages = [];
  QUnit.log(({ result: isRight, message, actual, expected }) => {
    if (!isRight) messages.push(`${message} (${actual}, expected ${expected})`);
  });
  QUnit.testDone(({ name, module, failed, skipped }) => {
    if (skipped) found.skipped += 1;
    else if (failed === 0) found.passed += 1;
    else found.failed.push([`${module}: ${name}`, textOf(messages.join("; "))]);
    messages = [];
  });
  return {
    run: () =>
      new Promise((done) => {
        QUnit.done(() => done(found));
        QUnit.load();
        QUnit.start();
      }),
  };
}

async function lib0(packages) {
  const found = result();
  const t = await import(pathToFileURL(join(packages, "node_modules/lib0/testing.js")).href);
  return {
    async run(modules) {
      const tests = modules.flatMap((module) => Object.entries(module)).filter(([name]) => name.startsWith("test"));
      for (const [at, [name, run]] of tests.entries()) {
        let reason = "failed";
        const seen = async (tc) => {
          try {
            return await run(tc);
          } catch (error) {
            reason = textOf(error);
            throw error;
          }
        };
        if (await t.run("indexeddb", name, seen, at, tests.length)) found.passed += 1;
        else found.failed.push([name, reason]);
      }
      return found;
    },
  };
}
