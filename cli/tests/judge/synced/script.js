// A device's turn: the body of an async function of `args`, for a page and for `larder run`. It does `args.operations` and returns the numbers that
// the key generator gave, and what is there then. A blob stands in JSON as {"$blob": TEXT}.
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const opening = indexedDB.open("notes", args.makes ? 1 : undefined);
opening.onupgradeneeded = () => {
  if (!args.makes) return opening.transaction.abort();
  const db = opening.result;
  db.createObjectStore("plain").createIndex("by n", "n");
  db.createObjectStore("numbered", { keyPath: "id", autoIncrement: true }).createIndex("tags", "tags", { multiEntry: true });
};
const db = await done(opening);
const toValue = (json) => {
  if (json === null || typeof json !== "object" || json.blob === undefined) return json;
  return { ...json, blob: new Blob([json.blob.$blob], { type: "text/plain" }) };
};
const toJson = async (value) => {
  if (value === null || typeof value !== "object" || value.blob === undefined) return value;
  return { ...value, blob: { $blob: await value.blob.text() } };
};
const numbers = [];
const stores = ["numbered", "plain"];
if (args.operations.length > 0) {
  const transaction = db.transaction(stores, "readwrite");
  const over = new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
  for (const [operation, name, key, json] of args.operations) {
    const store = transaction.objectStore(name);
    switch (operation) {
      case "put": name === "plain" ? store.put(toValue(json), key) : store.put(toValue(json)); break;
      case "add": store.add(toValue(json)).onsuccess = ({ target }) => numbers.push(target.result); break;
      case "remove": store.delete(key); break;
    }
  }
  await over;
}
const records = [];
for (const name of stores) {
  const store = db.transaction(name).objectStore(name);
  const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
  for (const [at, key] of keys.entries()) records.push([name, key, await toJson(values[at])]);
}
db.close();
const dump = typeof fixture === "undefined" ? null : await fixture.dump();
return { numbers, records, dump };
