// location and navigator: what scripts look at to find out where they run.
import { exposeInterface, INTERNAL } from "../binding/mod.js";
import { isWorker, native } from "./native.js";
import { StorageManager, storageManager } from "./storage_manager.js";

// A worker's interfaces are the same by other names.
const nameHere = (name) => (isWorker ? `Worker${name}` : name);

class Location {
  #origin;
  constructor(token = undefined, origin = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#origin = origin;
  }
  get origin() {
    return this.#origin;
  }
  get href() {
    return `${this.#origin}/${this.search}`;
  }
  get protocol() {
    return this.#origin.slice(0, this.#origin.indexOf(":") + 1);
  }
  get host() {
    return this.#origin.slice(this.#origin.indexOf("//") + 2);
  }
  get hostname() {
    return this.host.replace(/:\d+$/, "");
  }
  get port() {
    return /:(\d+)$/.exec(this.host)?.[1] ?? "";
  }
  get pathname() {
    return "/";
  }
  get search() {
    return native.search;
  }
  get hash() {
    return "";
  }
  toString() {
    return this.href;
  }
}
exposeInterface(Location, nameHere("Location"));
export const location = new Location(INTERNAL, native.origin);

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
