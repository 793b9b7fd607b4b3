// What a value consists of: the parts of each type, named, in the order they are shown.
import { counted, nameText, sizeText } from "./text.js";

const isSimple = new Set(["undefined", "null", "bool", "number", "bigint", "string"]);
export const isPrimitive = (node) => isSimple.has(node.t);

/** Views of buffers: bytes an element, and how one is read. */
export const VIEWS = {
  Int8Array: [1, "getInt8"],
  Uint8Array: [1, "getUint8"],
  Uint8ClampedArray: [1, "getUint8"],
  Int16Array: [2, "getInt16"],
  Uint16Array: [2, "getUint16"],
  Int32Array: [4, "getInt32"],
  Uint32Array: [4, "getUint32"],
  Float16Array: [2, null],
  Float32Array: [4, "getFloat32"],
  Float64Array: [8, "getFloat64"],
  BigInt64Array: [8, "getBigInt64"],
  BigUint64Array: [8, "getBigUint64"],
  DataView: [1, "getUint8"],
};
const isView = (t) => Object.hasOwn(VIEWS, t);
const isBlob = (t) => t === "Blob" || t === "File";

/** A part: how it is named, in which role (`property`, `item`, `entry`, `fact`), and what it is. */
const part = (name, role, node) => ({ name, role, node });
const textNode = (text) =>
  typeof text === "string" ? { t: "string", v: text } : { t: "string", utf16: text?.utf16 ?? "" };
const jsonPart = (name, value) => part(name, "fact", { t: "(json)", value });

const ARRAY_INDEX = /^(0|[1-9]\d{0,9})$/;
const isArrayIndex = (name) => typeof name === "string" && ARRAY_INDEX.test(name) && Number(name) < 4294967295;

function arrayParts(node) {
  const parts = [];
  let next = 0;
  const hole = (from, to) => {
    if (to > from)
      parts.push(part(to - from === 1 ? `${from}` : `${from} … ${to - 1}`, "hole", { t: "(hole)", count: to - from }));
  };
  let isElements = true;
  for (const [name, value] of node.props) {
    if (isElements && isArrayIndex(name)) {
      hole(next, Number(name));
      next = Number(name) + 1;
      parts.push(part(name, "item", value));
    } else {
      if (isElements && !node.left) hole(next, node.length);
      isElements = false;
      parts.push(part(name, "property", value));
    }
  }
  if (isElements && !node.left) hole(next, node.length);
  return parts;
}

function errorParts(node) {
  const parts = [part("message", "fact", textNode(node.message))];
  if (node.proto !== undefined && node.proto !== node.name) parts.push(part("prototype", "fact", textNode(node.proto)));
  if (node.stack !== undefined) parts.push(part("stack", "fact", textNode(node.stack)));
  if (node.cause) parts.push(part("cause", "property", node.cause));
  return parts;
}

const MAKERS = {
  Object: (node) => node.props.map(([name, value]) => part(name, "property", value)),
  Array: arrayParts,
  Map: (node) =>
    node.entries.map(([key, value], at) =>
      isPrimitive(key)
        ? { ...part(null, "keyed", value), key }
        : part(String(at), "entry", { t: "(entry)", parts: [part("key", "fact", key), part("value", "fact", value)] }),
    ),
  Set: (node) => node.entries.map((value, at) => part(String(at), "item", value)),
  Error: errorParts,
  DOMException: (node) => [
    part("name", "fact", textNode(node.name)),
    part("message", "fact", textNode(node.message)),
    part("code", "fact", { t: "number", v: String(node.code) }),
  ],
  ArrayBuffer: (node) => [part("bytes", "content", { t: "(bytes)", bytes: node.bytes })],
  FileList: (node) => (node.files ?? []).map((file, at) => part(String(at), "item", file)),
  Blob: (node) => [part("content", "content", { t: "(blob)", blob: node })],
  ImageData: (node) => [
    part("picture", "content", { t: "(picture)", image: node, bytes: node.bytes }),
    part("bytes", "content", { t: "(bytes)", bytes: node.bytes }),
  ],
  ImageBitmap: (node) =>
    node.rgba
      ? [
          part("picture", "content", { t: "(picture)", image: node, bytes: node.rgba }),
          part("bytes", "content", { t: "(bytes)", bytes: node.rgba }),
        ]
      : [],
  CryptoKey: (node) => [
    jsonPart("extractable", node.extractable),
    jsonPart("usages", node.usages),
    jsonPart("algorithm", node.algorithm),
  ],
};
MAKERS.File = (node) => [
  part("name", "fact", textNode(node.name)),
  part("last modified", "fact", { t: "Date", v: String(node.lastModified ?? "NaN") }),
  ...MAKERS.Blob(node),
];

const SHOWN = new Set([
  "t",
  "id",
  "props",
  "entries",
  "length",
  "left",
  "v",
  "utf16",
  "cut",
  "units",
  "name",
  "message",
  "proto",
  "stack",
  "cause",
  "has_stack",
  "source",
  "flags",
  "bytes",
  "byteOffset",
  "byteLength",
  "buffer",
  "lengthTracking",
  "maxByteLength",
  "immutable",
  "type",
  "size",
  "files",
  "lastModified",
  "object",
  "width",
  "height",
  "colorSpace",
  "pixel",
  "rgba",
  "extractable",
  "usages",
  "algorithm",
  "json",
  "kind",
  "error",
  "code",
]);

/** The parts of a node. */
export function partsOf(node) {
  if (node.t === "(entry)") return node.parts;
  if (node.t === "(json)") return jsonParts(node.value);
  const parts = MAKERS[node.t]?.(node) ?? [];
  if (isView(node.t)) {
    if (node.t !== "DataView") parts.push(part("elements", "content", { t: "(elements)", view: node }));
    parts.push(part("buffer", "fact", node.buffer));
  }
  if (node.json) parts.push(...jsonParts(node.json));
  if (node.error) parts.push(part("error", "fact", textNode(node.error)));
  for (const [name, value] of Object.entries(node))
    if (!SHOWN.has(name)) parts.push(jsonPart(name === "stored" ? "all that is stored" : name, value));
  if (node.left) parts.push(part(null, "left", { t: "(left)", count: node.left }));
  return parts;
}

const jsonParts = (value) =>
  typeof value === "object" && value !== null
    ? Object.entries(value).map(([name, member]) => jsonPart(name, member))
    : [];

/** What stands behind the type of a node that has parts, in words. */
export function summaryOf(node) {
  switch (node.t) {
    case "Object":
      return counted(node.props.length + (node.left ?? 0), "property", "properties");
    case "Array":
      return `${counted(node.length, "item")}`;
    case "Map":
    case "Set":
      return counted(
        node.entries.length + (node.left ?? 0),
        node.t === "Map" ? "entry" : "member",
        node.t === "Map" ? "entries" : "members",
      );
    case "ArrayBuffer":
      return [
        counted(node.bytes.len, "byte"),
        node.maxByteLength !== undefined && `may grow to ${counted(node.maxByteLength, "byte")}`,
        node.immutable && "immutable",
      ]
        .filter(Boolean)
        .join(", ");
    case "FileList":
      return counted(node.files?.length ?? 0, "file");
    case "Blob":
    case "File":
      return [
        node.size === undefined ? "size not known" : `${counted(node.size, "byte")} (${sizeText(node.size)})`,
        node.type === "" || node.type === undefined ? "no type" : null,
      ]
        .filter(Boolean)
        .join(", ");
    case "ImageData":
      return [`${node.width} × ${node.height}`, node.colorSpace, node.pixel].filter(Boolean).join(", ");
    case "ImageBitmap":
      return `${node.width} × ${node.height}`;
    case "(entry)":
      return "";
    case "(json)":
      return typeof node.value === "object" && node.value !== null
        ? ""
        : typeof node.value === "string"
          ? `"${node.value}"`
          : String(node.value);
    default:
  }
  if (isView(node.t)) {
    const place = `bytes ${node.byteOffset} to ${node.byteOffset + node.byteLength} of its buffer`;
    return [node.length !== undefined && counted(node.length, "element"), place, node.lengthTracking && "grows with it"]
      .filter(Boolean)
      .join(", ");
  }
  return "";
}

/** Where each object of a value is, by its id, and all blobs, in the order of the value. */
export function survey(root) {
  const places = new Map();
  const referred = new Set();
  const blobs = new Map();
  let count = 0;
  const open = [{ node: root, path: [] }];
  while (open.length > 0) {
    const { node, path } = open.pop();
    count++;
    if (node.t === "ref") referred.add(node.id);
    else if (node.id !== undefined) places.set(node.id, { node, path });
    if (isBlob(node.t)) blobs.set(node, node.object ?? blobs.size);
    if (node.t === "(json)") continue;
    const parts = partsOf(node);
    for (let at = parts.length - 1; at >= 0; at--)
      if (parts[at].node) open.push({ node: parts[at].node, path: [...path, at] });
  }
  return { places, referred, blobs, count };
}

/** The path of parts that a place of a search leads to (`.a[0]["b c"]<key 0>`), as far as it can be followed. */
export function followPlace(root, place) {
  const steps = [
    ...place.matchAll(/\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|<(key|value|member) (\d+)>/g),
  ];
  const path = [];
  let node = root;
  for (const [, name, index, quoted, role, number] of steps) {
    const parts = partsOf(node);
    let at = -1;
    if (role) at = Number(number);
    else {
      let wanted = name ?? index;
      if (quoted)
        try {
          wanted = JSON.parse(quoted);
        } catch {
          wanted = quoted;
        }
      at = parts.findIndex((each) => each.name !== null && nameText(each.name) === wanted);
    }
    if (at < 0 || !parts[at]) break;
    path.push(at);
    node = parts[at].node;
    if (node.t === "(entry)") {
      path.push(role === "key" ? 0 : 1);
      node = node.parts[role === "key" ? 0 : 1].node;
    }
  }
  return path;
}
