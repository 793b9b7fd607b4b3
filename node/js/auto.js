// Puts IndexedDB on the global object. Tests put a factory of their own in its place (`indexedDB = new IDBFactory()`), which a browser's accessor would not
// take: here it is a plain property.
import { install } from "./index.js";

const value = install(globalThis);
Object.defineProperty(globalThis, "indexedDB", { value, writable: true, enumerable: true, configurable: true });
