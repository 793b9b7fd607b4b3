// The versions that objects were read in. A store takes what its versions have a form for (needs.js). What a script has read there, it can
// put there again, though not every browser of these versions could have written it: so some objects are remembered. Errors are not:
// scripts can change what they are.
import { flagsOf } from "./slots.js";

const FLAGS = (1 << 7) | (1 << 8);
const HOSTS = new Set(["CryptoKey", "FileSystemFileHandle", "FileSystemDirectoryHandle", "ImageBitmap", "ImageData"]);

export class ReadIn {
  #versions = new WeakMap();

  buffer(buffer, version) {
    this.#versions.set(buffer, { version, flags: 0 });
  }

  // `compile` can make another regular expression of one: then it is new.
  regexp(regexp, flags, version) {
    if ((flags & FLAGS) !== 0) this.#versions.set(regexp, { version, flags });
  }

  host(object, name, version) {
    if (HOSTS.has(name)) this.#versions.set(object, { version, flags: 0 });
  }

  // The versions that an object was read in, as one number; 0 if it is new.
  of(object) {
    return this.#versions.get(object)?.version ?? 0;
  }

  ofRegexp(regexp) {
    const found = this.#versions.get(regexp);
    return found !== undefined && found.flags === flagsOf(regexp) ? found.version : 0;
  }
}
