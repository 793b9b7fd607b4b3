// Values into V8's wire format as Chromium writes it (HTML, StructuredSerializeForStorage; docs/format/values.md, part 4).
//
// Containers that are open stand in `frames`, so nesting costs no stack of the runtime's. Getters run in the order of properties; what they
// throw ends the value. What they do meanwhile, another value encoded too, is no business of this writer: codec.js gives each its own.
import { writeHost } from "./host/index.js";
import { cleared, newList } from "./list.js";
import { USUAL, v8Of, VIEW_FLAGS_V8_MIN } from "./needs.js";
import * as slots from "./slots.js";
import * as tags from "./tags.js";
import { isSmall, Writer } from "./writer.js";

const { getPrototypeOf } = Reflect;
const { getOwnPropertyDescriptor, hasOwn, keys } = Object;
const { isArray } = Array;

// What the containers are of which some parts are still to come.
const PROPERTIES = 0;
const ELEMENTS = 1;
const PARTS = 2;
const CAUSE = 3;
// So many objects are looked for one by one; more in a map.
const SEEN_LIST_MAX = 8;
const INDEX_MAX = 4294967294;

const VIEW_TAGS = { __proto__: null };
for (const [tag, name] of tags.VIEWS) VIEW_TAGS[name] = tag;

class Frame {
  constructor() {
    this.kind = PROPERTIES;
    this.object = undefined;
    // Names of properties, or the parts of a map or set.
    this.list = undefined;
    this.at = 0;
    // The properties that have been written.
    this.count = 0;
    // The length of an array; -1 for what is none.
    this.length = -1;
    this.endTag = 0;
    // An array's next element, if it has been read already.
    this.pending = undefined;
    this.hasPending = false;
  }
}

export class Encoder extends Writer {
  #frames = newList();
  #depth = 0;
  // Objects that have been begun, by number, and where there are many, their numbers.
  #seen = newList();
  #seenCount = 0;
  #numbers = undefined;
  // Prototypes of classes that extend nothing and are not the runtime's.
  #ordinary = new WeakSet();

  constructor(realm, platform, readIn) {
    super();
    this.realm = realm;
    this.platform = platform;
    this.readIns = readIn;
    // What lies beside the value.
    this.blobs = [];
    this.tokens = [];
  }

  // Encodes a value; its bytes are the first `at` of `bytes`, until the next one. What has thrown is not used again.
  encode(value, version = USUAL) {
    this.begin(version);
    if (this.blobs.length > 0) this.blobs = [];
    if (this.tokens.length > 0) this.tokens = [];
    if (this.#value(value)) this.#inside();
    this.end();
    // Objects that would be kept alive.
    this.#seen = cleared(this.#seen, this.#seenCount);
    this.#seenCount = 0;
    this.#numbers = undefined;
    if (this.#frames.length > 256) this.#frames.length = 256;
  }

  #inside() {
    while (this.#depth > 0) {
      const frame = this.#frames[this.#depth - 1];
      // The container that was opened inside, if one was, is on top now.
      if (frame.kind === PROPERTIES ? this.#properties(frame) : this.#proceed(frame)) continue;
      // Objects that would be kept alive.
      frame.object = undefined;
      frame.list = undefined;
      this.#depth -= 1;
    }
  }

  // Goes on with a container until one is opened inside (true) or it is done.
  #proceed(frame) {
    if (frame.kind === ELEMENTS) return this.#elements(frame);
    if (frame.kind === CAUSE) return this.#cause(frame);
    return this.#parts(frame);
  }

  #open(kind, object, list, length, endTag) {
    const depth = this.#depth;
    if (depth >= tags.DEPTH_MAX) {
      throw new RangeError(`Maximum call stack size exceeded: more than ${tags.DEPTH_MAX} objects are one inside the other.`);
    }
    const frame = depth < this.#frames.length ? this.#frames[depth] : (this.#frames[depth] = new Frame());
    frame.kind = kind;
    frame.object = object;
    frame.list = list;
    frame.at = 0;
    frame.count = 0;
    frame.length = length;
    frame.endTag = endTag;
    this.#depth = depth + 1;
    return frame;
  }

  #refuse(why) {
    throw this.realm.cannotClone(why);
  }

  // Writes a value; true if it is a container, of which that is the beginning.
  #value(value) {
    switch (typeof value) {
      case "string":
        this.string(value);
        return false;
      case "number":
        this.number(value);
        return false;
      case "boolean":
        this.byte(value ? tags.TRUE : tags.FALSE);
        return false;
      case "undefined":
        this.byte(tags.UNDEFINED);
        return false;
      case "object":
        if (value !== null) return this.#object(value);
        this.byte(tags.NULL);
        return false;
      case "bigint":
        this.byte(tags.BIGINT);
        this.bigint(value);
        return false;
      case "symbol":
        return this.#refuse("A symbol could not be cloned.");
      default:
        return this.#refuse("A function could not be cloned.");
    }
  }

  // The number of an object that has been begun; -1 for another.
  #find(object) {
    if (this.#numbers !== undefined) return this.#numbers.get(object) ?? -1;
    const seen = this.#seen;
    for (let id = 0; id < this.#seenCount; id++) if (seen[id] === object) return id;
    return -1;
  }

  #number(object) {
    const seen = this.#seen;
    const id = this.#seenCount++;
    seen[id] = object;
    if (this.#numbers !== undefined) {
      this.#numbers.set(object, id);
    } else if (id === SEEN_LIST_MAX) {
      this.#numbers = new Map();
      for (let i = 0; i <= id; i++) this.#numbers.set(seen[i], i);
    }
  }

  #object(object) {
    const id = this.#find(object);
    if (id >= 0) {
      this.byte(tags.REFERENCE);
      this.varint(id);
      return false;
    }
    if (slots.isProxy(object)) return this.#refuse("A proxy could not be cloned.");
    if (isArray(object)) return this.#array(object);
    const names = keys(object);
    if (names.length > 0 && this.#isOrdinary(getPrototypeOf(object)) && !slots.hasElements(object, names[0])) return this.#plain(object, names);
    return this.#special(object, names);
  }

  // What has properties, and a prototype as literals have it or a class that extends nothing, is taken for plain without a look at its
  // slots: asking for all of them would take longer than all else.
  #isOrdinary(prototype) {
    const { objectPrototype } = this.realm;
    if (prototype === objectPrototype) return true;
    if (prototype === null || getPrototypeOf(prototype) !== objectPrototype) return false;
    if (this.#ordinary.has(prototype)) return true;
    if (slots.isOfTheRuntime(prototype)) return false;
    this.#ordinary.add(prototype);
    return true;
  }

  #plain(object, names) {
    this.byte(tags.BEGIN_OBJECT);
    this.#number(object);
    this.#open(PROPERTIES, object, names, -1, tags.END_OBJECT);
    return true;
  }

  #properties(frame) {
    const { object, list } = frame;
    const { length } = list;
    while (frame.at < length) {
      const name = list[frame.at++];
      const value = object[name];
      // A getter before this one may have removed the property.
      if (value === undefined && !hasOwn(object, name)) continue;
      frame.count += 1;
      this.#name(name);
      if (this.#value(value)) return true;
    }
    this.byte(frame.endTag);
    this.varint(frame.count);
    if (frame.length >= 0) this.varint(frame.length);
    return false;
  }

  // Names that are array indices are numbers.
  #name(name) {
    const first = name.charCodeAt(0);
    if (first >= 0x30 && first <= 0x39) {
      const index = indexOf(name);
      if (index >= 0) {
        this.number(index);
        return;
      }
    }
    this.string(name);
  }

  // V8 writes an array densely if it has no holes, and its numbers as doubles if it has nothing else and not all are small integers.
  #array(array) {
    const names = keys(array);
    const { length } = array;
    this.#number(array);
    // Elements come first among the names, ascending.
    if (names.length < length || (length > 0 && names[length - 1] !== String(length - 1))) {
      this.byte(tags.BEGIN_SPARSE_ARRAY);
      this.varint(length);
      this.#open(PROPERTIES, array, names, length, tags.END_SPARSE_ARRAY);
      return true;
    }
    this.byte(tags.BEGIN_DENSE_ARRAY);
    this.varint(length);
    const frame = this.#open(ELEMENTS, array, names, length, tags.END_DENSE_ARRAY);
    this.#leadingNumbers(frame);
    return true;
  }

  #leadingNumbers(frame) {
    const { object, length } = frame;
    frame.hasPending = false;
    if (length === 0) return;
    let value = object[0];
    if (typeof value !== "number") {
      frame.pending = value;
      frame.hasPending = true;
      return;
    }
    const numbers = newList();
    let small = true;
    let at = 0;
    for (;;) {
      numbers[at] = value;
      small = small && isSmall(value);
      at += 1;
      if (at === length) break;
      value = object[at];
      if (typeof value !== "number") {
        frame.pending = value;
        frame.hasPending = true;
        break;
      }
    }
    const doubles = !small && at === length;
    for (let i = 0; i < at; i++) {
      if (doubles) this.double(numbers[i]);
      else this.number(numbers[i]);
    }
    frame.at = at;
  }

  #elements(frame) {
    const { object, length } = frame;
    while (frame.at < length) {
      let value;
      if (frame.hasPending) {
        value = frame.pending;
        frame.hasPending = false;
        frame.pending = undefined;
      } else {
        value = object[frame.at];
      }
      frame.at += 1;
      if (this.#value(value)) return true;
    }
    // The names behind those of the elements.
    frame.kind = PROPERTIES;
    return this.#properties(frame);
  }

  #parts(frame) {
    const { list } = frame;
    while (frame.at < list.length) if (this.#value(list[frame.at++])) return true;
    this.byte(frame.endTag);
    this.varint(list.length);
    return false;
  }

  #cause(frame) {
    if (frame.at < frame.list.length) return this.#value(frame.list[frame.at++]) || this.#cause(frame);
    this.byte(tags.ERROR_END);
    return false;
  }

  // An object whose slots say what it is, or whose class.
  #special(object, names) {
    const kind = slots.kindOf(object);
    if (typeof kind === "string") return this.#refuse(kind);
    if (kind === slots.PLAIN || kind === slots.ERROR) {
      const described = this.platform.describe(object, this);
      if (typeof described === "string") return this.#refuse(described);
      if (described !== undefined) return this.#host(object, described);
      return kind === slots.PLAIN ? this.#plain(object, names) : this.#error(object);
    }
    if (kind === slots.VIEW) return this.#view(object);
    if (kind === slots.MAP || kind === slots.SET) {
      const isMap = kind === slots.MAP;
      this.byte(isMap ? tags.BEGIN_MAP : tags.BEGIN_SET);
      this.#number(object);
      const parts = isMap ? slots.entriesOf(object) : slots.membersOf(object);
      this.#open(PARTS, object, parts, -1, isMap ? tags.END_MAP : tags.END_SET);
      return true;
    }
    if (kind === slots.BUFFER) this.#buffer(object);
    else this.#leaf(kind, object);
    return false;
  }

  #leaf(kind, object) {
    this.#number(object);
    switch (kind) {
      case slots.DATE:
        this.byte(tags.DATE);
        this.f64(slots.timeOf(object));
        break;
      case slots.REGEXP:
        this.#regexp(object);
        break;
      case slots.BOOLEAN:
        this.byte(slots.booleanOf(object) ? tags.TRUE_OBJECT : tags.FALSE_OBJECT);
        break;
      case slots.NUMBER:
        this.byte(tags.NUMBER_OBJECT);
        this.f64(slots.numberOf(object));
        break;
      case slots.STRING:
        this.byte(tags.STRING_OBJECT);
        this.string(slots.stringOf(object));
        break;
      default:
        this.byte(tags.BIGINT_OBJECT);
        this.bigint(slots.bigintOf(object));
    }
  }

  #regexp(regexp) {
    const flags = slots.flagsOf(regexp);
    this.readIn = this.readIns.ofRegexp(regexp);
    if ((flags & (1 << 8)) !== 0) this.needs(16, 21, "a regular expression with the flag v");
    else if ((flags & (1 << 7)) !== 0) this.needs(14, 17, "a regular expression with the flag d");
    this.readIn = 0;
    this.byte(tags.REGEXP);
    this.string(slots.sourceOf(regexp));
    this.varint(flags);
  }

  #buffer(buffer) {
    if (slots.isDetached(buffer)) this.#refuse("An ArrayBuffer is detached and could not be cloned.");
    const length = slots.byteLengthOf(buffer);
    const resizable = slots.isResizable(buffer);
    const immutable = !resizable && slots.isImmutable(buffer);
    this.#number(buffer);
    this.readIn = this.readIns.of(buffer);
    if (resizable) this.needs(16, 21, "a resizable ArrayBuffer");
    else if (immutable) this.needs(16, 21, "an immutable ArrayBuffer");
    this.byte(resizable ? tags.RESIZABLE_ARRAY_BUFFER : immutable ? tags.IMMUTABLE_ARRAY_BUFFER : tags.ARRAY_BUFFER);
    this.wideLength(length);
    if (resizable) this.wideLength(slots.maxByteLengthOf(buffer));
    this.readIn = 0;
    this.raw(new Uint8Array(buffer));
  }

  // V8 writes a view's buffer in front of it, and gives the view the number after that.
  #view(view) {
    const found = slots.viewOf(view);
    if (typeof found === "string") return this.#refuse(found);
    const { name, buffer, offset, length, tracks } = found;
    const id = this.#find(buffer);
    if (id < 0) {
      this.#buffer(buffer);
    } else {
      this.byte(tags.REFERENCE);
      this.varint(id);
    }
    this.#number(view);
    this.readIn = this.readIns.of(view);
    if (name === "Float16Array") this.needs(16, 21, "a Float16Array");
    this.byte(tags.VIEW);
    this.byte(VIEW_TAGS[name]);
    this.wideLength(offset);
    // V8 keeps no length in a view that tracks its buffer's.
    this.wideLength(tracks ? 0 : length);
    this.readIn = 0;
    if (v8Of(this.version) < VIEW_FLAGS_V8_MIN) return false;
    const resizable = slots.isResizable(buffer) ? tags.BACKED_BY_RESIZABLE : 0;
    this.varint(tracks ? resizable | tags.LENGTH_TRACKING : resizable);
    return false;
  }

  #error(error) {
    const named = error.name;
    const name = named === undefined ? "Error" : `${named}`;
    const message = ownValue(error, "message");
    const cause = ownValue(error, "cause");
    const { stack } = error;
    const text = message === undefined ? undefined : `${message.value}`;
    this.needs(13, 20, "an Error");
    this.byte(tags.ERROR);
    this.#number(error);
    const type = tags.ERROR_TYPES[name];
    if (type !== undefined) this.byte(type);
    if (text !== undefined) {
      this.byte(tags.ERROR_MESSAGE);
      this.string(text);
    }
    if (typeof stack === "string") {
      this.byte(tags.ERROR_STACK);
      this.string(stack);
    }
    if (cause !== undefined) {
      this.needs(15, 20, "an Error with a cause");
      this.byte(tags.ERROR_CAUSE);
    }
    this.#open(CAUSE, error, cause === undefined ? [] : [cause.value], -1, 0);
    return true;
  }

  #host(object, described) {
    this.readIn = this.readIns.of(object);
    this.#number(object);
    if (!writeHost(this, described)) this.#refuse(`A ${described.class} could not be cloned.`);
    this.readIn = 0;
    return false;
  }
}

// A data property of its own.
function ownValue(object, name) {
  const found = getOwnPropertyDescriptor(object, name);
  return found !== undefined && "value" in found ? found : undefined;
}

// The array index that a name is; -1 if it is none.
function indexOf(name) {
  const { length } = name;
  if (length === 1) return name.charCodeAt(0) - 0x30;
  if (length > 10 || name.charCodeAt(0) === 0x30) return -1;
  let index = 0;
  for (let i = 0; i < length; i++) {
    const digit = name.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    index = index * 10 + digit;
  }
  return index <= INDEX_MAX ? index : -1;
}

