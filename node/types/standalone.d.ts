// IndexedDB's interfaces for programs without TypeScript's library "dom". Events, event targets and exceptions are the program's own where it has them
// (those of @types/node, for instance).

type Global<Name extends string, Otherwise> = typeof globalThis extends Record<Name, { prototype: infer Known }> ? Known : Otherwise;

export interface PlainEvent {
  readonly type: string;
  readonly target: object | null;
  readonly currentTarget: object | null;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly defaultPrevented: boolean;
  readonly timeStamp: number;
  preventDefault(): void;
  stopPropagation(): void;
  stopImmediatePropagation(): void;
}

export interface PlainEventTarget {
  addEventListener(type: string, listener: Listener | null, options?: boolean | ListenerOptions): void;
  removeEventListener(type: string, listener: Listener | null, options?: boolean | { capture?: boolean }): void;
  dispatchEvent(event: AnyEvent): boolean;
}

export interface PlainException extends Error {
  readonly name: string;
  readonly message: string;
  readonly code: number;
}

export type AnyEvent = Global<"Event", PlainEvent>;
export type AnyEventTarget = Global<"EventTarget", PlainEventTarget>;
export type AnyException = Global<"DOMException", PlainException>;

export type Listener = ((event: any) => void) | { handleEvent(event: any): void };

export interface ListenerOptions {
  capture?: boolean;
  once?: boolean;
  passive?: boolean;
  signal?: any;
}

// An event target whose events are known by name.
interface Target<This, Events> extends AnyEventTarget {
  addEventListener<Type extends keyof Events>(type: Type, listener: (this: This, event: Events[Type]) => any, options?: boolean | ListenerOptions): void;
  addEventListener(type: string, listener: Listener | null, options?: boolean | ListenerOptions): void;
  removeEventListener<Type extends keyof Events>(type: Type, listener: (this: This, event: Events[Type]) => any, options?: boolean | { capture?: boolean }): void;
  removeEventListener(type: string, listener: Listener | null, options?: boolean | { capture?: boolean }): void;
}

export type IDBValidKey = number | string | Date | ArrayBufferView | ArrayBuffer | IDBValidKey[];
export type IDBTransactionMode = "readonly" | "readwrite" | "versionchange";
export type IDBTransactionDurability = "default" | "relaxed" | "strict";
export type IDBCursorDirection = "next" | "nextunique" | "prev" | "prevunique";
export type IDBRequestReadyState = "pending" | "done";

export interface IDBTransactionOptions {
  durability?: IDBTransactionDurability;
}

export interface IDBObjectStoreParameters {
  keyPath?: string | string[] | null;
  autoIncrement?: boolean;
}

export interface IDBIndexParameters {
  unique?: boolean;
  multiEntry?: boolean;
}

export interface IDBGetAllOptions {
  query?: IDBValidKey | IDBKeyRange | null;
  count?: number;
  direction?: IDBCursorDirection;
}

export interface IDBDatabaseInfo {
  name?: string;
  version?: number;
}

export interface DOMStringList {
  readonly length: number;
  contains(string: string): boolean;
  item(index: number): string | null;
  readonly [index: number]: string;
  [Symbol.iterator](): IterableIterator<string>;
}

export interface IDBFactory {
  cmp(first: any, second: any): number;
  databases(): Promise<IDBDatabaseInfo[]>;
  deleteDatabase(name: string): IDBOpenDBRequest;
  open(name: string, version?: number): IDBOpenDBRequest;
}

export interface IDBDatabaseEventMap {
  abort: AnyEvent;
  close: AnyEvent;
  error: AnyEvent;
  versionchange: IDBVersionChangeEvent;
}

export interface IDBDatabase extends Target<IDBDatabase, IDBDatabaseEventMap> {
  readonly name: string;
  readonly version: number;
  readonly objectStoreNames: DOMStringList;
  onabort: ((this: IDBDatabase, event: AnyEvent) => any) | null;
  onclose: ((this: IDBDatabase, event: AnyEvent) => any) | null;
  onerror: ((this: IDBDatabase, event: AnyEvent) => any) | null;
  onversionchange: ((this: IDBDatabase, event: IDBVersionChangeEvent) => any) | null;
  close(): void;
  createObjectStore(name: string, options?: IDBObjectStoreParameters): IDBObjectStore;
  deleteObjectStore(name: string): void;
  transaction(storeNames: string | Iterable<string>, mode?: IDBTransactionMode, options?: IDBTransactionOptions): IDBTransaction;
}

export interface IDBTransactionEventMap {
  abort: AnyEvent;
  complete: AnyEvent;
  error: AnyEvent;
}

export interface IDBTransaction extends Target<IDBTransaction, IDBTransactionEventMap> {
  readonly db: IDBDatabase;
  readonly durability: IDBTransactionDurability;
  readonly error: AnyException | null;
  readonly mode: IDBTransactionMode;
  readonly objectStoreNames: DOMStringList;
  onabort: ((this: IDBTransaction, event: AnyEvent) => any) | null;
  oncomplete: ((this: IDBTransaction, event: AnyEvent) => any) | null;
  onerror: ((this: IDBTransaction, event: AnyEvent) => any) | null;
  abort(): void;
  commit(): void;
  objectStore(name: string): IDBObjectStore;
}

// What object stores and indexes have in common.
interface Source {
  name: string;
  readonly keyPath: string | string[];
  count(query?: IDBValidKey | IDBKeyRange): IDBRequest<number>;
  get(query: IDBValidKey | IDBKeyRange): IDBRequest<any>;
  getKey(query: IDBValidKey | IDBKeyRange): IDBRequest<IDBValidKey | undefined>;
  getAll(query?: IDBValidKey | IDBKeyRange | null, count?: number): IDBRequest<any[]>;
  getAll(options: IDBGetAllOptions): IDBRequest<any[]>;
  getAllKeys(query?: IDBValidKey | IDBKeyRange | null, count?: number): IDBRequest<IDBValidKey[]>;
  getAllKeys(options: IDBGetAllOptions): IDBRequest<IDBValidKey[]>;
  getAllRecords(options?: IDBGetAllOptions): IDBRequest<IDBRecord[]>;
  openCursor(query?: IDBValidKey | IDBKeyRange | null, direction?: IDBCursorDirection): IDBRequest<IDBCursorWithValue | null>;
  openKeyCursor(query?: IDBValidKey | IDBKeyRange | null, direction?: IDBCursorDirection): IDBRequest<IDBCursor | null>;
}

export interface IDBObjectStore extends Source {
  readonly autoIncrement: boolean;
  readonly indexNames: DOMStringList;
  readonly transaction: IDBTransaction;
  add(value: any, key?: IDBValidKey): IDBRequest<IDBValidKey>;
  clear(): IDBRequest<undefined>;
  createIndex(name: string, keyPath: string | Iterable<string>, options?: IDBIndexParameters): IDBIndex;
  delete(query: IDBValidKey | IDBKeyRange): IDBRequest<undefined>;
  deleteIndex(name: string): void;
  index(name: string): IDBIndex;
  put(value: any, key?: IDBValidKey): IDBRequest<IDBValidKey>;
}

export interface IDBIndex extends Source {
  readonly multiEntry: boolean;
  readonly objectStore: IDBObjectStore;
  readonly unique: boolean;
}

export interface IDBRequestEventMap {
  error: AnyEvent;
  success: AnyEvent;
}

export interface IDBRequest<Result = any> extends Target<IDBRequest<Result>, IDBRequestEventMap> {
  readonly error: AnyException | null;
  readonly readyState: IDBRequestReadyState;
  readonly result: Result;
  readonly source: IDBObjectStore | IDBIndex | IDBCursor;
  readonly transaction: IDBTransaction | null;
  onerror: ((this: IDBRequest<Result>, event: AnyEvent) => any) | null;
  onsuccess: ((this: IDBRequest<Result>, event: AnyEvent) => any) | null;
}

export interface IDBOpenDBRequestEventMap extends IDBRequestEventMap {
  blocked: IDBVersionChangeEvent;
  upgradeneeded: IDBVersionChangeEvent;
}

export interface IDBOpenDBRequest extends IDBRequest<IDBDatabase> {
  onblocked: ((this: IDBOpenDBRequest, event: IDBVersionChangeEvent) => any) | null;
  onupgradeneeded: ((this: IDBOpenDBRequest, event: IDBVersionChangeEvent) => any) | null;
  addEventListener<Type extends keyof IDBOpenDBRequestEventMap>(
    type: Type,
    listener: (this: IDBOpenDBRequest, event: IDBOpenDBRequestEventMap[Type]) => any,
    options?: boolean | ListenerOptions,
  ): void;
  addEventListener(type: string, listener: Listener | null, options?: boolean | ListenerOptions): void;
}

export interface IDBCursor {
  readonly direction: IDBCursorDirection;
  readonly key: IDBValidKey;
  readonly primaryKey: IDBValidKey;
  readonly request: IDBRequest;
  readonly source: IDBObjectStore | IDBIndex;
  advance(count: number): void;
  continue(key?: IDBValidKey): void;
  continuePrimaryKey(key: IDBValidKey, primaryKey: IDBValidKey): void;
  delete(): IDBRequest<undefined>;
  update(value: any): IDBRequest<IDBValidKey>;
}

export interface IDBCursorWithValue extends IDBCursor {
  readonly value: any;
}

export interface IDBRecord {
  readonly key: IDBValidKey;
  readonly primaryKey: IDBValidKey;
  readonly value: any;
}

export interface IDBKeyRange {
  readonly lower: any;
  readonly lowerOpen: boolean;
  readonly upper: any;
  readonly upperOpen: boolean;
  includes(key: any): boolean;
}

export interface IDBKeyRangeConstructor {
  readonly prototype: IDBKeyRange;
  bound(lower: any, upper: any, lowerOpen?: boolean, upperOpen?: boolean): IDBKeyRange;
  lowerBound(lower: any, open?: boolean): IDBKeyRange;
  only(value: any): IDBKeyRange;
  upperBound(upper: any, open?: boolean): IDBKeyRange;
}

export interface IDBVersionChangeEventInit {
  bubbles?: boolean;
  cancelable?: boolean;
  composed?: boolean;
  newVersion?: number | null;
  oldVersion?: number;
}

type BaseEvent = AnyEvent;

export interface IDBVersionChangeEvent extends BaseEvent {
  readonly newVersion: number | null;
  readonly oldVersion: number;
}

export interface IDBVersionChangeEventConstructor {
  readonly prototype: IDBVersionChangeEvent;
  new (type: string, init?: IDBVersionChangeEventInit): IDBVersionChangeEvent;
}

// Instances are had from other objects alone.
export interface Interface<Instance> {
  readonly prototype: Instance;
  new (): Instance;
}
