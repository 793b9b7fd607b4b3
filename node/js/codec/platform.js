// Objects of the web platform: between descriptions (stored.js) and the classes that the realm has. A host adds to these by two hooks:
//
//   describe(object)      the description of an object of a class of its own; a sentence if it cannot be cloned; undefined for all others.
//                         The class's prototype has a tag, as all interfaces have: others' objects are plain and need not come here
//   make(description)     an object for a description; undefined for a `Stored` one
import { append } from "./list.js";
import { hidden } from "./realm.js";
import { classOf } from "./slots.js";
import { Stored, StoredFileList } from "./stored.js";

const { apply } = Reflect;
const { getOwnPropertyDescriptor } = Object;
const PIXELS = { __proto__: null, "rgba-unorm8": "Uint8ClampedArray", "rgba-float16": "Float16Array", "rgba-float32": "Float32Array" };

export class Platform {
  // What was read of QuotaExceededErrors that became DOMExceptions.
  #quotas = new WeakMap();
  #name;
  #message;

  constructor(realm, { describe, make } = {}) {
    this.realm = realm;
    this.hookDescribe = describe;
    this.hookMake = make;
    const { prototype } = realm.DOMException;
    this.#name = getOwnPropertyDescriptor(prototype, "name")?.get;
    this.#message = getOwnPropertyDescriptor(prototype, "message")?.get;
  }

  // The object of a description; undefined if there is none, since what should lie beside the value does not.
  make(description, beside) {
    const blob = (index) => beside?.blobs?.[index];
    switch (description.class) {
      case "Blob":
      case "File":
        return blob(description.index);
      case "FileList": {
        const files = description.indices.map(blob);
        return files.includes(undefined) ? undefined : this.#made({ class: "FileList", files });
      }
      case "FileSystemFileHandle":
      case "FileSystemDirectoryHandle": {
        const token = beside?.tokens?.[description.tokenIndex];
        return token === undefined ? undefined : this.#made({ class: description.class, kind: description.kind, name: description.name, token });
      }
      case "DOMException":
        return withStack(new this.realm.DOMException(description.message, description.name), description);
      case "QuotaExceededError":
        return this.#quotaExceeded(description);
      case "ImageData":
        return this.#made({ ...description, data: this.#pixels(description) });
      default:
        return this.#made(description);
    }
  }

  #made(description) {
    return this.hookMake?.(description) ?? (description.class === "FileList" ? new StoredFileList(description) : new Stored(description));
  }

  // As the array that scripts see, or where the runtime has none of the class, as bytes.
  #pixels({ pixelFormat, data }) {
    const View = this.realm.views[PIXELS[pixelFormat]];
    if (View === undefined) return data;
    const { buffer } = new this.realm.Uint8Array(data);
    return new View(buffer);
  }

  #quotaExceeded(description) {
    const { message, quota, requested } = description;
    const { QuotaExceededError, DOMException } = this.realm;
    if (QuotaExceededError !== undefined) {
      const options = {};
      if (quota !== null) options.quota = quota;
      if (requested !== null) options.requested = requested;
      // A runtime checks what it is given, which need not be sensible.
      try {
        return withStack(new QuotaExceededError(message, options), description);
      } catch {
        // As where there is no such class.
      }
    }
    const made = withStack(new DOMException(message, "QuotaExceededError"), description);
    this.#quotas.set(made, description);
    return made;
  }

  // The description of an object that a class of the platform may have made; a sentence if it cannot be cloned; undefined for an object
  // of none. `lists` takes blobs and tokens, which lie beside the value.
  describe(value, lists) {
    const stored = Stored.describe(value) ?? this.hookDescribe?.(value);
    if (stored !== undefined) return typeof stored === "string" ? stored : this.#placed(stored, value, lists);
    const name = classOf(value, this.realm.global);
    switch (name) {
      case undefined:
        return undefined;
      case "Blob":
      case "File":
        return { class: name, index: append(lists.blobs, value) };
      case "DOMException":
        return this.#domException(value);
      case "QuotaExceededError":
        return { class: name, message: this.#textOf(value, this.#message, "message"), stack: `${value.stack}`, quota: value.quota, requested: value.requested };
      default:
        return `A ${name} could not be cloned.`;
    }
  }

  // With the places of what lies beside the value.
  #placed(described, value, { blobs, tokens }) {
    switch (described.class) {
      case "Blob":
      case "File":
        return { class: described.class, index: append(blobs, value) };
      case "FileList":
        return { class: "FileList", indices: described.files.map((file) => append(blobs, file)) };
      case "FileSystemFileHandle":
      case "FileSystemDirectoryHandle":
        return { class: described.class, name: described.name, tokenIndex: append(tokens, described.token) };
      default:
        return described;
    }
  }

  #domException(value) {
    const read = this.#quotas.get(value);
    if (read !== undefined) return read;
    const [name, message] = [this.#textOf(value, this.#name, "name"), this.#textOf(value, this.#message, "message")];
    return { class: "DOMException", name, message, stack: `${value.stack}` };
  }

  // By the slot, or of another realm's class as it says itself.
  #textOf(value, get, name) {
    try {
      return `${apply(get, value, [])}`;
    } catch {
      return `${value[name]}`;
    }
  }
}

// With the stack that was read: that of the moment when it was made would be this codec's own.
function withStack(made, { stack }) {
  hidden(made, "stack", stack);
  return made;
}
