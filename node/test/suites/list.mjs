// Suites of others. Each says which packages of npm it needs, what of its project's checkout is run, and by what harness. Tests are taken
// as they are; what they import and no runtime has is named here.
import { join } from "node:path";

import { FAKE } from "../support/implementations.mjs";

const MOCHA = { mocha: "11.7.5" };
const ESBUILD = { esbuild: "0.28.2" };

/** A module with what a project's own module exports, of our package. */
const ours = (line) => `import * as ours from "larder-idb"; ${line}`;

// QUnit 1's functions as a module's.
const QUNIT = `export const { module } = globalThis.QUnit;
export const { test, asyncTest, start, stop, ok, equal, notEqual, deepEqual, notDeepEqual, strictEqual, notStrictEqual, propEqual, throws, expect } = globalThis;
export const { config } = globalThis.QUnit;
export { throws as raises };
export default globalThis.QUnit;`;

const POUCHDB_VERSION = "9.0.0";
const POUCHDB_PARTS = [
  "adapter-http",
  "adapter-indexeddb",
  "adapter-leveldb",
  "adapter-memory",
  "changes-filter",
  "checkpointer",
  "collate",
  "core",
  "errors",
  "find",
  "generate-replication-id",
  "mapreduce",
  "md5",
  "replication",
  "utils",
];
const POUCHDB = Object.fromEntries(["pouchdb", ...POUCHDB_PARTS.map((part) => `pouchdb-${part}`)].map((name) => [name, POUCHDB_VERSION]));

export const SUITES = {
  "fake-indexeddb": {
    project: "dumbmatter/fakeIndexedDB",
    packages: { ...MOCHA, ...ESBUILD },
    harness: "bdd",
    timeout: 10_000,
    // In this test a listener throws, which fake-indexeddb keeps to itself. As it does in a browser, it comes to the runtime here, and ends Mocha's run.
    without: /issue #138/,
    // Its search tree is its own.
    bundles: (implementation) => {
      const names = ["auto", "fakeIndexedDB", "forceCloseDatabase", "getAll", ...(implementation === FAKE ? ["binarySearchTree"] : [])];
      return names.map((name) => `src/test/fakeIndexedDB/${name}.ts`);
    },
    // On fake-indexeddb the checkout's own modules are tested, but for what is built of them.
    replaced: (implementation) =>
      implementation === FAKE
        ? { "../../../../auto/index.mjs": "fake-indexeddb/auto", "../../../../auto/index.js": "fake-indexeddb/auto", "../../index.js": "fake-indexeddb" }
        : {
            "../../fakeIndexedDB.js": { text: ours("export default ours.indexedDB;") },
            "../../FDBFactory.js": { text: ours("export default ours.IDBFactory;") },
            "../../FDBKeyRange.js": { text: ours("export default ours.IDBKeyRange;") },
            "../../forceCloseDatabase.js": { text: ours("export default ours.forceCloseDatabase;") },
            "../../lib/FakeDOMStringList.js": { text: "export default globalThis.DOMStringList;" },
            "../../index.js": "larder-idb",
            "../../../../auto/index.mjs": "larder-idb/auto",
            "../../../../auto/index.js": "larder-idb/auto",
          },
  },
  dexie: {
    project: "dexie/Dexie.js",
    packages: { dexie: "4.4.4", qunitjs: "1.23.1", rxjs: "7.8.2", "sorted-json": "0.3.0", tslib: "2.9.1", typescript: "5.9.3", ...ESBUILD },
    harness: "qunit",
    // Its tests assign to constants and declare names twice, which TypeScript lets pass into ECMAScript 5, as its own build has it.
    transpiled: "test/tsconfig.json",
    hasDocument: true,
    timeout: 20_000,
    bundles: () => ["test/tests-all.js"],
    replaced: () => ({
      QUnit: { text: QUNIT },
      dexie: { text: `export * from "dexie/dist/dexie.mjs"; export { default } from "dexie/dist/dexie.mjs";` },
    }),
  },
  idb: {
    project: "jakearchibald/idb",
    packages: { chai: "5.2.0", "conditional-type-checks": "1.0.6", ...MOCHA, ...ESBUILD },
    harness: "tdd",
    timeout: 10_000,
    bundles: () => ["test/open.ts", "test/main.ts", "test/iterate.ts"],
    replaced: () => ({ "mocha/mocha": { text: "" } }),
  },
  localforage: {
    project: "localForage/localForage",
    packages: { localforage: "1.10.0", "expect.js": "0.3.1", ...MOCHA },
    harness: "bdd",
    timeout: 10_000,
    globals: { localforage: "localforage", expect: "expect.js" },
    scripts: ["test.api.js", "test.config.js", "test.datatypes.js", "test.drivers.js"].map((name) => `test/${name}`),
  },
  "y-indexeddb": {
    project: "yjs/y-indexeddb",
    packages: { yjs: "13.6.33", lib0: "0.2.120", ...ESBUILD },
    harness: "lib0",
    timeout: 30_000,
    bundles: () => ["tests/y-indexeddb.tests.js"],
    replaced: () => ({}),
  },
  pouchdb: {
    project: "apache/pouchdb",
    packages: {
      ...POUCHDB,
      chai: "3.5.0",
      "chai-as-promised": "5.3.0",
      seedrandom: "3.0.5",
      "throw-max-listeners-error": "1.0.1",
      ...MOCHA,
      ...ESBUILD,
    },
    harness: "bdd",
    timeout: 15_000,
    // Tests of replication with a server, or that look which it is, are not run: there is none.
    without: /http|unauth|forbidden|denied|attachment|url prefix/i,
    adapter: "indexeddb",
    // Attachments are Buffers in Node, which the adapter, made for pages, does not read.
    commonJs: /^test\.(?!attachments).*\.js$/,
    folder: join("tests", "integration"),
    setUp: "node.setup.js",
    hooks: "test.setup_global_hooks.js",
    // A package of the checkout's own, which is not in npm.
    built: "pouchdb-for-coverage",
    alias: { "pouchdb-node/src/index": "pouchdb" },
  },
};
