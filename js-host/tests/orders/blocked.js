// `versionchange` at all connections, then `blocked` if one is left that was not closed by then (5.1, steps 10.3 to 10.5).
const ways = {
  "in the handler": (db) => db.close(),
  "in a microtask": (db) => void Promise.resolve().then(() => db.close()),
  "in the next task": (db) => void nextTask().then(() => db.close()),
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
