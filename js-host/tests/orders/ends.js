// Ends of transactions across connections and databases, and what is asked for in `complete`.
const [one, two, other] = [await fresh("a", ["s", "t"]), await fresh("a", ["s", "t"]), await fresh("b")];
const all = [];
const begin = (db, stores, name, then) => {
  const transaction = hear(db.transaction(stores, "readwrite"), name, "complete");
  for (const store of transaction.objectStoreNames) hear(transaction.objectStore(store).put(1, 1), `${name} put ${store}`, "success");
  if (then !== undefined) transaction.oncomplete = then;
  all.push(ended(transaction));
};
begin(one, ["s"], "one s", () => {
  begin(two, ["s"], "late", () => other.close());
  opening(indexedDB.open("c"), "open in complete");
  busy(0.3);
});
begin(two, ["t"], "two t", () => two.transaction("t").objectStore("t").get(1).onsuccess = () => log("get in complete"));
begin(other, ["s"], "other");
begin(one, ["s", "t"], "both");
begin(one, ["t"], "last", () => {
  one.close();
  opening(indexedDB.deleteDatabase("b"), "delete");
});
for (let i = 0; i < all.length; i++) await all[i];
await event(indexedDB.deleteDatabase("b"), "success");
await event(indexedDB.open("c"), "success");
two.close();
