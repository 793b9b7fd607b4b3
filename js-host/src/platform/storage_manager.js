// navigator.storage (Storage, 6): what the origin's databases have, and whether they are to stay. Files of an origin's own
// (getDirectory) there are none.
import { exposeInterface, expect, INTERNAL, stamp, stateOf } from "./binding.js";
import { native } from "./native.js";

class ManagerState {}

// An answer of the engine's.
const asked = (manager, ask) =>
  new Promise((resolve, reject) => {
    stateOf(manager, ManagerState);
    ask(expect({ answer: (error, result) => (error === undefined ? resolve(result) : reject(error)) }));
  });

export class StorageManager {
  constructor(token = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: StorageManager");
    stamp(this, new ManagerState());
  }
  async estimate() {
    const [usage, quota] = await asked(this, native.engine.estimate);
    return { quota, usage, usageDetails: usage > 0 ? { indexedDB: usage } : {} };
  }
  persisted() {
    return asked(this, native.engine.persisted);
  }
  async persist() {
    await asked(this, native.engine.persist);
    return true;
  }
}
exposeInterface(StorageManager, "StorageManager");

export const storageManager = new StorageManager(INTERNAL);
