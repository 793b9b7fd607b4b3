// Transactions of object stores and databases that have nothing to do with one another.
const db = await fresh("a", ["s", "t", "u"]);
const other = await fresh("b");
const all = [];
const chain = (source, name, count) => {
  const transaction = hear(source, name, "complete");
  const store = transaction.objectStore(transaction.objectStoreNames[0]);
  const next = (left) => {
    if (left === 0) return;
    store.get(left).onsuccess = () => {
      log(`${name} ${left}`);
      if (left % 3 === 0) busy(0.1);
      next(left - 1);
    };
  };
  next(count);
  store.count().onsuccess = () => log(`${name} count`);
  all.push(ended(transaction));
};
chain(db.transaction("s", "readwrite"), "s", 5);
chain(db.transaction("t", "readwrite"), "t", 7);
chain(other.transaction("s"), "other", 6);
chain(db.transaction("u"), "u", 4);
chain(db.transaction("u"), "u again", 3);
await Promise.all(all);
// In one task.
const readers = ["s", "t", "u"].map((name) => hear(db.transaction(name), name, "complete").objectStore(name));
for (let i = 1; i < 6; i++) {
  for (const store of readers) store.get(i).onsuccess = () => log(`${store.name} get ${i}`);
}
for (const store of readers) for (let i = 1; i < 6; i++) store.getKey(i).onsuccess = () => log(`${store.name} getKey ${i}`);
await Promise.all(readers.map((store) => ended(store.transaction)));
db.close();
other.close();
