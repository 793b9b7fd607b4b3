// Types of `larder-idb`. In a program that has TypeScript's library "dom" (or "webworker"), IndexedDB's interfaces are that library's: what is written for a
// browser is compiled as it is. In other programs they are those of `standalone.d.ts`.
import type * as standalone from "./standalone.js";

// What the global object has under a name is asked only if it has the library, which is known by `onmessage`: else `larder-idb/auto` may have put it there.
type HasDom = typeof globalThis extends { onmessage: any } ? true : false;
type Dom<Name extends string, Otherwise> = HasDom extends true ? (typeof globalThis extends Record<Name, { prototype: infer Known }> ? Known : Otherwise) : Otherwise;
type DomClass<Name extends string, Otherwise> = HasDom extends true ? (typeof globalThis extends Record<Name, infer Known> ? Known : Otherwise) : Otherwise;

export type IDBCursor = Dom<"IDBCursor", standalone.IDBCursor>;
export const IDBCursor: DomClass<"IDBCursor", standalone.Interface<standalone.IDBCursor>>;
export type IDBCursorWithValue = Dom<"IDBCursorWithValue", standalone.IDBCursorWithValue>;
export const IDBCursorWithValue: DomClass<"IDBCursorWithValue", standalone.Interface<standalone.IDBCursorWithValue>>;
export type IDBDatabase = Dom<"IDBDatabase", standalone.IDBDatabase>;
export const IDBDatabase: DomClass<"IDBDatabase", standalone.Interface<standalone.IDBDatabase>>;
export type IDBFactory = Dom<"IDBFactory", standalone.IDBFactory>;
export const IDBFactory: DomClass<"IDBFactory", standalone.Interface<standalone.IDBFactory>>;
export type IDBIndex = Dom<"IDBIndex", standalone.IDBIndex>;
export const IDBIndex: DomClass<"IDBIndex", standalone.Interface<standalone.IDBIndex>>;
export type IDBKeyRange = Dom<"IDBKeyRange", standalone.IDBKeyRange>;
export const IDBKeyRange: DomClass<"IDBKeyRange", standalone.IDBKeyRangeConstructor>;
export type IDBObjectStore = Dom<"IDBObjectStore", standalone.IDBObjectStore>;
export const IDBObjectStore: DomClass<"IDBObjectStore", standalone.Interface<standalone.IDBObjectStore>>;
export type IDBOpenDBRequest = Dom<"IDBOpenDBRequest", standalone.IDBOpenDBRequest>;
export const IDBOpenDBRequest: DomClass<"IDBOpenDBRequest", standalone.Interface<standalone.IDBOpenDBRequest>>;
export type IDBRecord = Dom<"IDBRecord", standalone.IDBRecord>;
export const IDBRecord: DomClass<"IDBRecord", standalone.Interface<standalone.IDBRecord>>;
// A conditional type cannot hand a parameter on: with the library, its request of any result gets the one that is asked for.
export type IDBRequest<Result = any> = HasDom extends true ? Dom<"IDBRequest", {}> & { readonly result: Result } : standalone.IDBRequest<Result>;
export const IDBRequest: DomClass<"IDBRequest", standalone.Interface<standalone.IDBRequest>>;
export type IDBTransaction = Dom<"IDBTransaction", standalone.IDBTransaction>;
export const IDBTransaction: DomClass<"IDBTransaction", standalone.Interface<standalone.IDBTransaction>>;
export type IDBVersionChangeEvent = Dom<"IDBVersionChangeEvent", standalone.IDBVersionChangeEvent>;
export const IDBVersionChangeEvent: DomClass<"IDBVersionChangeEvent", standalone.IDBVersionChangeEventConstructor>;

export type IDBValidKey = ReturnType<IDBObjectStore["put"]>["result"];
export type IDBTransactionMode = standalone.IDBTransactionMode;
export type IDBTransactionDurability = standalone.IDBTransactionDurability;
export type IDBTransactionOptions = standalone.IDBTransactionOptions;
export type IDBCursorDirection = standalone.IDBCursorDirection;
export type IDBRequestReadyState = standalone.IDBRequestReadyState;
export type IDBObjectStoreParameters = standalone.IDBObjectStoreParameters;
export type IDBIndexParameters = standalone.IDBIndexParameters;
export type IDBGetAllOptions = standalone.IDBGetAllOptions;
export type IDBDatabaseInfo = standalone.IDBDatabaseInfo;

/** Where databases are: those of an origin, in a folder as a browser's profile has it under the name `IndexedDB`. */
export interface Place {
  folder: string;
  /** `http://localhost` if it is not given. */
  origin?: string;
}

/** Databases in memory, or in the folder that the environment's `LARDER_IDB_DIR` names. */
export const indexedDB: IDBFactory;
export default indexedDB;

/** The databases of an origin in a folder. All threads of a process may have a folder open, but one process at a time. */
export function open(place: Place): IDBFactory;

/** Puts IndexedDB on a global object: this realm's, that of a vm context, a window of jsdom or happy-dom. Gives its `indexedDB`. */
export function install(target?: object, factory?: IDBFactory): IDBFactory;

/** Deletes all databases, whose connections are closed by force. */
export function reset(factory?: IDBFactory): Promise<void>;

/** Closes all connections. Resolves when all that was committed is on the disk, and the folder is free for another process. */
export function close(factory?: IDBFactory): Promise<void>;

/** Closes all connections to a connection's database: they get the event "close". Resolves when they have. */
export function forceCloseDatabase(database: IDBDatabase): Promise<void>;

export type ChangeOperation = "creation" | "modification" | "removal";

export interface ChangesOptions {
  /** Begins behind this revision; 0 if it is not given. */
  after?: number;
  /** Begins where the consumer of this name has acknowledged. */
  consumer?: string;
  /** Only changes in these object stores. */
  stores?: string | Iterable<string>;
  /** Only changes of keys in this range. */
  range?: IDBValidKey | IDBKeyRange;
  /** Only changes of these kinds. */
  operationTypes?: ChangeOperation | Iterable<ChangeOperation>;
  /** Whether changes have the record's value. */
  values?: boolean;
  /** `false`: ends behind the last that there is. */
  live?: boolean;
  /** An `AbortSignal`, also for an iterator that waits, which throws its reason. */
  signal?: object;
}

export interface Change {
  revision: number;
  operation: ChangeOperation;
  store: string;
  key: IDBValidKey;
  value?: any;
}

/** A transaction of a change feed. */
export interface Changes {
  /** The number of its last revision. */
  position: number;
  /** In milliseconds since 1970 UTC; undefined of what clean-up has left of several transactions. */
  committed: number | undefined;
  /** Whether it came from the source that the database is a copy of. */
  fromSource: boolean;
  changes: Change[];
  /** With a consumer only: acknowledges all up to this transaction. */
  acknowledge?: () => Promise<void>;
}

/** The transactions of a database's change feed: those that there are, and then those that come. */
export function changes(database: IDBDatabase, options?: ChangesOptions): AsyncGenerator<Changes, void, void>;

/** Turns the change feed of a database on or off. */
export function setChangeFeed(name: string, isOn?: boolean, factory?: IDBFactory): Promise<void>;
