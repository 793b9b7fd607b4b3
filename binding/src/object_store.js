// IDBObjectStore (specification, 4.5).
export function objectStore(binding) {
  const { includes, isArray, list, OwnMap } = binding.builtIns;
  const { attach, checkConstructor, domException, exposeInterface, INTERNAL, requireArguments, stateOf } = binding.internals;
  const { createIndex } = binding.index;
  const { toKey } = binding.key;
  const { isValidKeyPath, keyPathValue } = binding.keyPath;
  const { withName, withoutName } = binding.names;
  const { createStringList } = binding.stringList;
  const { SourceState, toCount, toDirection } = binding.source;
  const { toRange } = binding.keyRange;
  const { toDictionary, toDOMString, toStringOrSequence } = binding.webidl;

  class ObjectStoreState extends SourceState {
    constructor(transaction, handle, name, keyPath, autoIncrement, isNew) {
      super(transaction, handle, name);
      this.keyPath = keyPath;
      this.keyPathValue = keyPathValue(keyPath);
      this.autoIncrement = autoIncrement;
      this.originalName = name;
      this.isNew = isNew;
      this.indexes = new OwnMap();
      this.handedOut = list();
      // In an upgrade, the names of the indexes as script sees them, and before.
      this.names = null;
      if (transaction.mode === "versionchange") this.names = isNew ? [] : this.link.engine.indexNames(handle);
      this.originalNames = this.names;
    }

    isGone() {
      return this.isDeleted;
    }

    markDeleted() {
      this.isDeleted = true;
    }

    // The upgrade that changed it was aborted.
    revert() {
      // What is gone keeps the name that it had last.
      if (!this.isNew) this.name = this.originalName;
      this.isDeleted = this.isNew;
      this.names = this.originalNames;
      for (let i = 0; i < this.handedOut.length; i++) this.handedOut[i].revert();
    }

    indexNames() {
      return this.isDeleted ? [] : (this.names ?? this.link.engine.indexNames(this.handle));
    }

    put(what, value, key, overwrite) {
      this.requireWritable(what);
      if (this.keyPath !== null && key !== undefined) {
        throw domException("DataError", what + ": The object store uses in-line keys and the key parameter was provided.");
      }
      if (this.keyPath === null && !this.autoIncrement && key === undefined) {
        throw domException("DataError", what + ": The object store uses out-of-line keys and the key parameter was not provided.");
      }
      const given = key === undefined ? undefined : toKey(key);
      const clone = this.transaction.serialize(value);
      return this.request(this.link.engine.put, clone, given, overwrite);
    }

    delete(query) {
      this.requireWritable("delete");
      const range = toRange(query, true);
      return this.request(this.link.engine.delete, range);
    }

    clear() {
      this.requireWritable("clear");
      return this.request(this.link.engine.clear);
    }

    requireUpgrade(what) {
      if (this.transaction.mode !== "versionchange") {
        throw domException("InvalidStateError", what + ": The database is not running a version change transaction.");
      }
      this.requireUsable(what);
    }

    rename(name) {
      if (this.isDeleted) throw domException("InvalidStateError", "The object store has been deleted.");
      this.requireUpgrade("name");
      if (name === this.name) return;
      if (includes(this.transaction.database.storeNames(), name)) {
        throw domException("ConstraintError", "An object store with the specified name already exists.");
      }
      const oldName = this.name;
      this.transaction.ask(() => this.link.engine.renameObjectStore(this.handle, name));
      this.name = name;
      this.transaction.renamed(this, oldName);
    }

    createIndex(name, keyPath, unique, multiEntry) {
      this.requireUpgrade("createIndex");
      if (includes(this.indexNames(), name)) {
        throw domException("ConstraintError", "An index with the specified name already exists.");
      }
      if (!isValidKeyPath(keyPath)) throw domException("SyntaxError", "The keyPath argument is not a valid key path.");
      if (isArray(keyPath) && multiEntry) {
        throw domException("InvalidAccessError", "A multiEntry index cannot have an array for its key path.");
      }
      const handle = this.transaction.ask(() =>
        this.link.engine.createIndex(this.handle, name, keyPath, unique, multiEntry),
      );
      this.names = withName(this.names, name);
      return this.remember(createIndex(this, handle, name, keyPath, unique, multiEntry, true));
    }

    deleteIndex(name) {
      this.requireUpgrade("deleteIndex");
      if (!includes(this.indexNames(), name)) {
        throw domException("NotFoundError", "The specified index was not found.");
      }
      this.transaction.ask(() => this.link.engine.deleteIndex(this.handle, name));
      this.names = withoutName(this.names, name);
      this.indexes.get(name)?.markDeleted();
      this.indexes.delete(name);
    }

    index(name) {
      if (this.isDeleted) throw domException("InvalidStateError", "The object store has been deleted.");
      if (this.transaction.state === "finished") {
        throw domException("InvalidStateError", "The transaction has finished.");
      }
      const known = this.indexes.get(name);
      if (known !== undefined) return known;
      if (!includes(this.indexNames(), name)) {
        throw domException("NotFoundError", "The specified index was not found.");
      }
      const found = this.link.engine.index(this.handle, name);
      return this.remember(createIndex(this, found[0], name, found[1], found[2], found[3], false));
    }

    remember(index) {
      this.indexes.set(index.name, index);
      this.handedOut[this.handedOut.length] = index;
      return index;
    }

    renamed(index, oldName) {
      this.names = withName(withoutName(this.names, oldName), index.name);
      if (this.indexes.get(oldName) === index) this.indexes.delete(oldName);
      this.indexes.set(index.name, index);
    }
  }

  class IDBObjectStore {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBObjectStore");
      attach(this, state);
    }
    get name() {
      return stateOf(this, ObjectStoreState).name;
    }
    set name(value) {
      stateOf(this, ObjectStoreState).rename(toDOMString(value));
    }
    get keyPath() {
      return stateOf(this, ObjectStoreState).keyPathValue;
    }
    get indexNames() {
      return createStringList(stateOf(this, ObjectStoreState).indexNames());
    }
    get transaction() {
      return stateOf(this, ObjectStoreState).transaction.wrapper;
    }
    get autoIncrement() {
      return stateOf(this, ObjectStoreState).autoIncrement;
    }
    put(value, key = undefined) {
      const state = stateOf(this, ObjectStoreState);
      requireArguments(arguments.length, 1, "put");
      return state.put("put", value, key, true);
    }
    add(value, key = undefined) {
      const state = stateOf(this, ObjectStoreState);
      requireArguments(arguments.length, 1, "add");
      return state.put("add", value, key, false);
    }
    delete(query) {
      const state = stateOf(this, ObjectStoreState);
      requireArguments(arguments.length, 1, "delete");
      return state.delete(query);
    }
    clear() {
      return stateOf(this, ObjectStoreState).clear();
    }
    get(query) {
      const state = stateOf(this, ObjectStoreState);
      requireArguments(arguments.length, 1, "get");
      return state.get(query);
    }
    getKey(query) {
      const state = stateOf(this, ObjectStoreState);
      requireArguments(arguments.length, 1, "getKey");
      return state.getKey(query);
    }
    getAll(queryOrOptions = undefined, count = undefined) {
      return stateOf(this, ObjectStoreState).getAll("getAll", queryOrOptions, toCount(count), false);
    }
    getAllKeys(queryOrOptions = undefined, count = undefined) {
      return stateOf(this, ObjectStoreState).getAll("getAllKeys", queryOrOptions, toCount(count), false);
    }
    getAllRecords(options = undefined) {
      return stateOf(this, ObjectStoreState).getAll("getAllRecords", options, undefined, true);
    }
    count(query = undefined) {
      return stateOf(this, ObjectStoreState).count(query);
    }
    openCursor(query = undefined, direction = "next") {
      return stateOf(this, ObjectStoreState).openCursor("openCursor", query, toDirection(direction), true);
    }
    openKeyCursor(query = undefined, direction = "next") {
      return stateOf(this, ObjectStoreState).openCursor("openKeyCursor", query, toDirection(direction), false);
    }
    index(name) {
      const state = stateOf(this, ObjectStoreState);
      requireArguments(arguments.length, 1, "index");
      return state.index(toDOMString(name)).wrapper;
    }
    createIndex(name, keyPath, options = undefined) {
      const state = stateOf(this, ObjectStoreState);
      requireArguments(arguments.length, 2, "createIndex");
      const string = toDOMString(name);
      const path = toStringOrSequence(keyPath);
      const { multiEntry, unique } = toDictionary(options, "IDBIndexParameters");
      return state.createIndex(string, path, !!unique, !!multiEntry).wrapper;
    }
    deleteIndex(name) {
      const state = stateOf(this, ObjectStoreState);
      requireArguments(arguments.length, 1, "deleteIndex");
      state.deleteIndex(toDOMString(name));
    }
  }
  exposeInterface(IDBObjectStore, "IDBObjectStore");

  function createObjectStore(transaction, handle, name, keyPath, autoIncrement, isNew) {
    const state = new ObjectStoreState(transaction, handle, name, keyPath, autoIncrement, isNew);
    new IDBObjectStore(INTERNAL, state);
    return state;
  }

  return { ObjectStoreState, IDBObjectStore, createObjectStore };
}
