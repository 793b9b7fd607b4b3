// The tag bytes of V8's value serialiser, each named once. Sources and shapes: docs/format/values.md, part 2. Blink's stand in host/tags.js.

export const VERSION = 0xff;
export const PADDING = 0;
export const OBJECT_COUNT = 0x3f; // ?
export const HOLE = 0x2d; // -
export const UNDEFINED = 0x5f; // _
export const NULL = 0x30; // 0
export const TRUE = 0x54; // T
export const FALSE = 0x46; // F
export const INT32 = 0x49; // I
export const UINT32 = 0x55; // U
export const DOUBLE = 0x4e; // N
export const BIGINT = 0x5a; // Z
export const UTF8_STRING = 0x53; // S
export const ONE_BYTE_STRING = 0x22; // "
export const TWO_BYTE_STRING = 0x63; // c
export const REFERENCE = 0x5e; // ^
export const BEGIN_OBJECT = 0x6f; // o
export const END_OBJECT = 0x7b; // {
export const BEGIN_SPARSE_ARRAY = 0x61; // a
export const END_SPARSE_ARRAY = 0x40; // @
export const BEGIN_DENSE_ARRAY = 0x41; // A
export const END_DENSE_ARRAY = 0x24; // $
export const DATE = 0x44; // D
export const TRUE_OBJECT = 0x79; // y
export const FALSE_OBJECT = 0x78; // x
export const NUMBER_OBJECT = 0x6e; // n
export const BIGINT_OBJECT = 0x7a; // z
export const STRING_OBJECT = 0x73; // s
export const REGEXP = 0x52; // R
export const BEGIN_MAP = 0x3b; // ;
export const END_MAP = 0x3a; // :
export const BEGIN_SET = 0x27; // '
export const END_SET = 0x2c; // ,
export const ARRAY_BUFFER = 0x42; // B
export const IMMUTABLE_ARRAY_BUFFER = 0x43; // C
export const RESIZABLE_ARRAY_BUFFER = 0x7e; // ~
export const VIEW = 0x56; // V
export const HOST_OBJECT = 0x5c; // \
export const ERROR = 0x72; // r

// Inside an error.
export const ERROR_MESSAGE = 0x6d; // m
export const ERROR_CAUSE = 0x63; // c
export const ERROR_STACK = 0x73; // s
export const ERROR_END = 0x2e; // .
export const ERROR_TYPES = {
  __proto__: null,
  EvalError: 0x45, // E
  RangeError: 0x52, // R
  ReferenceError: 0x46, // F
  SyntaxError: 0x53, // S
  TypeError: 0x54, // T
  URIError: 0x55, // U
};

// Tags that only messages have: they name something outside the bytes.
export const TRANSFERS = {
  __proto__: null,
  0x74: "transferred ArrayBuffer in a stored value",
  0x75: "SharedArrayBuffer in a stored value",
  0x45: "shared immutable ArrayBuffer in a stored value",
  0x70: "shared object in a stored value",
  0x77: "transferred WebAssembly module in a stored value",
  0x6d: "transferred WebAssembly memory in a stored value",
};

// Flags of a view.
export const LENGTH_TRACKING = 1;
export const BACKED_BY_RESIZABLE = 2;

// The classes of views: tag, name, bytes of an element.
export const VIEWS = [
  [0x62, "Int8Array", 1], // b
  [0x42, "Uint8Array", 1], // B
  [0x43, "Uint8ClampedArray", 1], // C
  [0x77, "Int16Array", 2], // w
  [0x57, "Uint16Array", 2], // W
  [0x64, "Int32Array", 4], // d
  [0x44, "Uint32Array", 4], // D
  [0x68, "Float16Array", 2], // h
  [0x66, "Float32Array", 4], // f
  [0x46, "Float64Array", 8], // F
  [0x71, "BigInt64Array", 8], // q
  [0x51, "BigUint64Array", 8], // Q
  [0x3f, "DataView", 1], // ?
];

// Letters of a regular expression's flags, and their bits, in the order of `flags`.
export const REGEXP_FLAGS = [
  ["d", 1 << 7],
  ["g", 1 << 0],
  ["i", 1 << 1],
  ["m", 1 << 2],
  ["s", 1 << 5],
  ["u", 1 << 4],
  ["v", 1 << 8],
  ["y", 1 << 3],
];

// Containers one inside the other that are taken, and written.
export const DEPTH_MAX = 100_000;
