// Types of `larder-idb/auto`: what it puts on the global object. A program that has TypeScript's library "dom" has all of it, but for `IDBRecord`, which
// older ones do not have: its type is had from `larder-idb`.
import type * as standalone from "./standalone.js";

type HasDom = typeof globalThis extends { onmessage: any } ? true : false;
type Own<Members> = HasDom extends true ? {} : Members;
type OwnIDBCursor = Own<standalone.IDBCursor>;
type OwnIDBCursorWithValue = Own<standalone.IDBCursorWithValue>;
type OwnIDBDatabase = Own<standalone.IDBDatabase>;
type OwnIDBFactory = Own<standalone.IDBFactory>;
type OwnIDBIndex = Own<standalone.IDBIndex>;
type OwnIDBKeyRange = Own<standalone.IDBKeyRange>;
type OwnIDBObjectStore = Own<standalone.IDBObjectStore>;
type OwnIDBOpenDBRequest = Own<standalone.IDBOpenDBRequest>;
type OwnIDBRequest<Result> = Own<standalone.IDBRequest<Result>>;
type OwnIDBTransaction = Own<standalone.IDBTransaction>;
type OwnIDBVersionChangeEvent = Own<standalone.IDBVersionChangeEvent>;
type OwnDOMStringList = Own<standalone.DOMStringList>;

declare global {
  interface IDBCursor extends OwnIDBCursor {}
  interface IDBCursorWithValue extends OwnIDBCursorWithValue {}
  interface IDBDatabase extends OwnIDBDatabase {}
  interface IDBFactory extends OwnIDBFactory {}
  interface IDBIndex extends OwnIDBIndex {}
  interface IDBKeyRange extends OwnIDBKeyRange {}
  interface IDBObjectStore extends OwnIDBObjectStore {}
  interface IDBOpenDBRequest extends OwnIDBOpenDBRequest {}
  interface IDBRequest<T = any> extends OwnIDBRequest<T> {}
  interface IDBTransaction extends OwnIDBTransaction {}
  interface IDBVersionChangeEvent extends OwnIDBVersionChangeEvent {}
  interface DOMStringList extends OwnDOMStringList {}

  var IDBCursor: typeof globalThis extends { onmessage: any; IDBCursor: infer Known } ? Known : standalone.Interface<standalone.IDBCursor>;
  var IDBCursorWithValue: typeof globalThis extends { onmessage: any; IDBCursorWithValue: infer Known } ? Known : standalone.Interface<standalone.IDBCursorWithValue>;
  var IDBDatabase: typeof globalThis extends { onmessage: any; IDBDatabase: infer Known } ? Known : standalone.Interface<standalone.IDBDatabase>;
  var IDBFactory: typeof globalThis extends { onmessage: any; IDBFactory: infer Known } ? Known : standalone.Interface<standalone.IDBFactory>;
  var IDBIndex: typeof globalThis extends { onmessage: any; IDBIndex: infer Known } ? Known : standalone.Interface<standalone.IDBIndex>;
  var IDBKeyRange: typeof globalThis extends { onmessage: any; IDBKeyRange: infer Known } ? Known : standalone.IDBKeyRangeConstructor;
  var IDBObjectStore: typeof globalThis extends { onmessage: any; IDBObjectStore: infer Known } ? Known : standalone.Interface<standalone.IDBObjectStore>;
  var IDBOpenDBRequest: typeof globalThis extends { onmessage: any; IDBOpenDBRequest: infer Known } ? Known : standalone.Interface<standalone.IDBOpenDBRequest>;
  var IDBRequest: typeof globalThis extends { onmessage: any; IDBRequest: infer Known } ? Known : standalone.Interface<standalone.IDBRequest>;
  var IDBTransaction: typeof globalThis extends { onmessage: any; IDBTransaction: infer Known } ? Known : standalone.Interface<standalone.IDBTransaction>;
  var IDBVersionChangeEvent: typeof globalThis extends { onmessage: any; IDBVersionChangeEvent: infer Known } ? Known : standalone.IDBVersionChangeEventConstructor;
  var indexedDB: typeof globalThis extends { onmessage: any; indexedDB: infer Known } ? Known : standalone.IDBFactory;
}
