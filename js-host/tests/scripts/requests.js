// Specification, 4.5, 4.6 and 4.8: what each method that makes a request comes to, over three records with an index.
const build = async (name) => {
  const db = await openWith(name, 1, (db) => {
    const store = db.createObjectStore("s");
    store.createIndex("by n", "n");
    for (const key of [1, 2, 3]) store.put({ n: key === 3 ? "b" : "a", key }, key);
  });
  const transaction = db.transaction("s", "readwrite");
  const store = transaction.objectStore("s");
  return { db, store, index: store.index("by n") };
};
const texts = (all) => all.map((one) => JSON.stringify(one));
const at = (cursor) => cursor && [cursor.key, cursor.primaryKey, cursor.value?.key];

test("each method that reads gives what it says, of object stores and indexes", async () => {
  const { db, store, index } = await build("reads");
  const expected = [
    [store.get(2), { n: "a", key: 2 }],
    [store.get(9), undefined],
    [store.getKey(IDBKeyRange.lowerBound(2, true)), 3],
    [store.count(IDBKeyRange.upperBound(2)), 2],
    [store.getAll(null, 2), [{ n: "a", key: 1 }, { n: "a", key: 2 }]],
    [store.getAllKeys({ direction: "prev" }), [3, 2, 1]],
    [index.get("b"), { n: "b", key: 3 }],
    [index.getKey("a"), 1],
    [index.count("a"), 2],
    [index.getAll("a"), [{ n: "a", key: 1 }, { n: "a", key: 2 }]],
    [index.getAllKeys(), [1, 2, 3]],
  ];
  for (const [request, result] of expected) same(JSON.stringify(await done(request)), JSON.stringify(result));
  const records = await done(index.getAllRecords({ query: "b" }));
  list(records.map(({ key, primaryKey, value }) => [key, primaryKey, value.key]), [["b", 3, 3]]);
  db.close();
});

test("each method that writes leaves what it says", async () => {
  const { db, store } = await build("writes");
  const keys = () => done(store.getAllKeys());
  same(await done(store.put({ n: "c" }, 2)), 2);
  same(await done(store.add({ n: "d" }, 4)), 4);
  same((await done(store.add({}, 4)).catch((error) => error)).name, "ConstraintError");
  list(texts(await done(store.getAll(2))), ['{"n":"c"}']);
  list(await keys(), [1, 2, 3, 4]);
  same(await done(store.delete(IDBKeyRange.bound(2, 3))), undefined);
  list(await keys(), [1, 4]);
  same(await done(store.clear()), undefined);
  list(await keys(), []);
  db.close();
});

test("each method that moves a cursor brings it where it says", async () => {
  const { db, store, index } = await build("moves");
  const walk = async (request, ...moves) => {
    const seen = [at(await done(request))];
    for (const move of moves) {
      move(request.result);
      seen.push(at(await done(request)));
    }
    return seen;
  };
  const next = (cursor) => cursor.continue();
  list(await walk(store.openCursor(), next, next, next), [[1, 1, 1], [2, 2, 2], [3, 3, 3], null]);
  list(await walk(store.openKeyCursor(null, "prev"), next), [[3, 3, undefined], [2, 2, undefined]]);
  list(await walk(store.openCursor(), (cursor) => cursor.continue(3)), [[1, 1, 1], [3, 3, 3]]);
  list(await walk(store.openCursor(), (cursor) => cursor.advance(2)), [[1, 1, 1], [3, 3, 3]]);
  list(await walk(index.openKeyCursor(null, "nextunique"), next), [["a", 1, undefined], ["b", 3, undefined]]);
  list(await walk(index.openCursor(null, "prevunique"), next), [["b", 3, 3], ["a", 1, 1]]);
  list(await walk(index.openCursor(), (cursor) => cursor.continuePrimaryKey("a", 2)), [["a", 1, 1], ["a", 2, 2]]);
  db.close();
});

test("a cursor changes and removes the record that it stands at", async () => {
  const { db, store, index } = await build("changes");
  const cursor = await done(index.openCursor("b"));
  same(await done(cursor.update({ n: "z", key: 30 })), 3);
  list(texts([await done(store.get(3))]), ['{"n":"z","key":30}']);
  const first = await done(store.openCursor());
  same(await done(first.delete()), undefined);
  list(await done(store.getAllKeys()), [2, 3]);
  db.close();
});
