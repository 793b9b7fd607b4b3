// What `npm pack` makes of the package and `npm install` puts into a fresh folder: its files, and that it works by every way in.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";

import * as sources from "../../js/index.js";
import * as sourcesOfCodec from "../../js/codec/index.js";
import { PLATFORMS } from "../../scripts/platforms.mjs";
import { here, install, missing, nativeFile, NODE, node, pack, run, temporary, TOOLS, write } from "./support.js";

const APPS = path.join(NODE, "test/package/apps");
// Stores a value, and says what is there.
const STORES = `
  const request = indexedDB.open("library", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("books", { autoIncrement: true });
  request.onsuccess = () => {
    const store = request.result.transaction("books", "readwrite").objectStore("books");
    store.put({ title: "A" });
    store.getAllKeys().onsuccess = ({ target }) => console.log(JSON.stringify(target.result));
  };`;

describe("the package", { skip: missing() }, () => {
  const packed = temporary();
  const app = temporary();
  const installed = path.join(app, "node_modules/larder-idb");
  const native = path.join(app, "node_modules/@larder-idb", here?.name ?? "");
  let tarballs;

  before(() => {
    tarballs = pack(packed);
    install(app, tarballs);
    fs.cpSync(APPS, app, { recursive: true });
  });

  after(() => [packed, app].forEach((folder) => fs.rmSync(folder, { recursive: true })));

  const filesOf = (folder) => fs.readdirSync(folder, { recursive: true }).filter((name) => fs.statSync(path.join(folder, name)).isFile()).sort();
  const manifest = (folder) => JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));

  test("has the files that are meant, and no others", () => {
    const entries = ["auto", "codec", "index"];
    const types = [...entries, "standalone"].flatMap((name) => [`types/${name}.d.cts`, `types/${name}.d.ts`]);
    const modules = entries.flatMap((name) => [`lib/cjs/${name}.cjs`, `lib/esm/${name}.js`]);
    assert.deepEqual(filesOf(installed), ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json", ...modules, ...types].sort());
    const file = `larder-idb.${here.name}.node`;
    assert.deepEqual(filesOf(native), ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "THIRD-PARTY-LICENSES.txt", file, "package.json"].sort());
  });

  test("is as small as it may be", () => {
    const main = tarballs.find((file) => /larder-idb-\d/.test(path.basename(file)));
    assert.ok(fs.statSync(main).size <= 100_000, `${fs.statSync(main).size}`);
  });

  // Of files that scripts/native.mjs has built; it asks for the same. Others are larger, and need the glibc of the machine.
  test("has a native file within its limits: 4 MiB, glibc 2.28", { skip: !process.env.LARDER_IDB_LIMITS }, () => {
    const bytes = fs.readFileSync(nativeFile);
    assert.ok(bytes.length <= 4 << 20, `${bytes.length}`);
    const newer = [...bytes.toString("latin1").matchAll(/GLIBC_2\.(\d+)/g)].filter(([, minor]) => Number(minor) > 28).map(([name]) => name);
    assert.deepEqual([...new Set(newer)], []);
  });

  test("names nothing of the machine that made it, and runs nothing when it is installed", () => {
    const root = path.resolve(NODE, "..");
    for (const folder of [installed, native]) {
      assert.equal(manifest(folder).scripts, undefined);
      for (const file of filesOf(folder)) assert.ok(!fs.readFileSync(path.join(folder, file)).includes(root), file);
    }
  });

  test("has a package for each platform, of its own version, which npm installs there alone", () => {
    const { optionalDependencies, version } = manifest(installed);
    assert.deepEqual(optionalDependencies, Object.fromEntries(PLATFORMS.map(({ name }) => [`@larder-idb/${name}`, version])));
    const { os, cpu, libc } = manifest(native);
    assert.deepEqual({ os, cpu, libc }, { os: [here.os], cpu: [here.cpu], libc: here.libc === undefined ? undefined : [here.libc] });
    for (const folder of [installed, native]) assert.deepEqual(manifest(folder).publishConfig, { access: "public", provenance: true });
  });

  test("exports what its sources do, under the same names", () => {
    const program = `
      import { createRequire } from "node:module";
      const require = createRequire(import.meta.url);
      const functions = (all) => Object.entries(all).filter(([, value]) => typeof value === "function");
      const members = ({ prototype }) => functions(Object.fromEntries(Object.entries(Object.getOwnPropertyDescriptors(prototype ?? {})).map(([name, { value }]) => [name, value])));
      for (const name of ["larder-idb", "larder-idb/codec"]) {
        const all = { ...(await import(name)) };
        for (const [key, value] of functions(all)) {
          if (value.name !== key) throw new Error(key + " is called " + value.name);
          for (const [member, method] of members(value)) if (method.name !== (member === "constructor" ? key : member)) throw new Error(member + " is called " + method.name);
        }
        const required = require(name);
        for (const key of Object.keys(all)) if (required[key] !== all[key]) throw new Error(key + " is not the same");
        console.log(Object.keys(all).sort().join());
      }`;
    write(app, "names.mjs", program);
    const expected = [sources, sourcesOfCodec].map((all) => Object.keys(all).sort().join());
    assert.deepEqual(node(app, "names.mjs").trim().split("\n"), expected);
  });

  test("is one, whether it is imported or required", () => {
    write(app, "both.mjs", `
      import { IDBKeyRange, indexedDB } from "larder-idb";
      import { Stored } from "larder-idb/codec";
      import { createRequire } from "node:module";
      import "larder-idb/auto";
      const require = createRequire(import.meta.url);
      require("larder-idb/auto");
      const required = require("larder-idb");
      console.log(required.IDBKeyRange.only(1) instanceof IDBKeyRange, required.default === indexedDB, globalThis.indexedDB === indexedDB, require("larder-idb/codec").Stored === Stored);`);
    assert.equal(node(app, "both.mjs"), "true true true true\n");
  });

  for (const [name, file, text] of [
    ["an ES module", "import.mjs", `import { indexedDB } from "larder-idb";${STORES}`],
    ["an ES module, the default", "default.mjs", `import indexedDB from "larder-idb";${STORES}`],
    ["CommonJS", "require.cjs", `const { indexedDB } = require("larder-idb");${STORES}`],
    ["the global object, of an ES module", "auto.mjs", `import "larder-idb/auto";${STORES}`],
    ["the global object, of CommonJS", "auto.cjs", `require("larder-idb/auto");${STORES}`],
  ]) {
    test(`works by ${name}: in memory, and in a folder where data are kept`, () => {
      write(app, file, text);
      assert.equal(node(app, file), "[1]\n");
      const LARDER_IDB_DIR = fs.mkdtempSync(path.join(app, "data-"));
      for (const keys of ["[1]", "[1,2]", "[1,2,3]"]) assert.equal(run(app, process.execPath, [file], { LARDER_IDB_DIR }).trim(), keys);
      assert.ok(fs.existsSync(path.join(LARDER_IDB_DIR, "http_localhost_0.indexeddb.leveldb")));
    });
  }

  test("works in a worker thread, on the folder that the main thread has open", () => {
    write(app, "thread.mjs", `
      import { close, open } from "larder-idb";
      import { isMainThread, Worker } from "node:worker_threads";
      const indexedDB = open({ folder: "shared" });
      const stored = () => new Promise((resolve) => {${STORES}
        request.addEventListener("success", () => {
          request.result.transaction("books").oncomplete = resolve;
        });
      });
      await stored();
      if (isMainThread) {
        await new Promise((resolve) => new Worker(new URL(import.meta.url)).on("exit", resolve));
        await stored();
      }
      await close(indexedDB);`);
    assert.equal(node(app, "thread.mjs"), "[1]\n[1,2]\n[1,2,3]\n");
  });

  // As jest loads it for each file of tests.
  test("goes, with all that was stored, once it has been loaded anew", () => {
    write(app, "anew.cjs", `
      const { setTimeout: wait } = require("node:timers/promises");
      const all = [];
      async function loaded() {
        for (const file of Object.keys(require.cache)) if (file.includes("larder-idb") && file.endsWith(".cjs")) delete require.cache[file];
        module.children.length = 0;
        const { indexedDB } = require("larder-idb");
        await indexedDB.databases();
        all.push(new WeakRef(indexedDB));
      }
      (async () => {
        for (let turn = 0; turn < 10; turn++) await loaded();
        for (let turn = 0; turn < 5; turn++) {
          await wait(5);
          gc();
        }
        console.log(all.filter((one) => one.deref() !== undefined).length);
      })();`);
    assert.equal(node(app, "--expose-gc", "anew.cjs"), "1\n");
  });

  test("says what is missing where there is no native file", () => {
    const alone = temporary();
    try {
      install(alone, tarballs.filter((file) => /larder-idb-\d/.test(path.basename(file))));
      write(alone, "index.mjs", `import "larder-idb";`);
      assert.throws(() => node(alone, "index.mjs"), (error) => error.message.includes(`larder-idb has no native module for ${here.name}`));
    } finally {
      fs.rmSync(alone, { recursive: true });
    }
  });

  for (const config of ["jest.config.json", "bare.config.json"]) {
    test(`works in jest, set up by ${config}`, () => {
      const args = [path.join(TOOLS, "jest/bin/jest.js"), "--config", `jest/${config}`];
      assert.match(run(app, process.execPath, args, { CI: "true", NODE_PATH: TOOLS }), /Tests: +5 passed, 5 total/);
    });
  }

  test("works in vitest", () => {
    const printed = run(app, process.execPath, [path.join(TOOLS, "vitest/vitest.mjs"), "run", "--root", "vitest"], { CI: "true", NO_COLOR: "1" });
    assert.match(printed, /Tests +3 passed \(3\)/);
  });

  // With and without the library "dom", with and without Node's types, as ES modules, CommonJS and for bundlers.
  const dom = ["api.ts", "globals.ts", "shared.ts"];
  const nodenext = ["--module", "nodenext", "--target", "es2022"];
  for (const [name, compilers, options, files] of [
    ["nothing but the language", ["typescript", "typescript-5"], [...nodenext, "--lib", "es2022", "--typeRoots", "none"], ["api.ts", "globals.ts"]],
    ["Node's types", ["typescript", "typescript-5"], [...nodenext, "--lib", "es2022", "--types", "node"], ["api.ts", "globals.ts"]],
    ["the library dom and Node's types", ["typescript", "typescript-5"], [...nodenext, "--lib", "es2022,dom,dom.iterable", "--types", "node"], dom],
    ["the library webworker", ["typescript"], [...nodenext, "--lib", "es2022,webworker", "--typeRoots", "none"], dom],
    ["a bundler", ["typescript"], ["--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--typeRoots", "none"], dom],
    ["the older way of finding modules", ["typescript-5"], ["--module", "commonjs", "--esModuleInterop", "--moduleResolution", "node10", "--target", "es2022", "--lib", "es2022,dom", "--typeRoots", "none"], dom],
  ]) {
    for (const compiler of compilers) {
      test(`has types for a program with ${name} (${compiler})`, () => {
        const types = path.join(app, "node_modules/@types");
        if (!fs.existsSync(types)) fs.symlinkSync(path.join(TOOLS, "@types"), types);
        const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
        run(path.join(app, "types"), process.execPath, [path.join(TOOLS, compiler, "bin/tsc"), ...strict, ...options, ...files]);
      });
    }
  }

  test("has the same types for ES modules and CommonJS", () => {
    for (const [extension, type] of [["mts", "module"], ["cts", "commonjs"]]) {
      write(app, `both.${extension}`, `import indexedDB, { open, IDBFactory } from "larder-idb";\nimport "larder-idb/auto";\nimport { Codec } from "larder-idb/codec";\nexport const all: IDBFactory[] = [indexedDB, open({ folder: "${type}" })];\nexport const codec = new Codec();\n`);
    }
    run(app, process.execPath, [path.join(TOOLS, "typescript/bin/tsc"), "--noEmit", "--strict", ...nodenext, "--lib", "es2022", "--typeRoots", "none", "both.mts", "both.cts"]);
  });
});
