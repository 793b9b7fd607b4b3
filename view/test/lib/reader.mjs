// Reads what the page shows of a value back into canonical form, from the texts that are shown. A wrong text gives a wrong value.
import { createHash } from "node:crypto";

const UNITS_MAX = 512;
const BYTES_MAX = 256;

const digestOfText = (text) => {
  const bytes = Buffer.alloc(text.length * 2);
  for (let at = 0; at < text.length; at++) bytes.writeUInt16LE(text.charCodeAt(at), at * 2);
  return { units: text.length, sha256_utf16le: createHash("sha256").update(bytes).digest("hex") };
};
const isWellFormed = (text) => !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
const unitsOf = (text) =>
  [...Array(text.length).keys()].map((at) => text.charCodeAt(at).toString(16).padStart(4, "0")).join("");
const nameOf = (text) => (isWellFormed(text) ? text : { utf16: unitsOf(text) });
const stringMembers = (text) =>
  text.length > UNITS_MAX ? digestOfText(text) : isWellFormed(text) ? { v: text } : { utf16: unitsOf(text) };
const digestOfBytes = (bytes) =>
  bytes.length > BYTES_MAX
    ? { len: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }
    : { len: bytes.length, hex: bytes.toString("hex") };

/** What is rendered, as plain objects: runs in the page. Opens everything, and loads what is cut. */
export async function rendered(page) {
  // As a text: what is nested deeply does not come as an object.
  return JSON.parse(
    await page.evaluate(async () => {
      const settle = (ms = 0) =>
        new Promise((resolve) => {
          setTimeout(resolve, ms);
        });
      // Rows follow a scroll position or a height in the frame after.
      const drawn = () =>
        new Promise((resolve) => {
          requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)));
        });
      const tree = () => document.querySelector("#detail .value-tree");
      const more = () =>
        [...tree().querySelectorAll("button.inline")].find(
          (button) => button.checkVisibility() && /^(Load more|Show all)/.test(button.textContent),
        );
      const openAll = async () => {
        for (;;) {
          const closed = [...tree().querySelectorAll('.node[aria-expanded="false"] > .line > .twist')];
          if (closed.length === 0) return;
          closed.forEach((twist) => twist.click());
          await settle();
        }
      };
      await openAll();
      for (let button = more(); button; button = more()) {
        const before = tree();
        const isLoading = button.textContent === "Load more";
        button.click();
        while (isLoading && tree() === before) await settle(10);
        await openAll();
      }
      const ESCAPES = { "\\t": "\t", "\\n": "\n", "\\r": "\r" };
      const textIn = (element) => {
        let text = "";
        for (const child of element.childNodes) {
          if (child.nodeType === Node.TEXT_NODE) text += child.data;
          else if (child.classList.contains("escape"))
            text +=
              ESCAPES[child.textContent] ??
              String.fromCodePoint(parseInt(child.textContent.replace(/^\\u\{?/, ""), 16));
          else if (child.tagName === "BUTTON") throw new Error(`not all of it is shown: ${child.textContent}`);
          else text += textIn(child);
        }
        return text;
      };
      // All rows, or of very many the first and the last: [index, what is read].
      const rowsOf = async (element, rowName, read) => {
        const rows = [];
        for (const top of [0, element.scrollHeight]) {
          element.scrollTop = top;
          await drawn();
          rows.push(...[...element.querySelectorAll(rowName)].map(read));
        }
        return rows;
      };
      const whole = async (element, rowName, read) => {
        const { height } = element.style;
        element.style.height = `${element.scrollHeight + 100}px`;
        await drawn();
        const rows = [...element.querySelectorAll(rowName)].map(read);
        element.style.height = height;
        return rows;
      };
      const readNode = async (node) => {
        const line = node.querySelector(":scope > .line");
        const part = (name) => {
          const found = line.querySelector(`:scope > .${name}`);
          return found ? textIn(found) : undefined;
        };
        const named = line.querySelector(":scope > .name");
        const shown = {
          role: [...line.classList].find((name) => name.startsWith("line-")).slice(5),
          name: named ? (named.classList.contains("without-name") ? "" : textIn(named)) : undefined,
          type: part("type"),
          number: part("object-number"),
          text: part("text"),
          reference: line.querySelector(":scope > .reference")?.textContent,
          dim: part("dim"),
          children: [],
        };
        for (const child of node.querySelectorAll(":scope > ul > .node")) shown.children.push(await readNode(child));
        const content = node.querySelector(":scope > .content");
        const hex = content?.querySelector(".hex");
        if (hex && !content.querySelector(".blob"))
          shown.hex = (
            await whole(hex, ".hex-row", (row) => row.querySelector(".hex-bytes").textContent.replaceAll(" ", ""))
          ).join("");
        const elements = content?.querySelector(".elements");
        const element = (row) => [
          Number(row.querySelector(".element-index").textContent),
          row.querySelector(".element-value").textContent,
        ];
        if (elements)
          shown.elements = await (elements.scrollHeight < 200_000 ? whole : rowsOf)(elements, ".element-row", element);
        return shown;
      };
      return JSON.stringify(await readNode(tree().firstChild));
    }),
  );
}

const TYPES = {
  boolean: "bool",
  "Boolean object": "BooleanObject",
  "Number object": "NumberObject",
  "BigInt object": "BigIntObject",
  "String object": "StringObject",
};
const WIDTHS = {
  Int8Array: 1,
  Uint8Array: 1,
  Uint8ClampedArray: 1,
  Int16Array: 2,
  Uint16Array: 2,
  Float16Array: 2,
  Int32Array: 4,
  Uint32Array: 4,
  Float32Array: 4,
  Float64Array: 8,
  BigInt64Array: 8,
  BigUint64Array: 8,
};

const inQuotes = (text) => {
  if (!/^".*"$/s.test(text)) throw new Error(`no text in quotation marks: ${text.slice(0, 80)}`);
  return text.slice(1, -1);
};
const numberIn = (text, pattern) => {
  const found = pattern.exec(text);
  if (!found) throw new Error(`"${text}" is not ${pattern}`);
  return found.slice(1).map((digits) => Number(digits.replaceAll(",", "")));
};

/** Makes canonical values of what was rendered. Objects get their numbers in the order that they are met in. */
export class Reading {
  constructor() {
    this.next = 0;
    this.numbers = new Map();
    this.buffers = new Map();
  }

  /** The children without stretches. */
  static #children(shown) {
    return shown.children.flatMap((child) => (child.role === "stretch" ? Reading.#children(child) : [child]));
  }

  #fact(shown, name) {
    const found = shown.children.find((child) => child.role === "fact" && child.name === name);
    if (!found) throw new Error(`${shown.type} has no "${name}"`);
    return found;
  }

  static #json(shown) {
    if (shown.text === undefined || shown.children.length > 0 || shown.text === "") {
      const members = shown.children.map((child) => [child.name, Reading.#json(child)]);
      return members.every(([name], at) => name === String(at))
        ? members.map(([, value]) => value)
        : Object.fromEntries(members);
    }
    if (/^".*"$/s.test(shown.text)) return shown.text.slice(1, -1);
    return JSON.parse(shown.text);
  }

  #primitive(type, text) {
    switch (type) {
      case "string":
        return { t: "string", ...stringMembers(inQuotes(text)) };
      case "number":
        return { t: "number", v: text };
      case "bigint":
        return { t: "bigint", v: text.replace(/n$/, "") };
      case "bool":
        return { t: "bool", v: JSON.parse(text) };
      default:
        return { t: type };
    }
  }

  /** A key of a map that is a primitive: its type is seen by how it is written. */
  #mapKey(text) {
    if (/^"/.test(text)) return this.#primitive("string", text);
    if (/^-?\d+n$/.test(text)) return this.#primitive("bigint", text);
    if (/^(true|false)$/.test(text)) return this.#primitive("bool", text);
    if (/^(null|undefined)$/.test(text)) return { t: text };
    return this.#primitive("number", text);
  }

  value(shown) {
    if (shown.type === "reference") {
      const [number] = numberIn(shown.reference, /#(\d+)$/);
      if (!this.numbers.has(number)) throw new Error(`#${number} is not shown anywhere before`);
      return { t: "ref", id: this.numbers.get(number) };
    }
    const t = TYPES[shown.type] ?? shown.type;
    if (["string", "number", "bigint", "bool", "undefined", "null"].includes(t)) {
      if (/^(null|undefined)$/.test(t) && shown.text !== t) throw new Error(`${t} is shown as ${shown.text}`);
      return this.#primitive(t, shown.text);
    }
    const id = this.next++;
    if (shown.number) this.numbers.set(Number(shown.number.slice(1)), id);
    return { t, id, ...this.#members(t, shown, id) };
  }

  #members(t, shown, id) {
    const { text } = shown;
    const children = Reading.#children(shown);
    const properties = () =>
      children
        .filter(({ role }) => role === "property" || role === "item")
        .map((child) => [nameOf(child.name), this.value(child)]);
    if (t in WIDTHS || t === "DataView") return this.#view(t, shown);
    switch (t) {
      case "Object":
        return { props: properties() };
      case "Array":
        return { length: this.#length(text, children), props: properties() };
      case "Map":
        return {
          entries: children.map((child) =>
            child.role === "keyed"
              ? [this.#mapKey(child.name), this.value(child)]
              : child.children.map((half) => this.value(half)),
          ),
        };
      case "Set":
        return { entries: children.map((child) => this.value(child)) };
      case "Date":
        return { v: text === "invalid date" ? "NaN" : String(Date.parse(text)) };
      case "RegExp":
        return { source: nameOf(text.slice(1, text.lastIndexOf("/"))), flags: text.slice(text.lastIndexOf("/") + 1) };
      case "BooleanObject":
        return { v: JSON.parse(text) };
      case "NumberObject":
        return { v: text };
      case "BigIntObject":
        return { v: text.replace(/n$/, "") };
      case "StringObject":
        return stringMembers(inQuotes(text));
      case "Error":
        return this.#error(shown, children);
      case "DOMException":
        return {
          name: nameOf(inQuotes(this.#fact(shown, "name").text)),
          message: nameOf(inQuotes(this.#fact(shown, "message").text)),
          code: Number(this.#fact(shown, "code").text),
        };
      case "ArrayBuffer":
        return this.#buffer(shown, id);
      case "Blob":
      case "File":
        return this.#blob(t, shown);
      case "FileList":
        return { files: children.map((child) => this.value(child)) };
      case "ImageData":
        return this.#imageData(shown, children);
      case "ImageBitmap": {
        const [width, height] = numberIn(text, /^(\d+) × (\d+)$/);
        return { width, height };
      }
      case "CryptoKey":
        return {
          type: text.split(",")[0],
          extractable: Reading.#json(this.#fact(shown, "extractable")),
          usages: Reading.#json(this.#fact(shown, "usages")),
          algorithm: Reading.#json(this.#fact(shown, "algorithm")),
        };
      case "FileSystemFileHandle":
      case "FileSystemDirectoryHandle":
        return {};
      default:
        if (!/^DOM/.test(t)) throw new Error(`unknown type: ${t}`);
        return { json: Object.fromEntries(children.map((child) => [child.name, Reading.#json(child)])) };
    }
  }

  /** Holes that are shown and elements have to make up the length. */
  #length(text, children) {
    const [length] = numberIn(text, /^([\d,]+) items?$/);
    const items = children.filter(({ role }) => role === "item").length;
    const holes = children
      .filter(({ role }) => role === "hole")
      .reduce((sum, { dim }) => sum + numberIn(dim, /^([\d,]+) holes?$/)[0], 0);
    if (items + holes !== length) throw new Error(`${items} items and ${holes} holes of ${length}`);
    return length;
  }

  #error(shown, children) {
    const cause = children.find(({ name }) => name === "cause");
    const prototype = children.find(({ name }) => name === "prototype");
    return {
      name: shown.text,
      message: nameOf(inQuotes(this.#fact(shown, "message").text)),
      proto: prototype ? inQuotes(prototype.text) : shown.text,
      ...(cause ? { cause: this.value(cause) } : {}),
    };
  }

  #buffer(shown, id) {
    const [length] = numberIn(shown.text, /^([\d,]+) bytes?/);
    const bytes = Buffer.from(shown.children.find(({ name }) => name === "bytes").hex, "hex");
    if (bytes.length !== length) throw new Error(`${length} bytes are said, ${bytes.length} shown`);
    this.buffers.set(id, bytes);
    const grows = /may grow to ([\d,]+) byte/.exec(shown.text);
    return { bytes: digestOfBytes(bytes), ...(grows ? { maxByteLength: Number(grows[1].replaceAll(",", "")) } : {}) };
  }

  #view(t, shown) {
    const [from, to] = numberIn(shown.text, /bytes ([\d,]+) to ([\d,]+) of/);
    const buffer = this.value(this.#fact(shown, "buffer"));
    const members = { byteOffset: from, byteLength: to - from };
    if (t === "DataView") return { ...members, buffer };
    const { elements } = shown.children.find(({ name }) => name === "elements");
    const [length] = numberIn(shown.text, /^([\d,]+) element/);
    const seen = new Map(elements);
    const isWhole = length < 4000 ? seen.size === length : seen.has(0) && seen.has(length - 1) && seen.size > 10;
    if (!isWhole) throw new Error(`${length} elements are said, ${seen.size} shown`);
    const bytes = this.buffers.get(buffer.id).subarray(from, to);
    this.#compareElements(
      t,
      [...seen.values()],
      Buffer.concat([...seen.keys()].map((at) => bytes.subarray(at * WIDTHS[t], (at + 1) * WIDTHS[t]))),
    );
    return { ...members, length, buffer };
  }

  /** The elements that are shown have to have the bytes of their buffer. */
  #compareElements(t, elements, bytes) {
    if (t === "Float16Array") return;
    const Kind = globalThis[t];
    const made = /^Big/.test(t)
      ? Kind.from(elements, (text) => BigInt(text.replace(/n$/, "")))
      : Kind.from(elements, Number);
    const again = Buffer.from(made.buffer);
    // One NaN is shown as any other.
    const areSame = /^Float/.test(t)
      ? made.every((element, at) => Object.is(element, new Kind(Uint8Array.from(bytes).buffer)[at]))
      : again.equals(bytes);
    if (!areSame) throw new Error(`${t}: the elements are not those of its bytes`);
  }

  #blob(t, shown) {
    const [size] = numberIn(shown.text, /^([\d,]+) bytes? \(/);
    const type = /, no type$/.test(shown.text) ? "" : shown.text.slice(shown.text.indexOf("), ") + 3);
    if (t === "Blob") return { type, size };
    return {
      name: nameOf(inQuotes(this.#fact(shown, "name").text)),
      lastModified: Date.parse(this.#fact(shown, "last modified").text),
      type,
      size,
    };
  }

  #imageData(shown, children) {
    const [width, height] = numberIn(shown.text, /^(\d+) × (\d+)/);
    const [, colorSpace, pixel] =
      shown.text.split(", ").length === 3 ? shown.text.split(", ") : [undefined, undefined, shown.text.split(", ")[1]];
    const bytes = Buffer.from(children.find(({ name }) => name === "bytes").hex, "hex");
    return { width, height, ...(colorSpace ? { colorSpace } : {}), pixel, bytes: digestOfBytes(bytes) };
  }
}

/** What an expectation says beyond what the value's row says: contents of blobs are compared by downloads. */
export function comparable(node) {
  if (node === null || typeof node !== "object") return node;
  if (Array.isArray(node)) return node.map(comparable);
  const { ...members } = node;
  if (node.t === "Blob" || node.t === "File") delete members.bytes;
  if (node.t === "CryptoKey") delete members.jwk;
  if (node.t === "ImageBitmap") delete members.rgba;
  if (node.t === "Error") delete members.has_stack;
  if (/^FileSystem/.test(node.t ?? "")) {
    delete members.name;
    delete members.kind;
  }
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, comparable(value)]));
}
