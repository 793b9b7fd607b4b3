// What the host hands out is defined, not assigned: setters of prototypes see nothing of it.
test("setters on Array.prototype see nothing of keys, values and lists", async () => {
  const db = await openWith("setters", 1, (db) => {
    const store = db.createObjectStore("s", { keyPath: ["a", "b"] });
    store.createIndex("i", ["b", "a"]);
    for (let a = 0; a < 3; a++) store.put({ a, b: [a], map: new Map([[a, [a]]]), set: new Set([a]), list: [a, a] });
    db.createObjectStore("t");
  });
  let seen = 0;
  for (const at of [0, 1, 2, 3]) {
    Object.defineProperty(Array.prototype, at, { set: () => void (seen += 1), get: () => undefined, configurable: true });
  }
  const results = [];
  const put = (value) => Object.defineProperty(results, results.length, { value, writable: true, enumerable: true, configurable: true });
  const store = db.transaction("s").objectStore("s");
  put(store.keyPath);
  put(store.index("i").keyPath);
  put(db.objectStoreNames);
  put(store.indexNames);
  for (const [on, method] of [[store, "getAll"], [store, "getAllKeys"], [store, "getAllRecords"], [store.index("i"), "getAllRecords"]]) {
    put(await done(on[method]()));
  }
  put(await done(store.getKey([1, [1]])));
  put(await indexedDB.databases());
  put(structuredClone([1, [2], new Map([[1, 2]]), new Set([3])]));
  put(await navigator.storage?.estimate());
  for (const at of [0, 1, 2, 3]) delete Array.prototype[at];
  same(seen, 0);
  list(results[0], ["a", "b"]);
  list(results[1], ["b", "a"]);
  same(results[4].length, 3);
  same(results[4][2].map.get(2)[0], 2);
  list(results[5], [[0, [0]], [1, [1]], [2, [2]]]);
  same(results[7][1].value.list.length, 2);
  list(results[8], [1, [1]]);
  db.close();
});
