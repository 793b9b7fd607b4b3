// Specification, 2.7, 4.10, 5: the life of transactions, events, upgrades.
const fresh = (name) => openWith(name, 1, (db) => db.createObjectStore("s"));

test("an upgrade's events come in order, and its transaction reaches the request", async () => {
  const request = indexedDB.open("upgrade", 3);
  const seen = [];
  request.onupgradeneeded = (event) => {
    seen.push(`${event.type} ${event.oldVersion} ${event.newVersion}`);
    same(request.transaction.mode, "versionchange");
    same(request.readyState, "done");
    same(event.constructor, IDBVersionChangeEvent);
    request.transaction.oncomplete = () => seen.push("complete");
    const store = request.result.createObjectStore("s", { keyPath: "id" });
    store.add({ id: 1 }).onsuccess = () => seen.push("added");
  };
  const db = await done(request);
  same(request.transaction, null);
  list(seen, ["upgradeneeded 0 3", "added", "complete"]);
  same(db.version, 3);
  list(db.objectStoreNames, ["s"]);
  db.close();
});

test("a transaction is active until the end of the microtasks of the task that made it", async () => {
  const db = await fresh("active");
  const transaction = db.transaction("s", "readwrite");
  const store = transaction.objectStore("s");
  await null;
  await null;
  store.put(1, 1);
  const over = ended(transaction);
  setTimeout(() => throws("TransactionInactiveError", () => store.put(2, 2)), 0);
  same(await over, "complete");
  throws("TransactionInactiveError", () => store.get(1));
  throws("InvalidStateError", () => transaction.objectStore("s"));
  throws("InvalidStateError", () => transaction.commit());
  db.close();
});

test("awaiting a request keeps its transaction active", async () => {
  const db = await fresh("await");
  const transaction = db.transaction("s", "readwrite");
  const over = ended(transaction);
  const store = transaction.objectStore("s");
  for (let i = 0; i < 50; i++) await done(store.put({ i }, i));
  same((await done(store.get(49))).i, 49);
  same(await done(store.count()), 50);
  same(await over, "complete");
  db.close();
});

test("an event passes the transaction and the database on its way", async () => {
  const db = await fresh("path");
  const transaction = db.transaction("s", "readwrite");
  const over = ended(transaction);
  const seen = [];
  for (const [name, target] of [["db", db], ["tx", transaction]]) {
    for (const capture of [true, false]) {
      target.addEventListener("error", (event) => seen.push(`${name} ${capture} ${event.eventPhase}`), capture);
    }
  }
  const store = transaction.objectStore("s");
  store.add(1, "k");
  const request = store.add(2, "k");
  request.onerror = (event) => {
    seen.push(`request ${event.eventPhase}`);
    same(event.composedPath().length, 3);
    event.preventDefault();
  };
  same(await over, "complete");
  same(request.error.name, "ConstraintError");
  list(seen, ["db true 1", "tx true 1", "request 2", "tx false 3", "db false 3"]);
  db.close();
});

test("an error that nobody prevents aborts, and later requests fail in order", async () => {
  const db = await fresh("abort");
  const transaction = db.transaction("s", "readwrite");
  const over = ended(transaction);
  const store = transaction.objectStore("s");
  store.add(1, "k");
  const seen = [];
  store.add(2, "k").onerror = (event) => seen.push(event.target.error.name);
  store.get("k").onerror = (event) => seen.push(event.target.error.name);
  same(await over, "abort");
  list(seen, ["ConstraintError", "AbortError"]);
  same(transaction.error.name, "ConstraintError");
  same(await done(db.transaction("s").objectStore("s").count()), 0);
  db.close();
});

test("an exception in a listener aborts", async () => {
  const db = await fresh("throw");
  const transaction = db.transaction("s", "readwrite");
  const over = ended(transaction);
  addEventListener("error", (event) => event.preventDefault(), { once: true });
  transaction.objectStore("s").put(1, 1).onsuccess = () => {
    throw new Error("in a listener");
  };
  same(await over, "abort");
  same(transaction.error.name, "AbortError");
  db.close();
});

test("commit() takes no more requests and commits", async () => {
  const db = await fresh("commit");
  const transaction = db.transaction("s", "readwrite");
  const over = ended(transaction);
  const store = transaction.objectStore("s");
  store.put(1, 1);
  transaction.commit();
  throws("TransactionInactiveError", () => store.put(2, 2));
  throws("InvalidStateError", () => transaction.abort());
  same(await over, "complete");
  db.close();
});

test("an aborted upgrade leaves everything as it was", async () => {
  (await fresh("revert")).close();
  const request = indexedDB.open("revert", 2);
  let store;
  request.onupgradeneeded = () => {
    store = request.transaction.objectStore("s");
    store.name = "renamed";
    store.createIndex("i", "x");
    request.result.createObjectStore("new");
    request.transaction.abort();
    same(store.name, "s");
    list(store.indexNames, []);
    list(request.result.objectStoreNames, ["s"]);
    same(request.result.version, 1);
  };
  const error = await done(request).catch((e) => e);
  same(error.name, "AbortError");
  const db = await openWith("revert");
  same(db.version, 1);
  list(db.objectStoreNames, ["s"]);
  db.close();
});

test("opening a higher version notifies the other connections, and is blocked until they close", async () => {
  const db = await fresh("blocked");
  const seen = [];
  db.onversionchange = (event) => seen.push(`versionchange ${event.oldVersion} ${event.newVersion}`);
  const request = indexedDB.open("blocked", 2);
  request.onblocked = () => {
    seen.push("blocked");
    db.close();
  };
  const newer = await done(request);
  list(seen, ["versionchange 1 2", "blocked"]);
  newer.close();
  const removed = indexedDB.deleteDatabase("blocked");
  await new Promise((resolve) => {
    removed.onsuccess = (event) => {
      same(event.oldVersion, 2);
      same(event.newVersion, null);
      same(removed.result, undefined);
      resolve();
    };
  });
});

test("a lower version is refused, and version 0 is no version", async () => {
  (await openWith("version", 5)).close();
  const error = await done(indexedDB.open("version", 4)).catch((e) => e);
  same(error.name, "VersionError");
  same(error.constructor, DOMException);
  for (const version of [0, -1, 2 ** 53, "x", NaN]) throws("TypeError", () => indexedDB.open("version", version));
});

test("databases() tells names and versions", async () => {
  const found = (await indexedDB.databases()).find((database) => database.name === "version");
  same(found.version, 5);
});

// The engine has noticed what is wrong with the index before script hears of the first request.
test("requests that are placed before an abort for a new index is told are aborted with it, after the others' success", async () => {
  const request = indexedDB.open("notUnique", 1);
  const seen = [];
  request.onupgradeneeded = () => {
    const store = request.result.createObjectStore("s");
    const { transaction } = request;
    transaction.onabort = () => seen.push(`abort ${transaction.error.name}`);
    const place = (name, ask) => {
      const placed = ask();
      placed.onsuccess = () => seen.push(`${name} success`);
      placed.onerror = () => seen.push(`${name} ${placed.error.name}`);
      return placed;
    };
    place("first", () => store.put({ x: 1 }, 1)).addEventListener("success", () => {
      place("count", () => store.count());
      const cursor = place("cursor", () => store.openCursor());
      same(cursor.readyState, "pending");
    });
    place("second", () => store.put({ x: 1 }, 2));
    store.createIndex("i", "x", { unique: true });
  };
  same((await done(request).catch((error) => error)).name, "AbortError");
  list(seen, ["first success", "second success", "count AbortError", "cursor AbortError", "abort ConstraintError"]);
});

test("the schema changes as if nothing were amiss until an abort for a new index is told, and then all is as before", async () => {
  const before = await openWith("lost", 1, (db) => {
    db.createObjectStore("s").createIndex("old", "x");
    db.createObjectStore("t", { keyPath: "id", autoIncrement: true }).createIndex("by n", "n", { multiEntry: true });
    db.createObjectStore("u");
  });
  before.close();
  const request = indexedDB.open("lost", 2);
  const seen = [];
  let made, index;
  request.onupgradeneeded = () => {
    const { result: db, transaction } = request;
    transaction.onabort = () => seen.push(`abort ${transaction.error.name}`);
    const s = transaction.objectStore("s");
    s.put({ x: 1 }, 1).onsuccess = () => {
      // The engine has aborted.
      made = db.createObjectStore("made", { keyPath: "k" });
      list(db.objectStoreNames, ["made", "s", "t", "u"]);
      list(transaction.objectStoreNames, ["made", "s", "t", "u"]);
      same(transaction.objectStore("made"), made);
      throws("ConstraintError", () => db.createObjectStore("made"));
      made.put({ k: 1 }).onerror = (event) => seen.push(`put ${event.target.error.name}`);
      index = made.createIndex("i", "x");
      list(made.indexNames, ["i"]);
      same(made.index("i"), index);
      index.get(1).onerror = (event) => seen.push(`get ${event.target.error.name}`);
      index.name = "h";
      list(made.indexNames, ["h"]);
      throws("NotFoundError", () => made.deleteIndex("i"));
      made.name = "name";
      list(db.objectStoreNames, ["name", "s", "t", "u"]);
      db.deleteObjectStore("u");
      throws("NotFoundError", () => transaction.objectStore("u"));
      s.deleteIndex("old");
      list(s.indexNames, ["i"]);
      const t = transaction.objectStore("t");
      same(t.keyPath, "id");
      same(t.autoIncrement, true);
      same(t.index("by n").multiEntry, true);
      t.name = "other";
      list(db.objectStoreNames, ["name", "other", "s"]);
    };
    s.put({ x: 1 }, 2);
    s.createIndex("i", "x", { unique: true });
  };
  same((await done(request).catch((error) => error)).name, "AbortError");
  list(seen, ["put AbortError", "get AbortError", "abort ConstraintError"]);
  throws("InvalidStateError", () => made.get(1));
  throws("InvalidStateError", () => index.get(1));
  const after = await openWith("lost");
  same(after.version, 1);
  list(after.objectStoreNames, ["s", "t", "u"]);
  const transaction = after.transaction(["s", "t"]);
  list(transaction.objectStore("s").indexNames, ["old"]);
  list(transaction.objectStore("t").indexNames, ["by n"]);
  after.close();
});

test("what a listener of upgradeneeded throws after commit() aborts nothing", async () => {
  const request = indexedDB.open("thrownLate", 1);
  const seen = [];
  addEventListener("error", (event) => event.preventDefault(), { once: true });
  request.onupgradeneeded = () => {
    request.result.createObjectStore("s");
    request.transaction.oncomplete = () => seen.push("complete");
    request.transaction.onabort = () => seen.push("abort");
    request.transaction.commit();
    throw new RangeError("late");
  };
  const db = await done(request);
  list(seen, ["complete"]);
  list(db.objectStoreNames, ["s"]);
  db.close();
});
