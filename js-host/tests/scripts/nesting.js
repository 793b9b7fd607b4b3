// How deep values and keys may be: what is written is read again, and what is not is refused when it is written.
const VALUES_MAX = 100000;
const KEYS_MAX = 2000;

const SHAPES = {
  arrays: (inner) => [inner],
  sparse: (inner) => [, inner],
  objects: (inner) => ({ a: inner }),
  maps: (inner) => new Map([["a", inner]]),
  sets: (inner) => new Set([inner]),
  errors: (inner) => new Error("a", { cause: inner }),
};
const nested = (depth, shape, inner = 1) => {
  for (let i = 0; i < depth; i++) inner = shape(inner);
  return inner;
};
const inside = (value) => {
  if (Array.isArray(value)) return value.at(-1);
  if (value instanceof Map) return value.get("a");
  if (value instanceof Set) return value.values().next().value;
  return value instanceof Error ? value.cause : value.a;
};
const depthOf = (value) => {
  let depth = 0;
  for (; typeof value === "object"; depth++) value = inside(value);
  return depth;
};

const cursors = async (request, visit) => {
  for (let cursor = await done(request); cursor !== null; cursor = await done(request)) {
    await visit(cursor);
    cursor.continue();
  }
};

// Mostly arrays, which are soon cloned; the shape is the inmost.
const deep = (depth, shape) => nested(depth - 1, SHAPES.arrays, shape(1));

test("what can be put, however deep, can be got, and the next deeper is a page's RangeError when it is put", async () => {
  const db = await openWith("values", 1, (db) => {
    db.createObjectStore("out");
    db.createObjectStore("in", { keyPath: "id.a", autoIncrement: true }).createIndex("length", "length");
  });
  const store = db.transaction("out", "readwrite").objectStore("out");
  const deeper = deep(VALUES_MAX + 1, SHAPES.objects);
  for (const write of [() => store.put(deeper, 1), () => store.add(deeper, 1)]) throws("RangeError", write);
  for (const [name, shape] of Object.entries(SHAPES)) {
    same(depthOf(structuredClone(deep(VALUES_MAX, shape))), VALUES_MAX, name);
    const thrown = throws("RangeError", () => structuredClone(deep(VALUES_MAX + 1, shape)), name);
    check(thrown instanceof RangeError && thrown.message.startsWith("Maximum call stack size exceeded"), name);
  }
  for (const name of ["objects", "maps"]) {
    same(await done(store.put(deep(VALUES_MAX, SHAPES[name]), name)), name);
    same(depthOf(await done(store.get(name))), VALUES_MAX, name);
  }
  const all = await done(store.getAll());
  list(all.map(depthOf), [VALUES_MAX, VALUES_MAX]);
  const request = store.openCursor();
  const seen = [];
  for (let cursor = await done(request); cursor !== null; cursor = await done(request)) {
    seen.push(depthOf(cursor.value));
    throws("RangeError", () => cursor.update(deeper));
    cursor.continue();
  }
  list(seen, [VALUES_MAX, VALUES_MAX]);
  // The key is put in where the value is read.
  const inline = db.transaction("in", "readwrite").objectStore("in");
  same(await done(inline.put(deep(VALUES_MAX, SHAPES.maps))), 1);
  const read = await done(inline.get(1));
  same(read.id.a, 1);
  same(depthOf(read), VALUES_MAX);
  same(await done(inline.index("length").count()), 1);
  db.close();
});

test("a value that goes on for ever as it is read ends", () => {
  const endless = () => ({
    get a() {
      return endless();
    },
  });
  throws("RangeError", () => structuredClone(deep(VALUES_MAX - 5000, endless)));
});

test("keys are as deep wherever a key is taken, and the next deeper is none", async () => {
  const db = await openWith("keys", 1, (db) => {
    db.createObjectStore("out");
    db.createObjectStore("in", { keyPath: "id" });
    db.createObjectStore("list", { keyPath: ["id", "b"] });
    db.createObjectStore("indexed").createIndex("i", "id");
  });
  const names = ["out", "in", "list", "indexed"];
  const transaction = db.transaction(names, "readwrite");
  const [out, inline, list, indexed] = names.map((name) => transaction.objectStore(name));
  const forms = [
    (arrays) => nested(arrays, SHAPES.arrays),
    (arrays) => nested(arrays - 1, SHAPES.arrays, []),
    (arrays) => nested(arrays, (inner) => ["x", new Date(5), inner]),
  ];
  for (const form of forms) {
    const [key, deeper] = [form(KEYS_MAX), form(KEYS_MAX + 1)];
    const takes = [
      (key) => indexedDB.cmp(key, 1),
      (key) => indexedDB.cmp(key, key),
      (key) => IDBKeyRange.only(key).includes(key),
      (key) => IDBKeyRange.lowerBound(key).lower,
      (key) => IDBKeyRange.upperBound(key).upper,
      (key) => IDBKeyRange.bound([], key),
      (key) => out.put("value", key),
      (key) => out.add("value", [key][0]).addEventListener("error", (event) => event.preventDefault()),
      (key) => out.get(key),
      (key) => out.getAll(key),
      (key) => out.count(key),
      (key) => out.openCursor(key),
      (key) => out.delete(IDBKeyRange.only(key)),
      (key) => inline.put({ id: key }),
      (key) => list.put({ id: key.at(-1), b: 1 }),
      (key) => indexed.index("i").getKey(key),
    ];
    for (const take of takes) {
      take(key);
      throws("DataError", () => take(deeper), String(take));
    }
    const written = await done(out.put("value", key));
    same(indexedDB.cmp(written, key), 0);
    same(indexedDB.cmp((await done(out.getAllKeys())).at(-1), key), 0);
    same(await done(out.get(written)), "value");
    const range = IDBKeyRange.bound(key, key);
    same(indexedDB.cmp(range.lower, range.upper), 0);
    // What a page finds a key in a value to be it can also name.
    for (const store of [inline, list]) {
      const [found] = await done(store.getAllKeys());
      same((await done(store.getAll(found))).length, 1);
    }
    await done(indexed.put({ id: key }, 1));
    same(await done(indexed.index("i").getKey(key)), 1);
    await done(indexed.put({ id: deeper }, 1));
    same(await done(indexed.index("i").count()), 0);
    const cursor = await done(out.openKeyCursor());
    same(indexedDB.cmp(cursor.key, key), 0);
    throws("DataError", () => cursor.continue(deeper));
    for (const store of [out, inline, list, indexed]) await done(store.clear());
  }
  db.close();
});

test("keys are made element by element, and a page's changes to the prototypes of arrays and sets change nothing", () => {
  const seen = [];
  const inner = [1];
  Object.defineProperty(inner, 0, { get: () => (seen.push("inner"), 2), enumerable: true });
  const outer = [inner, inner, 3];
  Object.defineProperty(outer, 2, { get: () => (seen.push("outer"), 4), enumerable: true });
  const { has, add } = Set.prototype;
  const { includes, concat } = Array.prototype;
  Set.prototype.has = Set.prototype.add = () => check(false, "set");
  Array.prototype.includes = Array.prototype.concat = () => true;
  let order;
  try {
    order = indexedDB.cmp(outer, [[2], [2], 4]);
  } finally {
    Object.assign(Set.prototype, { has, add });
    Object.assign(Array.prototype, { includes, concat });
  }
  same(order, 0);
  list(seen, ["inner", "inner", "outer"]);
  const cycle = [[1]];
  cycle[0].push(cycle);
  throws("DataError", () => indexedDB.cmp(cycle, 1));
  throws("DataError", () => indexedDB.cmp([[1], , 2], 1));
});
