// Blob, File and FileList (File API, 3 to 5). A blob's bytes are an ArrayBuffer that is never changed, or
// lie in the store and are read when asked for.
import { exposeInterface, INTERNAL, requireArguments, stamp, stateOf, webidl } from "./binding.js";
import { make } from "../clone/helpers.js";
import { crypto } from "./crypto.js";
import { encodeUtf8, TextDecoder } from "./encoding.js";
import { native } from "./native.js";

const { toDictionary, toDOMString } = webidl;

class BlobState {
  constructor(source, start, end, type) {
    // {buffer}, or {handle} of bytes that are not this realm's own
    this.source = source;
    this.start = start;
    this.end = end;
    this.type = type;
  }

  get size() {
    return this.end - this.start;
  }

  get cloneKind() {
    return "Blob";
  }

  // A copy of its bytes.
  bytes() {
    const buffer = this.source.buffer ?? native.engine.readBlob(this.source.handle);
    return buffer.slice(this.start, this.end);
  }
}

class FileState extends BlobState {
  constructor(source, start, end, type, name, lastModified) {
    super(source, start, end, type);
    this.name = name;
    this.lastModified = lastModified;
  }

  get cloneKind() {
    return "File";
  }
}

// Types are ASCII without control characters, in lower case.
function cleanType(value) {
  const type = toDOMString(value);
  return /^[\x20-\x7e]*$/.test(type) ? type.toLowerCase() : "";
}

function partBytes(part, endings) {
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  if (part instanceof Blob) return new Uint8Array(stateOf(part, BlobState).bytes());
  const text = toDOMString(part);
  return encodeUtf8(endings === "native" ? text.replace(/\r?\n|\r/g, "\n") : text);
}

function join(parts, endings) {
  if (parts === undefined) return new ArrayBuffer(0);
  if (parts === null || typeof parts !== "object" || typeof parts[Symbol.iterator] !== "function") {
    throw new TypeError("the parts of a blob are not a sequence");
  }
  const all = [...parts].map((part) => partBytes(part, endings));
  const joined = new Uint8Array(all.reduce((sum, bytes) => sum + bytes.length, 0));
  let at = 0;
  for (const bytes of all) {
    joined.set(bytes, at);
    at += bytes.length;
  }
  return joined.buffer;
}

// As WebIDL's [Clamp] has it: to the nearest whole number, of two the even one.
function clampToWhole(number) {
  const below = Math.floor(number);
  const part = number - below;
  return (part === 0.5 ? below + Math.abs(below % 2) : Math.round(number)) || 0;
}

export class Blob {
  constructor(parts = undefined, options = undefined) {
    if (parts === INTERNAL) {
      stamp(this, options);
      return;
    }
    const { endings, type } = toDictionary(options, "BlobPropertyBag");
    const buffer = join(parts, endings);
    stamp(this, new BlobState({ buffer }, 0, buffer.byteLength, type === undefined ? "" : cleanType(type)));
  }
  get size() {
    return stateOf(this, BlobState).size;
  }
  get type() {
    return stateOf(this, BlobState).type;
  }
  slice(start = 0, end = undefined, contentType = "") {
    const state = stateOf(this, BlobState);
    const { size } = state;
    const clamp = (value, otherwise) => {
      if (value === undefined) return otherwise;
      const whole = clampToWhole(+value);
      return whole < 0 ? Math.max(size + whole, 0) : Math.min(whole, size);
    };
    const from = clamp(start, 0);
    const to = Math.max(clamp(end, size), from);
    const type = cleanType(contentType);
    return new Blob(INTERNAL, new BlobState(state.source, state.start + from, state.start + to, type));
  }
  async arrayBuffer() {
    return stateOf(this, BlobState).bytes();
  }
  async bytes() {
    return new Uint8Array(stateOf(this, BlobState).bytes());
  }
  async text() {
    return new TextDecoder().decode(stateOf(this, BlobState).bytes());
  }
}
exposeInterface(Blob, "Blob");

export class File extends Blob {
  constructor(parts, name = undefined, options = undefined) {
    if (parts === INTERNAL) {
      super(INTERNAL, name);
      return;
    }
    requireArguments(arguments.length, 2, "File");
    const { endings, type, lastModified } = toDictionary(options, "FilePropertyBag");
    const buffer = join(parts, endings);
    const modified = lastModified === undefined ? Date.now() : Math.trunc(+lastModified) || 0;
    const kind = type === undefined ? "" : cleanType(type);
    super(INTERNAL, new FileState({ buffer }, 0, buffer.byteLength, kind, toDOMString(name).toWellFormed(), modified));
  }
  get name() {
    return stateOf(this, FileState).name;
  }
  get lastModified() {
    return stateOf(this, FileState).lastModified;
  }
  get webkitRelativePath() {
    stateOf(this, FileState);
    return "";
  }
}
exposeInterface(File, "File");
Object.defineProperty(File, "length", { value: 2, configurable: true });

class FileListState {
  constructor(files) {
    this.files = files;
  }

  get cloneKind() {
    return "FileList";
  }

  cloneFields() {
    return this.files;
  }
}

export class FileList {
  constructor(token = undefined, state = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: FileList");
    stamp(this, state);
    state.files.forEach((value, i) => Object.defineProperty(this, i, { value, enumerable: true, configurable: true }));
  }
  get length() {
    return stateOf(this, FileListState).files.length;
  }
  item(index) {
    return stateOf(this, FileListState).files[index >>> 0] ?? null;
  }
}
exposeInterface(FileList, "FileList");
Object.defineProperty(FileList.prototype, Symbol.iterator, {
  value: Array.prototype[Symbol.iterator],
  writable: true,
  configurable: true,
});

export const blobBytes = (blob) => stateOf(blob, BlobState).bytes();
export const blobType = (blob) => stateOf(blob, BlobState).type;

// What structured clone needs.
make.fileList = (files) => new FileList(INTERNAL, new FileListState(files));
make.cloneBlob = (blob) => {
  const state = stateOf(blob, BlobState);
  const { source, start, end, type } = state;
  return state instanceof FileState
    ? new File(INTERNAL, new FileState(source, start, end, type, state.name, state.lastModified))
    : new Blob(INTERNAL, new BlobState(source, start, end, type));
};
make.blobContent = (blob) => {
  const state = stateOf(blob, BlobState);
  return [state.type, state.bytes(), state.name, state.lastModified];
};
const released = new FinalizationRegistry((handle) => native.engine.release(handle));
// A part of a content that is not this realm's own.
make.keptBlob = (handle, start, end, type, name, lastModified) => {
  const source = { handle };
  released.register(source, handle);
  return name === undefined
    ? new Blob(INTERNAL, new BlobState(source, start, end, type))
    : new File(INTERNAL, new FileState(source, start, end, type, name, lastModified));
};
// What another realm needs. The bytes leave this realm's memory for that of all.
make.shareBlob = (blob) => {
  const state = stateOf(blob, BlobState);
  const { source } = state;
  if (source.handle === undefined) {
    source.handle = native.engine.keepBlob(source.buffer);
    source.buffer = undefined;
    released.register(source, source.handle);
  }
  return [state.type, source.handle, state.start, state.end, state.name, state.lastModified];
};

// blob: URLs (File API, 8). From the first worker on, those of each realm are all realms'.
const urls = new Map();
let arePublished = false;

export function publishBlobs() {
  if (arePublished) return;
  arePublished = true;
  for (const [url, blob] of urls) native.realms.publishBlob(url, blob);
}

export function createObjectURL(blob) {
  stateOf(blob, BlobState);
  const url = `blob:${native.origin}/${crypto.randomUUID()}`;
  if (arePublished || !native.realms.isAlone()) native.realms.publishBlob(url, blob);
  else urls.set(url, blob);
  return url;
}

export function revokeObjectURL(url) {
  const text = toDOMString(url).toWellFormed();
  urls.delete(text);
  native.realms.withdrawBlob(text);
}

export const blobOfUrl = (url) => (arePublished ? undefined : urls.get(url)) ?? native.realms.publishedBlob(url.toWellFormed());
