// A new index that is not unique aborts its upgrade: the events of requests before it, errors of those behind it, then the abort.
const request = opening(indexedDB.open("a", 1), "open");
request.onupgradeneeded = () => {
  const db = request.result;
  const upgrade = hear(request.transaction, "upgrade", "abort", "complete");
  const store = db.createObjectStore("s");
  const first = hear(store.put({ n: 1 }, 1), "first", "success", "error");
  first.onsuccess = () => {
    hear(store.put({ n: 2 }, 3), "put of first", "success", "error");
    busy(1);
  };
  hear(store.put({ n: 1 }, 2), "second", "success", "error").onsuccess = () => {
    hear(store.get(1), "get of second", "success", "error");
  };
  store.createIndex("i", "n", { unique: true });
  hear(store.get(1), "behind", "success", "error");
  upgrade.onabort = () => opening(indexedDB.open("b"), "other open");
};
await event(request, "error");
await event(indexedDB.open("b"), "success");
