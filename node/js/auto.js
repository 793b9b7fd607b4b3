// Puts IndexedDB on the global object.
import { install } from "./index.js";

install(globalThis);
