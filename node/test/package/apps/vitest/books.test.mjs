// A test of vitest, which has ES modules and fake timers.
import { IDBFactory as Factory, indexedDB as ours, reset } from "larder-idb";

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

test("a value comes back", async () => {
  const value = { at: new Date(5), editions: new Map([[1, [2n]]]) };
  const store = await books("readwrite");
  await ended(store.put(value, 1));
  expect(await ended(store.get(1))).toStrictEqual(value);
});

test("nothing is left after a reset, with time that stands still as well", async () => {
  vi.useFakeTimers();
  expect(await ended((await books("readonly")).count())).toBe(0);
  vi.useRealTimers();
  expect(indexedDB).toBe(ours);
});

test("another factory can be put in the global one's place", async () => {
  await ended((await books("readwrite")).put(1, 1));
  indexedDB = new Factory();
  expect(await ended((await books("readonly")).count())).toBe(0);
  indexedDB = ours;
  expect(await ended((await books("readonly")).count())).toBe(1);
});
