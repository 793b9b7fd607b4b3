// Names of types, as they are shown.

const NAMES = {
  bool: "boolean",
  number: "number",
  string: "string",
  bigint: "bigint",
  undefined: "undefined",
  null: "null",
  BooleanObject: "Boolean object",
  NumberObject: "Number object",
  BigIntObject: "BigInt object",
  StringObject: "String object",
  UNREADABLE: "unreadable",
};

/** A value's type as it is shown: JavaScript's name of it. */
export const typeName = (t) => NAMES[t] ?? t;

/** Types that searching by type takes, for a list to choose from. */
export const SEARCHED = [
  "Array",
  "ArrayBuffer",
  "ArrayBufferView",
  "BigInt",
  "Blob",
  "CryptoKey",
  "Date",
  "DOMException",
  "Error",
  "File",
  "FileList",
  "FileSystemHandle",
  "ImageBitmap",
  "ImageData",
  "Map",
  "RegExp",
  "Set",
];
