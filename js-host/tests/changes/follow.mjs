// What larder.changes gives, beside what this script has done. The npm package's tests run it as well.
const same = (found, expected, what) => {
  const [a, b] = [found, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}: ${a}, not ${b}`);
};
const opened = (name) =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("books");
      request.result.createObjectStore("loans", { keyPath: "id", autoIncrement: true });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
const committed = (transaction) =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
const write = (db, work) => {
  const transaction = db.transaction(["books", "loans"], "readwrite");
  work(transaction.objectStore("books"), transaction.objectStore("loans"), transaction);
  return committed(transaction);
};
const thrown = async (call) => {
  try {
    await call();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
  return "nothing";
};
const collected = async (changes) => {
  const all = [];
  for await (const transaction of changes) all.push(transaction);
  return all;
};

let db = await opened("library");
await write(db, (books) => {
  books.put({ title: "Emma", cover: new Blob(["red"]) }, ["a", 1]);
  books.put("Persuasion", new Date(5));
});
const none = await thrown(() => larder.changes(db));
same(none.startsWith("NotFoundError: the database has no change feed: "), true, "without a feed");
db.close();
await larder.setChangeFeed("library");
same(await thrown(() => larder.setChangeFeed("none")), "NotFoundError: there is no database of this name: open it first", "no database");
same((await indexedDB.databases()).map((database) => database.name), ["library"], "none is made");

// What was there is the first transaction. Its values are a page's values.
db = await opened("library");
same([...db.objectStoreNames], ["books", "loans"], "the feed is hidden");
const [first, ...further] = await collected(larder.changes(db, { live: false, values: true }));
same(further, [], "one transaction");
same([first.position, first.fromSource, Math.abs(first.committed - Date.now()) < 60_000], [2, false, true], "the first");
same(first.changes.map(({ revision, operation, store }) => [revision, operation, store]), [[1, "creation", "books"], [2, "creation", "books"]], "changes");
same(await first.changes[0].value.cover.text(), "red", "a blob");
same([first.changes[0].key, first.changes[1].key instanceof Date, first.changes[1].value], [["a", 1], true, "Persuasion"], "keys");
same("acknowledge" in first, false, "no consumer");

// Live: from a position, transaction by transaction, until it is aborted.
const controller = new AbortController();
const live = [];
const following = thrown(async () => {
  for await (const { position, changes } of larder.changes(db, { after: 2, signal: controller.signal })) {
    live.push([position, changes.map(({ operation, store, key, value }) => `${operation} ${store} ${key} ${value}`)]);
    if (position === 6) controller.abort(new Error("enough"));
  }
});
await write(db, (books, loans) => {
  loans.put({ of: "a" });
  books.put("Sanditon", "s");
});
await write(db, (books, loans, transaction) => {
  books.clear();
  transaction.abort();
}).catch(() => {});
await write(db, (books, loans) => {
  loans.delete(1);
  books.put("Sanditon", "s");
});
same(await following, "Error: enough", "the reason");
const expected = [
  [4, ["creation loans 1 undefined", "creation books s undefined"]],
  [6, ["removal loans 1 undefined", "modification books s undefined"]],
];
same(live, expected, "live");

// One that waits is ended, too, and one that is not read on.
const waiting = new AbortController();
const next = thrown(() => larder.changes(db, { after: 6, signal: waiting.signal }).next());
setTimeout(() => waiting.abort(), 1);
same((await next).startsWith("AbortError: "), true, "waiting");
for await (const transaction of larder.changes(db)) {
  same(transaction.position, 2, "the first again");
  break;
}

// A consumer goes on where it has acknowledged; what a filter leaves out is behind it.
const ofConsumer = (options) => larder.changes(db, { live: false, consumer: "backup", ...options });
for (const turn of [1, 2]) {
  const seen = await collected(ofConsumer({ stores: "loans" }));
  same(seen.map(({ position, changes }) => [position, changes.length]), [[4, 1], [6, 1]], `turn ${turn}`);
  if (turn === 2) await seen[0].acknowledge();
}
for await (const transaction of ofConsumer({ operationTypes: ["modification"] })) {
  same([transaction.position, transaction.changes[0].key], [6, "s"], "behind what was acknowledged");
  await transaction.acknowledge();
}
await write(db, (books) => books.put(1, 1));
same(await collected(ofConsumer({ operationTypes: ["removal"] })), [], "nothing that is wanted");
same(await collected(ofConsumer({})), [], "and that was acknowledged");
const ofRange = larder.changes(db, { live: false, range: IDBKeyRange.bound("a", "z") });
same((await collected(ofRange)).map(({ position }) => position), [4, 7], "a range of keys");

// What other realms change, too.
const source = `indexedDB.open("library").onsuccess = ({ target: { result } }) => {
  const transaction = result.transaction("books", "readwrite");
  transaction.objectStore("books").put("a worker's", "w");
};`;
const worker = new Worker(URL.createObjectURL(new Blob([source])));
const fromWorker = await larder.changes(db, { after: 7, values: true }).next();
same([fromWorker.value.changes[0].key, fromWorker.value.changes[0].value], ["w", "a worker's"], "from a worker");
worker.terminate();

const wrong = [
  [() => larder.changes({}), "TypeError: changes: the first argument is an IDBDatabase"],
  [() => larder.changes(db, { after: -1 }), "RangeError: changes: after is the number of a revision, or 0, not -1"],
  [() => larder.changes(db, { after: 1, consumer: "c" }), "TypeError: changes: a consumer has its own position: leave out after"],
  [() => larder.changes(db, { operationTypes: ["put"] }), "TypeError: changes: 'put' is none of creation, modification, removal"],
];
for (const [call, what] of wrong) same(await thrown(call), what, "wrong");
db.close();
await larder.setChangeFeed("library", false);
db = await opened("library");
same((await thrown(() => larder.changes(db))).startsWith("NotFoundError"), true, "off again");
console.log("followed");
