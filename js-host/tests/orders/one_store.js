// Transactions of one object store, of two connections: one ends before the next one's first result (2.7.2).
const one = await fresh("a");
const two = await fresh("a");
const all = [];
const begin = (db, name, mode, run) => {
  const transaction = hear(db.transaction("s", mode), name, "complete", "abort");
  run(transaction.objectStore("s"), transaction);
  all.push(ended(transaction));
  return transaction;
};
const ask = (request, name) => hear(request, name, "success", "error");
begin(one, "first", "readwrite", (store) => {
  ask(store.put(1, 1), "first put").onsuccess = () => {
    ask(store.get(1), "first get");
    busy(0.3);
  };
});
begin(two, "second", "readonly", (store) => {
  ask(store.get(1), "second get").onsuccess = () => ask(store.count(), "second count");
});
begin(one, "third", "readonly", (store) => ask(store.get(2), "third get"));
begin(two, "fourth", "readwrite", (store) => {
  ask(store.delete(1), "fourth delete");
  ask(store.clear(), "fourth clear");
}).oncomplete = () => {
  begin(one, "sixth", "readonly", (store) => ask(store.count(), "sixth count"));
  busy(0.3);
};
begin(one, "fifth", "readwrite", (store, transaction) => {
  ask(store.put(5, 5), "fifth put");
  transaction.commit();
});
for (let i = 0; i < all.length; i++) await all[i];
one.close();
two.close();
