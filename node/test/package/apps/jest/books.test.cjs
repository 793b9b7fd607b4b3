// A test of jest, which has CommonJS, a global object of its own, and fake timers.
const { IDBFactory: Factory, indexedDB: ours, reset } = require("larder-idb");

const ended = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function books(mode) {
  const request = indexedDB.open("library", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("books");
  const database = await ended(request);
  return database.transaction("books", mode).objectStore("books");
}

afterEach(() => reset());

test("a value comes back as one of this global object's", async () => {
  const value = { at: new Date(5), editions: new Map([[1, [2n]]]), text: /a/g, cover: new Uint8Array([1, 2]) };
  const store = await books("readwrite");
  await ended(store.put(value, 1));
  const found = await ended(store.get(1));
  expect(found).toStrictEqual(value);
  expect(found.at).toBeInstanceOf(Date);
  expect(found.editions).toBeInstanceOf(Map);
  await expect(ended(store.add(value, 1))).rejects.toBeInstanceOf(DOMException);
});

test("a blob comes back with its bytes", async () => {
  const store = await books("readwrite");
  const done = new Promise((resolve) => (store.transaction.oncomplete = resolve));
  store.put(new Blob(["text"], { type: "text/plain" }), 1);
  await done;
  const found = await ended((await books("readonly")).get(1));
  expect(found).toBeInstanceOf(Blob);
  expect([found.type, await found.text()]).toEqual(["text/plain", "text"]);
});

test("nothing is left after a reset", async () => {
  expect(await ended((await books("readonly")).count())).toBe(0);
  expect(indexedDB).toBe(ours);
});

test("time that stands still does not stand in the way", async () => {
  jest.useFakeTimers();
  try {
    expect(await ended((await books("readonly")).count())).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

test("another factory can be put in the global one's place", async () => {
  await ended((await books("readwrite")).put(1, 1));
  indexedDB = new Factory();
  expect(await ended((await books("readonly")).count())).toBe(0);
  indexedDB = ours;
  expect(await ended((await books("readonly")).count())).toBe(1);
});
