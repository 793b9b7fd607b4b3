// IDBFactory (specification, 4.3).
import { Promise, setApart, TypeError } from "./built_ins.js";
import { checkConstructor, exposeInterface, INTERNAL, requireArguments, stamp, stateOf } from "./internals.js";
import { hooks } from "./hooks.js";
import { toKey } from "./key.js";
import { createOpenRequest } from "./open_request.js";
import { expect } from "./request.js";
import { toDOMString, toUnsignedLongLong } from "./webidl.js";

class FactoryState {}

function toDatabases(found) {
  for (let i = 0; i < found.length; i++) found[i] = { name: found[i][0], version: found[i][1] };
  return found;
}
setApart(FactoryState);

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
  databases() {
    return new Promise((resolve, reject) => {
      try {
        stateOf(this, FactoryState);
      } catch (error) {
        // An operation that gives a promise throws nothing.
        reject(error);
        return;
      }
      const answer = (error, found) => (error === undefined ? resolve(toDatabases(found)) : reject(error));
      hooks.engine.databases(expect({ answer }));
    });
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
