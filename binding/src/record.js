// IDBRecord: one of getAllRecords()'s.
export function record(binding) {
  const { setApart } = binding.builtIns;
  const { checkConstructor, exposeInterface, INTERNAL, stamp, stateOf } = binding.internals;

  class RecordState {
    constructor(key, primaryKey, value) {
      this.key = key;
      this.primaryKey = primaryKey;
      this.value = value;
    }
  }
  setApart(RecordState);

  class IDBRecord {
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

  function createRecord(key, primaryKey, value) {
    return new IDBRecord(INTERNAL, new RecordState(key, primaryKey, value));
  }

  return { IDBRecord, createRecord };
}
