// Types of `larder-idb/codec`.

/** Versions of V8's wire format and of Blink's envelope. */
export interface Versions {
  v8: number;
  blink: number;
}

/** The least versions that have a form for a value, and what needs them. */
export interface Needs extends Versions {
  what: string;
}

/** An object of the web platform as data: `class` is the name of its interface. */
export interface Description {
  class: string;
  [member: string]: any;
}

/** What lies beside the bytes of a value. */
export interface Beside {
  blobs?: readonly any[];
  tokens?: readonly Uint8Array[];
  /** The versions that the value was in before it was written in these, if these are others. */
  readIn?: Versions;
}

export interface Encoded {
  bytes: Uint8Array;
  needs: Needs;
  blobs: any[];
  tokens: Uint8Array[];
}

export interface CodecOptions {
  /** The global object whose constructors make what is decoded. */
  global?: object;
  /** The description of an object of a class of the host's own; a sentence if it cannot be cloned; undefined for all others. */
  describe?: (object: object) => Description | string | undefined;
  /** An object of a class of the host's own; undefined for what it has no class for. */
  make?: (description: Description) => object | undefined;
}

export class Codec {
  constructor(options?: CodecOptions);
  /** The bytes of a value with its envelope. Throws a `DataCloneError` for what has no form. */
  encode(value: any, given?: Versions): Encoded;
  /** The value of bytes. Throws a `CodecError` for bytes that are no value. */
  decode(bytes: Uint8Array, beside?: Beside): any;
}

/** Whether versions have a form for a value that needs others. */
export function fit(needs: Versions, given: Versions): boolean;

/** The blob that a value lies in, if its bytes say so. */
export function blobOf(bytes: Uint8Array): { size: number; index: number } | undefined;

export type CodecErrorKind = "Truncated" | "Invalid" | "UnknownTag" | "Trailing" | "LimitExceeded" | "Unsupported" | "Elsewhere";

export class CodecError extends Error {
  readonly kind: CodecErrorKind;
  /** In bytes, from the start of the value or of what it was unpacked to. */
  readonly offset: number;
  readonly what: string;
  readonly found?: number;
}

/** An object of the web platform for which the runtime has no class. */
export class Stored {
  readonly [member: string]: any;
  /** What an object was made of; undefined for other objects. */
  static describe(object: object): Description | undefined;
}

export class StoredFileList extends Stored {
  readonly length: number;
  item(index: number): any;
  [Symbol.iterator](): IterableIterator<any>;
}
