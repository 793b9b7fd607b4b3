// Specification, 4.5 to 4.9, 6, 7: records, keys, indexes, cursors.
let db;
const store = (mode = "readwrite") => db.transaction("s", mode).objectStore("s");

test("set up", async () => {
  db = await openWith("records", 1, (d) => {
    const s = d.createObjectStore("s", { keyPath: "id", autoIncrement: true });
    s.createIndex("tag", "tags", { multiEntry: true });
    s.createIndex("mail", "mail", { unique: true });
    d.createObjectStore("plain");
  });
  check(db instanceof IDBDatabase);
});

test("generated keys are put into what is stored, not into what was given", async () => {
  const value = { tags: ["a", "b"] };
  same(await done(store().add(value)), 1);
  same("id" in value, false);
  same((await done(store().get(1))).id, 1);
  same(await done(store().add({ id: 7.5, tags: ["b"], mail: "x" })), 7.5);
  same(await done(store().add({ mail: "y" })), 8);
});

test("unique indexes refuse, multi-entry indexes have an entry for each", async () => {
  const error = await done(store().add({ mail: "x" })).catch((e) => e);
  same(error.name, "ConstraintError");
  same(await done(store().index("tag").count()), 3);
  list(await done(store().index("tag").getAllKeys("b")), [1, 7.5]);
  same((await done(store().index("mail").get("y"))).id, 8);
});

test("every kind of key comes out as it went in, in the order of keys", async () => {
  const s = db.transaction("plain", "readwrite").objectStore("plain");
  const keys = [-Infinity, -0.5, 3, new Date(-5), new Date(9), "", "a\ud800", "b", new Uint8Array([1, 0]), [], [1, [new Date(1), "x"]]];
  for (const key of keys.toReversed()) s.put("v", key);
  const found = await done(s.getAllKeys());
  same(found.length, keys.length);
  found.forEach((key, i) => same(indexedDB.cmp(key, keys[i]), 0));
  check(found[8] instanceof ArrayBuffer);
  check(found[3] instanceof Date);
});

test("what is no key is refused", () => {
  const loop = [];
  loop.push(loop);
  const gone = new ArrayBuffer(1);
  gone.transfer();
  for (const bad of [undefined, null, NaN, true, {}, [,], [undefined], new Date(NaN), loop, Symbol(), 1n, new Proxy([], {}), gone, /x/, () => {}]) {
    throws("DataError", () => IDBKeyRange.only(bad), Object.prototype.toString.call(bad));
  }
  const mine = new EvalError("mine");
  const array = [1];
  Object.defineProperty(array, 0, {
    get() {
      throw mine;
    },
  });
  same(throws("EvalError", () => indexedDB.cmp(1, array)), mine);
});

test("key ranges know their bounds", () => {
  const range = IDBKeyRange.bound(1, "b", true, false);
  same(range.lower, 1);
  same(range.upper, "b");
  same(range.lowerOpen, true);
  same(range.upperOpen, false);
  same(range.includes(1), false);
  same(range.includes("b"), true);
  same(range.includes([]), false);
  const array = IDBKeyRange.only([1]);
  same(array.lower, array.lower);
  same(IDBKeyRange.lowerBound(1).upper, undefined);
  throws("DataError", () => IDBKeyRange.bound(2, 1));
  throws("TypeError", () => new IDBKeyRange());
});

test("cursors go on, skip, update and delete", async () => {
  const s = store();
  const seen = [];
  await new Promise((resolve, reject) => {
    const request = s.openCursor(null, "prev");
    request.onerror = reject;
    request.onsuccess = () => {
      const cursor = request.result;
      if (cursor === null) return resolve();
      seen.push(cursor.key);
      same(cursor.request, request);
      same(cursor.source, s);
      same(cursor.value, cursor.value);
      if (cursor.key === 8) {
        cursor.update({ id: 8, changed: true });
        throws("DataError", () => cursor.update({ id: 9 }));
        throws("DataError", () => cursor.continue(9));
        cursor.continue(7.5);
        throws("InvalidStateError", () => cursor.continue());
      } else {
        if (cursor.key === 7.5) cursor.delete();
        cursor.advance(1);
      }
    };
  });
  list(seen, [8, 7.5, 1]);
  same((await done(s.get(8))).changed, true);
  same(await done(s.count()), 2);
});

test("getAll takes a range, a count and options", async () => {
  list((await done(store().getAll())).map((v) => v.id), [1, 8]);
  list((await done(store().getAll(IDBKeyRange.lowerBound(2)))).map((v) => v.id), [8]);
  list(await done(store().getAllKeys({ direction: "prev", count: 1 })), [8]);
  const [record] = await done(store().index("tag").getAllRecords({ query: "a" }));
  check(record instanceof IDBRecord);
  list([record.key, record.primaryKey, record.value.id], ["a", 1, 1]);
  throws("TypeError", () => store().getAll(null, -1));
});

test("what cannot be stored is refused, and the transaction goes on", async () => {
  const s = store();
  throws("DataCloneError", () => s.put({ f() {} }));
  throws("DataError", () => s.put({ id: {} }));
  throws("DataError", () => s.put({ id: 1 }, 1));
  throws("DataError", () => s.put("no object"));
  throws("ReadOnlyError", () => store("readonly").put({}));
  check((await done(s.put({ id: 1 }))) === 1);
});

test("blobs and files are stored and read", async () => {
  const value = { id: 50, blob: new Blob(["bytes"], { type: "a/b" }), file: new File(["of a file"], "n.txt", { lastModified: 1234567 }) };
  await done(store().put(value));
  const found = await done(store().get(50));
  check(found.blob instanceof Blob && found.file instanceof File);
  same(await found.blob.text(), "bytes");
  same(found.blob.type, "a/b");
  same(await found.file.slice(3).text(), "a file");
  same(found.file.name, "n.txt");
  same(found.file.lastModified, 1234567);
});

test("interfaces are as WebIDL has them", () => {
  for (const name of ["IDBCursor", "IDBDatabase", "IDBFactory", "IDBIndex", "IDBObjectStore", "IDBRequest", "IDBTransaction", "IDBRecord"]) {
    throws("TypeError", () => new globalThis[name](), name);
    same(Object.prototype.toString.call(globalThis[name].prototype), `[object ${name}]`);
    same(Object.getOwnPropertyDescriptor(globalThis, name).enumerable, false);
  }
  same(Object.getPrototypeOf(IDBOpenDBRequest.prototype), IDBRequest.prototype);
  same(Object.getPrototypeOf(IDBDatabase.prototype), EventTarget.prototype);
  throws("TypeError", () => IDBObjectStore.prototype.put.call({}, 1));
  throws("TypeError", () => Object.getOwnPropertyDescriptor(IDBDatabase.prototype, "name").get.call(indexedDB));
  throws("TypeError", () => indexedDB.open());
  same(IDBObjectStore.prototype.put.length, 1);
  same(indexedDB, self.indexedDB);
});
