// Databases that are opened, upgraded, read and deleted side by side.
const names = ["a", "b", "c", "d"];
const open = (name) => {
  const request = opening(indexedDB.open(name, 1), name);
  request.onupgradeneeded = () => {
    hear(request.transaction, `${name} upgrade`, "complete");
    const store = request.result.createObjectStore("s");
    for (let i = 0; i < names.indexOf(name) + 1; i++) hear(store.put(i, i), `${name} put ${i}`, "success");
  };
  return event(request, "success").then(() => request.result);
};
const all = await Promise.all(names.map(open));
const rests = all.map((db) => {
  const transaction = hear(db.transaction("s"), `${db.name} reader`, "complete");
  hear(transaction.objectStore("s").count(), `${db.name} count`, "success");
  db.close();
  return event(opening(indexedDB.deleteDatabase(db.name), `delete ${db.name}`), "success");
});
await Promise.all(rests);
log((await indexedDB.databases()).length);
