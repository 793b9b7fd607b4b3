// One implementation in a process of its own: prints CPU and wall time of each workload, in milliseconds for 10,000 operations, as JSON.
// Arguments: which implementation (`larder-idb`, `fake-indexeddb` or `indexeddbshim`), its package's folder, a folder for data, how often all
// workloads run before on a database of their own, with how many operations.
import process from "node:process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { load } from "../test/support/implementations.mjs";

const COUNT = 10_000;

const [name, folder, data, warmRuns, warmCount] = process.argv.slice(2);

async function factory() {
  if (name === "indexeddbshim") {
    const { default: setGlobalVars } = await import(pathToFileURL(join(folder, "src/node.js")).href);
    const target = {};
    setGlobalVars(target, { checkOrigin: false, addNonIDBGlobals: false, databaseBasePath: data });
    return target.indexedDB;
  }
  const target = {};
  (await load(folder, name === "larder-idb" ? data : undefined)).install(target);
  return target.indexedDB;
}

// About 100 bytes.
const recordOf = (i) => ({ id: i, name: `name ${i}`, email: `user${i}@example.org`, active: i % 2 === 0, score: i / 3 });

const settled = (request) =>
  new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });

const ended = (transaction) =>
  new Promise((done, fail) => {
    transaction.oncomplete = done;
    transaction.onabort = () => fail(transaction.error);
  });

function open(indexedDB, database) {
  const request = indexedDB.open(database, 1);
  request.onupgradeneeded = () => {
    for (const name of ["awaited", "at once"]) request.result.createObjectStore(name, { keyPath: "id" }).createIndex("name", "name");
  };
  return settled(request);
}

// Each gives what came back, which is compared with what must.
const WORKLOADS = {
  async "puts awaited"(db, count) {
    const transaction = db.transaction("awaited", "readwrite");
    const store = transaction.objectStore("awaited");
    let last;
    for (let i = 0; i < count; i++) last = await settled(store.put(recordOf(i)));
    await ended(transaction);
    return last === count - 1;
  },
  async "puts at once"(db, count) {
    const transaction = db.transaction("at once", "readwrite");
    const store = transaction.objectStore("at once");
    let seen = 0;
    for (let i = 0; i < count; i++) store.put(recordOf(i)).onsuccess = () => (seen += 1);
    await ended(transaction);
    return seen === count;
  },
  async "gets awaited"(db, count) {
    const store = db.transaction("awaited").objectStore("awaited");
    let sum = 0;
    for (let i = 0; i < count; i++) sum += (await settled(store.get(i))).id;
    return sum === (count * (count - 1)) / 2;
  },
  async "gets at once"(db, count) {
    const transaction = db.transaction("awaited");
    const store = transaction.objectStore("awaited");
    let sum = 0;
    for (let i = 0; i < count; i++) store.get(i).onsuccess = ({ target }) => (sum += target.result.id);
    await ended(transaction);
    return sum === (count * (count - 1)) / 2;
  },
  async "index cursor"(db, count) {
    const transaction = db.transaction("awaited");
    let seen = 0;
    let bytes = 0;
    transaction.objectStore("awaited").index("name").openCursor().onsuccess = ({ target: { result: cursor } }) => {
      if (cursor === null) return;
      seen += 1;
      bytes += cursor.value.email.length;
      cursor.continue();
    };
    await ended(transaction);
    return seen === count && bytes > count;
  },
  async getAll(db, count) {
    return (await settled(db.transaction("awaited").objectStore("awaited").getAll())).length === count;
  },
};

const indexedDB = await factory();
const warm = await open(indexedDB, "warm");
for (let i = 0; i < Number(warmRuns); i++) for (const run of Object.values(WORKLOADS)) await run(warm, Number(warmCount));
// What threads still do of it, compile or merge files, is not of what is measured.
await new Promise((done) => setTimeout(done, 500));
const db = await open(indexedDB, "measured");
const results = {};
for (const [workload, run] of Object.entries(WORKLOADS)) {
  const [before, started] = [process.cpuUsage(), performance.now()];
  const isRight = await run(db, COUNT);
  const { user, system } = process.cpuUsage(before);
  if (!isRight) throw new Error(`${name}: ${workload}: other than what was put`);
  results[workload] = { cpu: (user + system) / 1000, wall: performance.now() - started };
}
console.log(`larder-bench ${JSON.stringify(results)}`);
process.exit(0);
