// V8's wire format into values, versions 1 to 16 (docs/format/values.md, part 2). What V8 checks when reading is checked here, so that what
// decodes here is what a page would get.
//
// Containers that are open stand in `frames`, so nesting costs no stack of the runtime's; nothing is reserved on the word of a length.
// Properties are defined where a script's prototypes could interfere, and assigned, which is faster, where they do not have the name.
import { open } from "./envelope.js";
import { CodecError, invalid, unknownTag } from "./error.js";
import { Leaves } from "./leaves.js";
import { cleared, newList } from "./list.js";
import * as tags from "./tags.js";
import { nameOf } from "./text.js";

const { apply, defineProperty, deleteProperty } = Reflect;
const { hasOwn, keys } = Object;
const { set: mapSet } = Map.prototype;
const { add: setAdd } = Set.prototype;
const hasOwnOf = hasOwn ?? ((object, name) => apply(Object.prototype.hasOwnProperty, object, [name]));

// Versions before 11 wrote holes as undefined.
const HOLES_VERSION_MIN = 11;
// Since this version views have flags; Chromium 97 wrote some under the one before.
const VIEW_FLAGS_VERSION_MIN = 14;
// Holes at an array's end that may cost memory each.
const GAP_MAX = 1024;

// What the containers are whose end has not been read yet.
const OBJECT = 0;
const ARRAY = 1;
const ELEMENTS = 2;
const MAP = 3;
const SET = 4;
const ERROR = 5;

// Stands for a container that was begun and is on top of the frames.
const OPENED = Symbol("opened");

class Frame {
  constructor() {
    this.kind = OBJECT;
    this.object = undefined;
    // The name of the property, or the key of the entry, whose value is being read.
    this.name = undefined;
    // Properties, elements or parts so far.
    this.count = 0;
    // The length of an array, as written in front.
    this.length = 0;
    this.endTag = 0;
    // The number of an error, which is made when its type has been read.
    this.id = 0;
  }
}

export class Decoder extends Leaves {
  #frames = newList();
  #depth = 0;

  constructor(realm, platform, readIn) {
    super(realm, platform, readIn);
  }

  // The value of bytes, and where they say that it lies in a blob an error. What has thrown is not used again.
  decode(bytes, beside) {
    const version = open(bytes, this);
    const { at, v8 } = this.begin(version, beside);
    if (v8 !== VIEW_FLAGS_VERSION_MIN - 1) return this.#attempt(at, v8 >= VIEW_FLAGS_VERSION_MIN);
    try {
      return this.#attempt(at, false);
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      try {
        return this.#attempt(at, true);
      } catch (again) {
        throw again instanceof CodecError ? error : again;
      }
    }
  }

  #attempt(at, viewFlags) {
    this.at = at;
    this.viewFlags = viewFlags;
    this.objectCount = 0;
    this.#depth = 0;
    let got = this.#value(this.tag());
    while (this.#depth > 0) {
      const frame = this.#frames[this.#depth - 1];
      got = this.#proceed(frame);
      if (got === OPENED) continue;
      // Objects that would be kept alive.
      frame.object = undefined;
      frame.name = undefined;
      this.#depth -= 1;
      if (this.#depth > 0) this.#accept(this.#frames[this.#depth - 1], got);
    }
    this.#expectEnd();
    this.objects = cleared(this.objects, this.objectCount);
    if (this.#frames.length > 256) this.#frames.length = 256;
    return got;
  }

  #expectEnd() {
    const { bytes, end } = this;
    for (let { at } = this; at < end; at++) {
      if (bytes[at] !== tags.PADDING) throw new CodecError("Trailing", at, "value", end - at);
    }
  }

  // Goes on with an open container until it closes (its value) or opens another.
  #proceed(frame) {
    switch (frame.kind) {
      case ELEMENTS:
        return this.#elements(frame);
      case MAP:
      case SET:
        return this.#entries(frame);
      case ERROR:
        return this.#errorFields(frame);
      case ARRAY:
        return this.#arrayProperties(frame);
      default:
        return this.#properties(frame);
    }
  }

  // The value of the container that was just closed, for the one around it.
  #accept(frame, value) {
    switch (frame.kind) {
      case OBJECT:
        this.#define(frame.object, frame.name, value);
        frame.count += 1;
        break;
      case ARRAY:
        this.#defineInArray(frame, frame.name, value);
        break;
      case ELEMENTS:
        this.#element(frame, value);
        break;
      case ERROR:
        this.causeOf(frame.object, value);
        break;
      default:
        this.#part(frame, value);
    }
  }

  #open(kind, object, length, endTag) {
    const depth = this.#depth;
    if (depth >= tags.DEPTH_MAX) throw new CodecError("LimitExceeded", this.at, "nesting", tags.DEPTH_MAX);
    const frame = depth < this.#frames.length ? this.#frames[depth] : (this.#frames[depth] = new Frame());
    frame.kind = kind;
    frame.object = object;
    frame.count = 0;
    frame.length = length;
    frame.endTag = endTag;
    this.#depth = depth + 1;
    return OPENED;
  }

  // Reads on behind a tag: a value, or `OPENED`.
  #value(tag) {
    switch (tag) {
      case tags.ONE_BYTE_STRING:
      case tags.TWO_BYTE_STRING:
      case tags.UTF8_STRING:
        return this.string(tag);
      case tags.INT32:
        return this.zigzag("integer");
      case tags.UINT32:
        return this.varint("integer");
      case tags.DOUBLE:
        return this.f64("number");
      case tags.NULL:
        return null;
      case tags.TRUE:
        return true;
      case tags.FALSE:
        return false;
      case tags.UNDEFINED:
        return undefined;
      case tags.BEGIN_OBJECT: {
        const object = this.realm.newObject();
        this.keep(object);
        return this.#open(OBJECT, object, 0, tags.END_OBJECT);
      }
      case tags.BEGIN_DENSE_ARRAY:
      case tags.BEGIN_SPARSE_ARRAY:
        return this.#openArray(tag);
      case tags.BEGIN_MAP:
        return this.#open(MAP, this.keep(new this.realm.Map()), 0, tags.END_MAP);
      case tags.BEGIN_SET:
        return this.#open(SET, this.keep(new this.realm.Set()), 0, tags.END_SET);
      case tags.ERROR: {
        // Its type is read before anything can refer to it.
        this.keep(undefined);
        this.#open(ERROR, undefined, 0, tags.ERROR_END);
        this.#frames[this.#depth - 1].id = this.objectCount - 1;
        return OPENED;
      }
      case tags.REFERENCE:
        return this.reference();
      case tags.OBJECT_COUNT:
        // An old sanity check, which V8 reads and ignores; the value follows.
        do {
          this.varint("number of objects");
          tag = this.tag();
        } while (tag === tags.OBJECT_COUNT);
        return this.#value(tag);
      default:
        return this.leaf(tag);
    }
  }

  // A property's name: a string or a number.
  #name(tag) {
    if (tag === tags.ONE_BYTE_STRING) {
      const { at, bytes } = this;
      // Most are short and whole.
      const length = at < this.end ? bytes[at] : 0xff;
      if (length < 0x80 && at + 1 + length <= this.end) {
        this.at = at + 1 + length;
        return nameOf(bytes, at + 1, length);
      }
      return this.string(tag);
    }
    switch (tag) {
      case tags.TWO_BYTE_STRING:
      case tags.UTF8_STRING:
        return this.string(tag);
      case tags.INT32:
        return this.zigzag("integer");
      case tags.UINT32:
        return this.varint("integer");
      case tags.DOUBLE:
        return this.f64("number");
      default:
        throw unknownTag(this.at - 1, "property name", tag);
    }
  }

  #properties(frame) {
    const { object } = frame;
    const prototype = this.realm.objectPrototype;
    for (;;) {
      const tag = this.tag();
      if (tag === tags.END_OBJECT) return this.#closeObject(frame);
      const value = this.#named(frame, tag);
      if (value === OPENED) return OPENED;
      const { name } = frame;
      if (name in prototype) this.#define(object, name, value);
      else object[name] = value;
      frame.count += 1;
    }
  }

  // The value of a property, whose name the frame keeps: of a container that is opened, its frame lies above.
  #named(frame, tag) {
    frame.name = this.#name(tag);
    return this.#value(this.tag());
  }

  #define(object, name, value) {
    if (name in object) defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    else object[name] = value;
  }

  #closeObject(frame) {
    const { object, count } = frame;
    const at = this.at - 1;
    const said = this.varint("number of properties");
    if (said !== count) throw invalid(at, "number of properties", said);
    // A name that came twice is there once.
    if (keys(object).length !== count) throw invalid(at, "object with a property name twice", count);
    return object;
  }

  #openArray(tag) {
    const length = this.varint("array length");
    const array = this.realm.newArray();
    if (tag === tags.BEGIN_SPARSE_ARRAY) return this.#open(ARRAY, this.keep(array), length, tags.END_SPARSE_ARRAY);
    // Every element takes at least a byte.
    if (length > this.left) throw invalid(this.at, "dense array length", length);
    return this.#open(ELEMENTS, this.keep(array), length, tags.END_DENSE_ARRAY);
  }

  #elements(frame) {
    const { length } = frame;
    while (frame.count < length) {
      const tag = this.tag();
      if (tag === tags.HOLE || (tag === tags.UNDEFINED && this.v8 < HOLES_VERSION_MIN)) {
        frame.count += 1;
        continue;
      }
      const value = this.#value(tag);
      if (value === OPENED) return OPENED;
      this.#element(frame, value);
    }
    const { object } = frame;
    if (object.length !== length) object.length = length;
    frame.kind = ARRAY;
    frame.count = 0;
    return this.#arrayProperties(frame);
  }

  #element(frame, value) {
    const { object, count } = frame;
    // As `#define`, apart from it: a place at which all keys are indices is faster in V8 than one with keys of both kinds.
    if (count in object) defineProperty(object, count, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    else object[count] = value;
    frame.count = count + 1;
  }

  // Names and values of a sparse array, and behind the elements of a dense one.
  #arrayProperties(frame) {
    for (;;) {
      const tag = this.tag();
      if (tag === frame.endTag) return this.#closeArray(frame);
      const value = this.#named(frame, tag);
      if (value === OPENED) return OPENED;
      this.#defineInArray(frame, frame.name, value);
    }
  }

  #defineInArray(frame, name, value) {
    const { object } = frame;
    // `length` is an own property of every array.
    if (hasOwnOf(object, name)) throw invalid(this.at, "array property twice", String(name));
    this.#define(object, name, value);
    frame.count += 1;
  }

  #closeArray(frame) {
    const at = this.at - 1;
    const said = this.varint("number of properties");
    if (said !== frame.count) throw invalid(at, "number of properties", said);
    const length = this.varint("array length");
    if (length !== frame.length) throw invalid(at, "array length", length);
    const { object } = frame;
    // An element beyond the end has moved the end, as it does in JavaScript.
    if (length > object.length) {
      if (length - object.length > GAP_MAX) {
        // An element so far out makes the array one that takes no memory for what is not there.
        defineProperty(object, length - 1, { __proto__: null, value: 0, writable: true, enumerable: true, configurable: true });
        deleteProperty(object, length - 1);
      } else {
        object.length = length;
      }
    }
    return object;
  }

  // Parts of a map or set, end tag, how many there were. A map's end is looked for in front of keys only.
  #entries(frame) {
    for (;;) {
      const tag = this.tag();
      const { count } = frame;
      if (tag === frame.endTag && !(frame.kind === MAP && count % 2 === 1)) {
        const said = this.varint("number of entries");
        if (said !== count) throw invalid(this.at, "number of entries", said);
        return frame.object;
      }
      const value = this.#value(tag);
      if (value === OPENED) return OPENED;
      this.#part(frame, value);
    }
  }

  #part(frame, value) {
    if (frame.kind === SET) apply(setAdd, frame.object, [value]);
    else if (frame.count % 2 === 0) frame.name = value;
    else apply(mapSet, frame.object, [frame.name, value]);
    frame.count += 1;
  }

  // In any order: V8 wrote the cause in front of the stack first, and behind it later.
  #errorFields(frame) {
    let type = "Error";
    let message;
    let stack;
    for (;;) {
      const at = this.at;
      const field = this.varint("error field");
      switch (field) {
        case tags.ERROR_END:
        case tags.ERROR_CAUSE: {
          this.#settleError(frame, type, message, stack);
          if (field === tags.ERROR_END) return frame.object;
          const value = this.#value(this.tag());
          if (value === OPENED) return OPENED;
          this.causeOf(frame.object, value);
          [type, message, stack] = ["Error", undefined, undefined];
          break;
        }
        case tags.ERROR_MESSAGE:
          message = this.taggedString();
          break;
        case tags.ERROR_STACK:
          stack = this.taggedString();
          break;
        default:
          type = errorType(field);
          if (type === undefined) throw unknownTag(at, "error field", field);
      }
    }
  }

  // Makes the error of the fields so far, or puts fields that came behind its cause into it.
  #settleError(frame, type, message, stack) {
    if (frame.object === undefined) {
      frame.object = this.realm.newError(type, message, stack);
      this.objects[frame.id] = frame.object;
    } else {
      this.amendError(frame.object, type, message, stack);
    }
  }
}

function errorType(tag) {
  for (const name in tags.ERROR_TYPES) if (tags.ERROR_TYPES[name] === tag) return name;
  return undefined;
}


