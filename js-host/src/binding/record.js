// IDBRecord: one of getAllRecords()'s.
import { setApart } from "./built_ins.js";
import { checkConstructor, exposeInterface, INTERNAL, stamp, stateOf } from "./internals.js";

class RecordState {
  constructor(key, primaryKey, value) {
    this.key = key;
    this.primaryKey = primaryKey;
    this.value = value;
  }
}
setApart(RecordState);

export class IDBRecord {
  constructor(token = undefined, state = undefined) {
    checkConstructor(token, "IDBRecord");
    stamp(this, state);
  }
  get key() {
    return stateOf(this, RecordState).key;
  }
  get primaryKey() {
    return stateOf(this, RecordState).primaryKey;
  }
  get value() {
    return stateOf(this, RecordState).value;
  }
}
exposeInterface(IDBRecord, "IDBRecord");

export function createRecord(key, primaryKey, value) {
  return new IDBRecord(INTERNAL, new RecordState(key, primaryKey, value));
}
