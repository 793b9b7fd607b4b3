// A program for a browser is compiled as it is when its databases are this package's: with the library "dom", the types are one.
import { IDBKeyRange as Range, indexedDB as ours, open } from "larder-idb";
import "larder-idb/auto";

function count(factory: IDBFactory, range: IDBKeyRange): IDBOpenDBRequest {
  const request = factory.open("library");
  request.onsuccess = (event) => {
    const { result } = event.target as IDBOpenDBRequest;
    result.transaction("books").objectStore("books").count(range);
  };
  return request;
}

export const requests = [count(ours, Range.only(1)), count(indexedDB, IDBKeyRange.only(1)), count(open({ folder: "data" }), Range.only(1))];
