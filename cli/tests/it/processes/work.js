// Does steps, one after the other, whatever fails, and prints how each ended. `STEPS` comes before.
const noise = (n, len) => {
  let text = "";
  let state = ((n * 2654435761) % 4294967296) + 1;
  while (text.length < len) {
    state = (state * 1664525 + 1013904223) % 4294967296;
    text += state.toString(36);
  }
  return text.slice(0, len);
};
const wait = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
const open = (name) => {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => request.result.createObjectStore("a").createIndex("i", "i");
  return wait(request);
};
const write = async (name, durability, work) => {
  const database = await open(name);
  try {
    const transaction = database.transaction("a", "readwrite", { durability });
    const ended = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("aborted"));
    });
    work(transaction.objectStore("a"));
    await ended;
  } finally {
    database.close();
  }
};
const work = {
  open: async (name) => (await open(name)).close(),
  put: (name, key, len, durability) => write(name, durability, (store) => store.put({ i: key, text: noise(key, len) }, key)),
  blob: (name, key, len) =>
    write(name, "relaxed", (store) => store.put({ i: key, text: noise(key, 10), blob: new Blob([noise(key, len)]) }, key)),
  clear: (name) => write(name, "relaxed", (store) => store.clear()),
  delete: (name) => wait(indexedDB.deleteDatabase(name)),
  // Until it fails.
  puts: async (name, first, most) => {
    for (let key = first; key < first + most; key++) {
      await work.put(name, key, 100, "strict");
      console.log(`put ${key}`);
    }
  },
};
const read = async () => {
  const all = {};
  for (const { name } of await indexedDB.databases()) {
    const database = await wait(indexedDB.open(name));
    const store = database.transaction("a").objectStore("a");
    const [keys, values, byIndex] = await Promise.all([
      wait(store.getAllKeys()),
      wait(store.getAll()),
      wait(store.index("i").getAllKeys()),
    ]);
    if (String(byIndex) !== String(keys)) throw new Error("the index differs");
    const found = (all[name] = {});
    for (const [n, { text, blob }] of values.entries()) {
      if (text !== noise(keys[n], text.length)) throw new Error("a text differs");
      if (blob && (await blob.text()) !== noise(keys[n], blob.size)) throw new Error("a blob differs");
      found[keys[n]] = `${text.length}${blob ? `+${blob.size}` : ""}`;
    }
    database.close();
  }
  return JSON.stringify(all);
};
(async () => {
  for (const [number, [what, ...rest]] of STEPS.entries()) {
    console.log(`begin ${number}`);
    try {
      if (what === "read") console.log(`read ${await read()}`);
      else await work[what](...rest);
      console.log(`ok ${number}`);
    } catch (error) {
      console.log(`fail ${number} ${error.name}: ${error.message}`);
    }
  }
})();
