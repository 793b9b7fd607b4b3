// All of the package's own API, in a program with or without TypeScript's library "dom".
import indexedDB, * as larder from "larder-idb";
import { changes, close, forceCloseDatabase, IDBFactory, IDBKeyRange, install, open, reset, setChangeFeed } from "larder-idb";
import type { Change, IDBCursorWithValue, IDBDatabase, IDBObjectStore, IDBRequest, IDBValidKey, Place } from "larder-idb";
import { blobOf, Codec, CodecError, fit, Stored } from "larder-idb/codec";

interface Book {
  isbn: number;
  title: string;
}

export type Kind = Change["operation"];

const place: Place = { folder: "data", origin: "https://example.com" };
const factory: IDBFactory = open(place);
const memory: IDBFactory = new IDBFactory();
const same: IDBFactory = indexedDB ?? larder.indexedDB ?? memory;

function opened(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open(name, 2);
    request.onupgradeneeded = (event) => {
      const version: number = event.oldVersion;
      const next: number | null = event.newVersion;
      const store: IDBObjectStore = request.result.createObjectStore(`books${version}${next}`, { keyPath: "isbn", autoIncrement: false });
      store.createIndex("title", ["title", "year"], { unique: true });
      request.transaction?.abort();
    };
    request.onblocked = () => reject(new Error("blocked"));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.addEventListener("upgradeneeded", (event) => event.oldVersion.toFixed(), { once: true });
  });
}

export async function main(): Promise<void> {
  const database = await opened("library");
  database.onversionchange = () => database.close();
  const names: string[] = Array.from(database.objectStoreNames);
  const transaction = database.transaction(names, "readwrite", { durability: "strict" });
  transaction.oncomplete = (event) => event.type.toUpperCase();
  const store = transaction.objectStore("books");
  const book: Book = { isbn: 1, title: "A" };
  const put: IDBRequest<IDBValidKey> = store.put(book);
  put.onsuccess = () => put.result;
  const all: IDBRequest<Book[]> = store.index("title").getAll(IDBKeyRange.bound(["A"], ["B"], false, true), 10);
  const first: Book | undefined = all.result[0];
  const count: number = store.count().result + (first?.isbn ?? 0);
  const cursors = store.openCursor(IDBKeyRange.lowerBound(count), "prev");
  cursors.onsuccess = () => {
    const cursor: IDBCursorWithValue | null = cursors.result;
    if (cursor === null) return;
    cursor.update({ ...(cursor.value as Book), title: "B" });
    cursor.continue();
  };
  database.addEventListener("close", () => undefined);
  transaction.commit();
  const found: { name?: string; version?: number }[] = await factory.databases();
  found.map(({ name }) => name);
  await setChangeFeed("library", true, factory);
  for await (const { position, changes: all, acknowledge } of changes(database, { consumer: "index", stores: ["books"], values: true, live: false })) {
    for (const { operation, key, value } of all) if (operation === "creation") store.put(value as Book, key);
    await acknowledge?.();
    if (position > 100) break;
  }
  await forceCloseDatabase(database);
  const installed: IDBFactory = install({}, memory);
  await reset(installed);
  await close(factory);
  await reset();
  same.cmp(1, [2]);
}

export function encoded(): unknown {
  const codec = new Codec({ make: (description) => (description.class === "DOMPoint" ? {} : undefined) });
  const { bytes, needs, blobs, tokens } = codec.encode({ a: 1 }, { v8: 15, blink: 21 });
  if (!fit(needs, { v8: 13, blink: 17 }) || blobOf(bytes) !== undefined) return needs.what;
  try {
    return codec.decode(bytes, { blobs, tokens });
  } catch (error) {
    if (error instanceof CodecError && error.kind === "Truncated") return error.offset;
    return Stored.describe({})?.class;
  }
}

// @ts-expect-error: a folder is a path
open({ folder: new URL("file:///data") });
// @ts-expect-error: a folder is needed
open({});
// @ts-expect-error: there is no such member
indexedDB.none;
