// IDBFactory (specification, 4.3).
import { checkConstructor, exposeInterface, INTERNAL, requireArguments, stamp, stateOf } from "./internals.js";
import { hooks } from "./hooks.js";
import { toKey } from "./key.js";
import { createOpenRequest } from "./open_request.js";
import { expect } from "./request.js";
import { toDOMString, toUnsignedLongLong } from "./webidl.js";

class FactoryState {}

export class IDBFactory {
  constructor(token = undefined) {
    checkConstructor(token, "IDBFactory");
    stamp(this, new FactoryState());
  }
  open(name, version = undefined) {
    stateOf(this, FactoryState);
    requireArguments(arguments.length, 1, "open");
    const string = toDOMString(name);
    const number = version === undefined ? undefined : toUnsignedLongLong(version, "The version");
    if (number === 0) throw new TypeError("The version provided must not be 0.");
    return createOpenRequest((request) => hooks.engine.openDatabase(request, string, number));
  }
  deleteDatabase(name) {
    stateOf(this, FactoryState);
    requireArguments(arguments.length, 1, "deleteDatabase");
    const string = toDOMString(name);
    return createOpenRequest((request) => hooks.engine.deleteDatabase(request, string));
  }
  // A promise's operation throws nothing: it rejects.
  async databases() {
    stateOf(this, FactoryState);
    const found = await new Promise((resolve, reject) => {
      const answer = (error, result) => (error === undefined ? resolve(result) : reject(error));
      hooks.engine.databases(expect({ answer }));
    });
    return found.map(([name, version]) => ({ name, version }));
  }
  cmp(first, second) {
    stateOf(this, FactoryState);
    requireArguments(arguments.length, 2, "cmp");
    const a = toKey(first);
    const b = toKey(second);
    return hooks.engine.compare(a, b);
  }
}
exposeInterface(IDBFactory, "IDBFactory");

export function createFactory() {
  return new IDBFactory(INTERNAL);
}
