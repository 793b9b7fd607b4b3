// `versionchange` and `blocked` where transactions keep the connection open. Known difference: Chromium fires no `blocked` once `close()`
// was called.
const ways = {
  "closed in it": (db) => {
    const store = hear(db.transaction("s"), "last", "complete").objectStore("s");
    hear(store.get(1), "last get", "success").onsuccess = () => db.close();
  },
  "closed before its end": (db) => {
    const store = hear(db.transaction("s"), "running", "complete").objectStore("s");
    for (let i = 1; i < 4; i++) hear(store.get(i), `running get ${i}`, "success");
    db.close();
  },
};
for (const [way, close] of Object.entries(ways)) {
  for (const change of [(name) => indexedDB.open(name, 2), (name) => indexedDB.deleteDatabase(name)]) {
    const name = `${way} ${change}`;
    const db = hear(await fresh(name), "db", "versionchange", "close");
    db.onversionchange = () => {
      close(db);
      busy(0.3);
    };
    const request = opening(change(name), "change");
    await event(request, "success");
    request.result?.close();
    log(way);
  }
}
