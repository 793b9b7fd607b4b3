// location and navigator: what scripts look at to find out where they run.
import { exposeInterface, INTERNAL } from "./binding.js";
import { isWorker, native } from "./native.js";
import { StorageManager, storageManager } from "./storage_manager.js";
import { URL } from "./url.js";

// A worker's interfaces are the same by other names.
const nameHere = (name) => (isWorker ? `Worker${name}` : name);

class Location {
  #url;
  constructor(token = undefined, url = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#url = url;
  }
  // A worker's file has the origin as well: it stands for what the origin serves.
  get origin() {
    void this.#url;
    return native.origin;
  }
  get href() {
    return this.#url.href;
  }
  get protocol() {
    return this.#url.protocol;
  }
  get host() {
    return this.#url.host;
  }
  get hostname() {
    return this.#url.hostname;
  }
  get port() {
    return this.#url.port;
  }
  get pathname() {
    return this.#url.pathname;
  }
  get search() {
    return this.#url.search;
  }
  get hash() {
    return this.#url.hash;
  }
  toString() {
    return this.href;
  }
}
exposeInterface(Location, nameHere("Location"));
export const location = new Location(INTERNAL, new URL(native.href));

class Navigator {
  constructor(token = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
  }
  get userAgent() {
    return "Larder";
  }
  get platform() {
    return "";
  }
  get language() {
    return "en";
  }
  get languages() {
    return ["en"];
  }
  get onLine() {
    return false;
  }
  get storage() {
    return storageManager;
  }
  get hardwareConcurrency() {
    return 1;
  }
}
exposeInterface(Navigator, nameHere("Navigator"));
export const navigator = new Navigator(INTERNAL);

export const interfaces = { [Location.name]: Location, [Navigator.name]: Navigator, StorageManager };
