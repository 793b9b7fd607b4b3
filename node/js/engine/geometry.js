// Geometry and pictures of a runtime that has such classes (Deno), for the codec: descriptions as codec/stored.js has them, and objects of them.
const { DOMMatrix, DOMMatrixReadOnly, DOMPoint, DOMPointReadOnly, DOMQuad, DOMRect, DOMRectReadOnly, ImageData } = globalThis;

const MEMBERS = Array.from({ length: 16 }, (_, i) => `m${1 + Math.floor(i / 4)}${1 + (i % 4)}`);
// The places of those that a matrix in two dimensions is made of.
const FLAT = [0, 1, 4, 5, 12, 13];

const pick = (object, names) => Object.fromEntries(names.map((name) => [name, object[name]]));
const point = (object) => pick(object, ["x", "y", "z", "w"]);
const rect = (object) => pick(object, ["x", "y", "width", "height"]);
const matrix = (object) => ({ is2D: object.is2D, members: MEMBERS.map((name) => object[name]) });
const madePoint = (Class) => ({ x, y, z, w }) => new Class(x, y, z, w);
const madeRect = (Class) => ({ x, y, width, height }) => new Class(x, y, width, height);
const madeMatrix = (Class) => ({ is2D, members }) => new Class(is2D ? FLAT.map((at) => members[at]) : members);

// Derived classes before those that they derive from. What the runtime has not is left out.
const CLASSES = [
  ["DOMPoint", DOMPoint, point, madePoint(DOMPoint)],
  ["DOMPointReadOnly", DOMPointReadOnly, point, madePoint(DOMPointReadOnly)],
  ["DOMRect", DOMRect, rect, madeRect(DOMRect)],
  ["DOMRectReadOnly", DOMRectReadOnly, rect, madeRect(DOMRectReadOnly)],
  ["DOMQuad", DOMQuad, ({ p1, p2, p3, p4 }) => ({ p1: point(p1), p2: point(p2), p3: point(p3), p4: point(p4) }), ({ p1, p2, p3, p4 }) => new DOMQuad(p1, p2, p3, p4)],
  ["DOMMatrix", DOMMatrix, matrix, madeMatrix(DOMMatrix)],
  ["DOMMatrixReadOnly", DOMMatrixReadOnly, matrix, madeMatrix(DOMMatrixReadOnly)],
  ["ImageData", ImageData, image, madeImage],
].filter(([, Class]) => typeof Class === "function");

function image({ width, height, colorSpace = "srgb", pixelFormat = "rgba-unorm8", data }) {
  return { width, height, colorSpace, pixelFormat, data };
}

function madeImage({ data, width, height, colorSpace, pixelFormat }) {
  return new ImageData(data, width, height, { colorSpace, pixelFormat });
}

// Undefined for what is of none of these classes.
export function describe(object) {
  for (const [name, Class, described] of CLASSES) if (object instanceof Class) return { class: name, ...described(object) };
  return undefined;
}

// Undefined for what the runtime has no class for.
export function make(description) {
  const found = CLASSES.find(([name]) => name === description.class);
  return found?.[3](description);
}
