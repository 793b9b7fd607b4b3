// What a browser's profile holds, as the browser's own pages would get it: node profile.mjs FOLDER [DATABASE]
//
// FOLDER is a profile's folder "IndexedDB" (Chrome on Linux: ~/.config/google-chrome/Default/IndexedDB). The browser must not run, or the folder be a copy of
// its: of one folder only one process can have the stores open. An origin's store is `https_example.com_0.indexeddb.leveldb` there.
import { readdirSync } from "node:fs";
import { argv } from "node:process";

import { close, open } from "larder-idb";

const [, , folder, wanted] = argv;

// Scheme, host and port, which is 0 for the scheme's own.
function originOf(name) {
  const [, scheme, host, port] = /^([^_]+)_(.*)_(\d+)@?.*\.indexeddb\.leveldb$/.exec(name) ?? [];
  return scheme === undefined ? undefined : `${scheme}://${host}${port === "0" ? "" : `:${port}`}`;
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

for (const origin of readdirSync(folder).map(originOf).filter((origin) => origin !== undefined)) {
  const indexedDB = open({ folder, origin });
  console.log(origin);
  for (const { name, version } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name));
    console.log(`  ${name}, version ${version}`);
    for (const storeName of database.objectStoreNames) {
      const store = database.transaction(storeName).objectStore(storeName);
      const { keyPath, indexNames } = store;
      console.log(`    ${storeName}: ${await done(store.count())} records, key path ${JSON.stringify(keyPath)}, indexes ${[...indexNames].join(", ") || "none"}`);
      if (name === wanted) await print(store.transaction.db, storeName);
    }
    database.close();
  }
  await close(indexedDB);
}

async function print(database, storeName) {
  const request = database.transaction(storeName).objectStore(storeName).openCursor();
  await new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (cursor === null) return resolve();
      console.log("     ", cursor.key, cursor.value);
      cursor.continue();
    };
  });
}
