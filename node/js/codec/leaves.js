// What has no values inside: wrappers, dates, buffers with their views, references, Blink's objects. The containers are in decode.js.
import { invalid, unknownTag, unsupported } from "./error.js";
import { readHost } from "./host/index.js";
import { newList } from "./list.js";
import { fits, GREATEST, v8Of } from "./needs.js";
import { Reader } from "./reader.js";
import { hidden, quietly } from "./realm.js";
import { byteLengthOf, isResizable } from "./slots.js";
import * as tags from "./tags.js";

const { apply, setPrototypeOf } = Reflect;
// Since this version strings in regular expressions and String objects have a tag.
const TAGGED_STRINGS_VERSION_MIN = 12;
// Since this version Blink's objects have a tag in front.
const HOST_TAG_VERSION_MIN = 13;

const FLAG_BITS = tags.REGEXP_FLAGS.reduce((all, [, bit]) => all | bit, 0);
const BOTH_UNICODES = (1 << 4) | (1 << 8);
const VIEWS = { __proto__: null };
for (const [tag, name, size] of tags.VIEWS) VIEWS[tag] = { name, size };

export class Leaves extends Reader {
  constructor(realm, platform, readIn) {
    super();
    this.realm = realm;
    this.platform = platform;
    this.readIn = readIn;
    // By number: the order in which the bytes introduce them. A view comes after its buffer.
    this.objects = newList();
    this.objectCount = 0;
    this.viewFlags = true;
    this.v8 = 0;
    this.blink = 0;
    // The versions to note of objects, or 0 if all are the newest.
    this.noted = 0;
    this.beside = undefined;
  }

  // Takes the versions of a value whose headers have been read, and what lies beside it.
  begin(version, beside) {
    this.v8 = v8Of(version);
    this.blink = version >> 8;
    this.beside = beside;
    const readIn = beside?.readIn ?? version;
    this.noted = fits(GREATEST, readIn) ? 0 : readIn;
    return this;
  }

  // Gives an object the next number.
  keep(object) {
    this.objects[this.objectCount++] = object;
    return object;
  }

  // Reads on behind the tag of an object without values inside.
  leaf(tag) {
    const { realm } = this;
    switch (tag) {
      case tags.DATE:
        return this.keep(new realm.Date(this.f64("date")));
      case tags.TRUE_OBJECT:
        return this.keep(realm.box(true));
      case tags.FALSE_OBJECT:
        return this.keep(realm.box(false));
      case tags.NUMBER_OBJECT:
        return this.keep(realm.box(this.f64("Number object")));
      case tags.BIGINT:
        return this.#bigint();
      case tags.BIGINT_OBJECT:
        return this.keep(realm.box(this.#bigint()));
      case tags.STRING_OBJECT:
        return this.keep(realm.box(this.taggedString()));
      case tags.REGEXP:
        return this.keep(this.#regexp());
      case tags.ARRAY_BUFFER:
      case tags.IMMUTABLE_ARRAY_BUFFER:
      case tags.RESIZABLE_ARRAY_BUFFER:
        return this.#viewBehind(this.keep(this.#buffer(tag)));
    }
    if (this.v8 < HOST_TAG_VERSION_MIN) this.at -= 1;
    else if (tag !== tags.HOST_OBJECT) throw unknownTag(this.at - 1, tags.TRANSFERS[tag] ?? "tag", tag);
    return this.keep(this.#host());
  }

  // A reference to an object that was introduced before (and may still be open).
  reference() {
    const at = this.at;
    const id = this.varint("object reference");
    const object = id < this.objectCount ? this.objects[id] : undefined;
    // An error cannot be referred to before its fields.
    if (object === undefined) throw invalid(at, "object reference", id);
    return this.#viewBehind(object);
  }

  // A string inside an object: with a tag, or in old versions UTF-8 without.
  taggedString() {
    if (this.v8 < TAGGED_STRINGS_VERSION_MIN) return this.string(tags.UTF8_STRING);
    const tag = this.tag();
    if (tag !== tags.ONE_BYTE_STRING && tag !== tags.TWO_BYTE_STRING && tag !== tags.UTF8_STRING) {
      throw unknownTag(this.at - 1, "string", tag);
    }
    return this.string(tag);
  }

  #bigint() {
    const start = this.at;
    const field = this.varint("BigInt length");
    const length = field >>> 1;
    const at = this.skip(length, "BigInt digits");
    // A negative zero is refused, as V8 does.
    if (field === 1) throw invalid(start, "BigInt sign of zero", 1);
    if (length === 0) return 0n;
    const { bytes } = this;
    let digits = "0x";
    for (let i = length - 1; i >= 0; i--) digits += HEX[bytes[at + i]];
    const value = this.#made(start, "BigInt", () => BigInt(digits));
    return field & 1 ? -value : value;
  }

  // Calls what the runtime may refuse: lengths and patterns that are too much for it.
  #made(at, what, make) {
    try {
      return quietly(make);
    } catch {
      throw unsupported(at, what);
    }
  }

  #regexp() {
    const source = this.taggedString();
    const at = this.at;
    const bits = this.varint("regular expression flags");
    if ((bits & ~FLAG_BITS) !== 0 || (bits & BOTH_UNICODES) === BOTH_UNICODES) throw invalid(at, "regular expression flags", bits);
    let flags = "";
    for (const [letter, bit] of tags.REGEXP_FLAGS) if ((bits & bit) !== 0) flags += letter;
    const regexp = this.#made(at, "regular expression", () => new this.realm.RegExp(source, flags));
    if (this.noted !== 0) this.readIn.regexp(regexp, bits, this.noted);
    return regexp;
  }

  #buffer(tag) {
    const { realm } = this;
    const start = this.at;
    const length = this.wideVarint("ArrayBuffer length");
    let options;
    if (tag === tags.RESIZABLE_ARRAY_BUFFER) {
      const maxByteLength = this.wideVarint("ArrayBuffer maximum length");
      if (maxByteLength < length) throw invalid(start, "ArrayBuffer maximum length", maxByteLength);
      options = { maxByteLength };
    }
    const at = this.skip(length, "ArrayBuffer bytes");
    let buffer = this.#made(start, "ArrayBuffer", () => new realm.ArrayBuffer(length, options));
    if (options !== undefined && !isResizable(buffer)) throw unsupported(start, "resizable ArrayBuffer");
    if (length > 0) new realm.Uint8Array(buffer).set(this.bytes.subarray(at, at + length));
    if (tag === tags.IMMUTABLE_ARRAY_BUFFER) {
      if (realm.sliceToImmutable === undefined) throw unsupported(start, "immutable ArrayBuffer");
      buffer = apply(realm.sliceToImmutable, buffer, []);
    }
    if (this.noted !== 0 && tag !== tags.ARRAY_BUFFER) this.readIn.buffer(buffer, this.noted);
    return buffer;
  }

  // An array buffer followed by a view counts as that view.
  #viewBehind(object) {
    const { bytes, end } = this;
    let { at } = this;
    while (at < end && bytes[at] === tags.PADDING) at += 1;
    if (at >= end || bytes[at] !== tags.VIEW || !(object instanceof this.realm.ArrayBuffer)) return object;
    this.at = at + 1;
    return this.keep(this.#view(object));
  }

  #view(buffer) {
    const start = this.at;
    const tag = this.varint("view kind");
    const kind = VIEWS[tag];
    if (kind === undefined) throw invalid(start, "view kind", tag);
    const { name, size } = kind;
    const byteLength = byteLengthOf(buffer);
    const offset = this.#length(byteLength, size, "view offset");
    const length = this.#length(byteLength - offset, size, "view length");
    const at = this.at;
    const flags = this.viewFlags ? this.varint("view flags") : 0;
    const resizable = isResizable(buffer);
    const tracks = (flags & tags.LENGTH_TRACKING) !== 0;
    if (flags > 3 || ((flags & tags.BACKED_BY_RESIZABLE) !== 0) !== resizable || (tracks && !resizable)) {
      throw invalid(at, "view flags", flags);
    }
    const View = this.realm.views[name];
    if (View === undefined) throw unsupported(start, name);
    // A view that follows its buffer has no length of its own.
    const view = tracks ? new View(buffer, offset) : new View(buffer, offset, length / size);
    if (this.noted !== 0 && name === "Float16Array") this.readIn.buffer(view, this.noted);
    return view;
  }

  // An offset or length in whole elements, not above `max`.
  #length(max, size, what) {
    const start = this.at;
    const length = this.wideVarint(what);
    if (length > max || length % size !== 0) throw invalid(start, what, length);
    return length;
  }

  causeOf(error, cause) {
    hidden(error, "cause", cause);
  }

  // Fields that came behind an error's cause.
  amendError(error, type, message, stack) {
    if (type !== "Error") setPrototypeOf(error, this.realm.errors[type].prototype);
    if (message !== undefined) hidden(error, "message", message);
    if (stack !== undefined) hidden(error, "stack", stack);
  }

  #host() {
    const start = this.at;
    const description = readHost(this, this.blink);
    const object = this.platform.make(description, this.beside);
    if (object === undefined) throw unsupported(start, description.class);
    if (this.noted !== 0) this.readIn.host(object, description.class, this.noted);
    return object;
  }
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
