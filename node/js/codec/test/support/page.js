// The page that wrote the golden stores, as far as it describes a value: fixtures/generate/page/dump.js, unchanged, with what it finds in
// a page of what Node has not.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import { describe } from "./beside.js";
import { ROOT } from "./judge.js";

const source = fs.readFileSync(path.join(ROOT, "fixtures/generate/page/dump.js"), "utf8");
const exported = source.replace("fixture.databaseNames =", "fixture.valueNode = valueNode; fixture.databaseNames =");
assert.notEqual(exported, source);
const self = { __proto__: globalThis, fixture: {} };
// Pixels and the content of blobs are not compared.
class FileReader {
  readAsArrayBuffer() {
    this.result = new ArrayBuffer(0);
    queueMicrotask(() => this.onload());
  }
}
const context = { drawImage() {}, getImageData: () => ({ data: new Uint8Array(0) }) };
const document = { createElement: () => ({ getContext: () => context }) };
new Function("self", "document", "FileReader", exported)(self, document, FileReader);

// The page's account of a value.
export const { valueNode } = self.fixture;

const tagged = (name, members) => Object.defineProperty({ ...members }, Symbol.toStringTag, { value: name });
const lower = Math.min;
const upper = Math.max;

// The attributes that the page looks at, as the specifications have them.
const make = {
  __proto__: null,
  DOMRect({ x, y, width, height }) {
    const [right, bottom] = [x + width, y + height];
    return { x, y, width, height, top: lower(y, bottom), right: upper(x, right), bottom: upper(y, bottom), left: lower(x, right) };
  },
  DOMQuad: ({ p1, p2, p3, p4 }) => ({ p1, p2, p3, p4 }),
  DOMMatrix({ is2D, members }) {
    const matrix = {};
    members.forEach((member, at) => (matrix[`m${Math.floor(at / 4) + 1}${(at % 4) + 1}`] = member));
    const [a, b, c, d, e, f] = [0, 1, 4, 5, 12, 13].map((at) => members[at]);
    return { ...matrix, a, b, c, d, e, f, is2D, isIdentity: members.every((m, at) => m === (at % 5 === 0 ? 1 : 0)) };
  },
  ImageBitmap({ width, height, orientation }) {
    return orientation < 4 ? { width, height } : { width: height, height: width };
  },
};
make.DOMRectReadOnly = make.DOMRect;
make.DOMMatrixReadOnly = make.DOMMatrix;

export const page = {
  describe,
  make(description) {
    const members = make[description.class];
    return members === undefined ? undefined : tagged(description.class, members(description));
  },
};
