// Requests of other sorts than gets and puts, made in the `complete` of an upgrade: before the request to open has succeeded.
const request = opening(indexedDB.open("a", 1), "open");
request.onupgradeneeded = () => {
  const db = request.result;
  db.createObjectStore("s");
  hear(request.transaction, "upgrade", "complete").oncomplete = () => {
    hear(db.transaction("s", "readwrite").objectStore("s").put(1, 1), "put", "success");
    opening(indexedDB.open("a"), "second open");
    opening(indexedDB.open("other"), "other open");
    opening(indexedDB.deleteDatabase("none"), "delete");
    indexedDB.databases().then((all) => log(`databases: ${all.length}`));
    busy(1);
  };
};
await event(request, "success");
await ended(request.result.transaction("s", "readwrite"));
await event(indexedDB.open("other"), "success");
