// What `larder-idb/auto` puts on the global object.
import "larder-idb/auto";

const request: IDBOpenDBRequest = indexedDB.open("library", 1);
request.onupgradeneeded = (event: IDBVersionChangeEvent) => {
  const database: IDBDatabase = request.result;
  const store: IDBObjectStore = database.createObjectStore("books", { autoIncrement: true });
  const put: IDBRequest<IDBValid> = store.put({ version: event.newVersion });
  put.onsuccess = () => store.get(IDBKeyRange.only(put.result));
};

type IDBValid = ReturnType<IDBObjectStore["put"]>["result"];

export const isDatabase = (value: unknown): value is IDBDatabase => value instanceof globalThis.IDBDatabase;
export const factory: IDBFactory = globalThis.indexedDB;
