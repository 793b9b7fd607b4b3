// localStorage and sessionStorage (HTML, 12.2): in memory, and gone at the end. Chromium keeps the first in a LevelDB of its own,
// "Local Storage", beside IndexedDB: that is neither read nor written.
import { exposeInterface, INTERNAL, requireArguments, stamp, stateOf, webidl } from "./binding.js";

const { toDOMString } = webidl;

// As in Chromium: so many code units in all keys and values.
const UNITS_MAX = 10 * 1024 * 1024 / 2;

class StorageState {
  items = new Map();
  units = 0;

  set(key, value) {
    const old = this.items.get(key);
    const units = this.units + (old === undefined ? key.length : -old.length) + value.length;
    if (units > UNITS_MAX) {
      throw new DOMException(`Setting the value of '${key}' exceeded the quota.`, "QuotaExceededError");
    }
    this.items.set(key, value);
    this.units = units;
  }

  remove(key) {
    const old = this.items.get(key);
    if (old === undefined) return;
    this.items.delete(key);
    this.units -= key.length + old.length;
  }
}

export class Storage {
  constructor(token = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: Storage");
  }
  get length() {
    return stateOf(this, StorageState).items.size;
  }
  key(index) {
    const { items } = stateOf(this, StorageState);
    requireArguments(arguments.length, 1, "key");
    return [...items.keys()][index >>> 0] ?? null;
  }
  getItem(key) {
    const { items } = stateOf(this, StorageState);
    requireArguments(arguments.length, 1, "getItem");
    return items.get(toDOMString(key)) ?? null;
  }
  setItem(key, value) {
    const state = stateOf(this, StorageState);
    requireArguments(arguments.length, 2, "setItem");
    state.set(toDOMString(key), toDOMString(value));
  }
  removeItem(key) {
    const state = stateOf(this, StorageState);
    requireArguments(arguments.length, 1, "removeItem");
    state.remove(toDOMString(key));
  }
  clear() {
    const state = stateOf(this, StorageState);
    state.items.clear();
    state.units = 0;
  }
}
exposeInterface(Storage, "Storage");

// Items are properties, too, where no property of the interface has the name. Such a name is set on the object itself, as in Chromium.
function withItems(state) {
  const isItem = (target, key) => typeof key === "string" && state.items.has(key) && !(key in target);
  const storage = new Proxy(new Storage(INTERNAL), {
    get: (target, key, receiver) => (isItem(target, key) ? state.items.get(key) : Reflect.get(target, key, receiver)),
    has: (target, key) => isItem(target, key) || Reflect.has(target, key),
    set(target, key, value) {
      if (typeof key !== "string" || key in target) return Reflect.set(target, key, value);
      state.set(key, toDOMString(value));
      return true;
    },
    deleteProperty(target, key) {
      if (!isItem(target, key)) return Reflect.deleteProperty(target, key);
      state.remove(key);
      return true;
    },
    ownKeys: (target) => [...[...state.items.keys()].filter((key) => isItem(target, key)), ...Reflect.ownKeys(target)],
    getOwnPropertyDescriptor(target, key) {
      if (!isItem(target, key)) return Reflect.getOwnPropertyDescriptor(target, key);
      return { value: state.items.get(key), writable: true, enumerable: true, configurable: true };
    },
    defineProperty(target, key, descriptor) {
      if (typeof key !== "string" || key in target) return Reflect.defineProperty(target, key, descriptor);
      if (!("value" in descriptor)) return false;
      state.set(key, toDOMString(descriptor.value));
      return true;
    },
    preventExtensions: () => false,
  });
  stamp(storage, state);
  return storage;
}

// They are a window's.
export const storages = { localStorage: withItems(new StorageState()), sessionStorage: withItems(new StorageState()) };
