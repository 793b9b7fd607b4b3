// Stores that a test makes with the command's own scripts.
import fs from "node:fs";
import path from "node:path";
import { larder, temporary } from "./larder.mjs";

export const ORIGIN = "https://made.example";

/** A store whose database `made` has very many empty object stores, imported from an archive: a script would make them one by one. */
export function manyObjectStores(t, count) {
  const folder = temporary(t);
  const names = [...Array(count).keys()].map((at) => `n${String(at).padStart(6, "0")}`);
  const lines = [
    { archive: "larder", format: 1, by: "larder 0.1.0" },
    {
      store: {
        origin: ORIGIN,
        identifier: "https_made.example_0",
        folder: "https_made.example_0.indexeddb.leveldb",
        schema: 5,
        v8: 13,
        blink: 20,
      },
    },
    {
      database: {
        name: "made",
        version: 1,
        objectStores: names.map((name) => ({ name, keyPath: null, autoIncrement: false, indexes: [] })),
      },
    },
    ...names.map((name) => ({ records: { database: "made", objectStore: name } })),
    { end: { stores: 1, databases: 1, objectStores: count, records: 0, blobs: 0 } },
  ];
  const archive = path.join(folder, "archive.jsonl");
  fs.writeFileSync(archive, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const store = path.join(folder, "store");
  larder(["import", archive, store]);
  return store;
}

/**
 * Makes a database `made` with an object store `s` in `folder`, or at an address; `script` fills `db`, `upgrade` makes other object stores.
 * The script lies beside the folder, or in `scripts`.
 */
export function makeStore(folder, script, { upgrade = "", args = [], scripts = path.dirname(folder) } = {}) {
  const file = path.join(scripts, `${path.basename(folder)}.script.mjs`);
  fs.writeFileSync(
    file,
    `
    const db = await new Promise((resolve, reject) => {
      const opening = indexedDB.open('made', 1);
      opening.onupgradeneeded = () => { const db = opening.result; db.createObjectStore('s'); ${upgrade} };
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });
    ${script}
    db.close();
  `,
  );
  try {
    larder(["run", "--storage", folder, "--origin", ORIGIN, ...args, file]);
  } finally {
    fs.rmSync(file);
  }
}
