// IDBIndex (specification, 4.6).
export function index(binding) {
  const { includes } = binding.builtIns;
  const { attach, checkConstructor, domException, exposeInterface, INTERNAL, requireArguments, stateOf } = binding.internals;
  const { keyPathValue } = binding.keyPath;
  const { SourceState, toCount, toDirection } = binding.source;
  const { toDOMString } = binding.webidl;

  class IndexState extends SourceState {
    constructor(store, handle, name, keyPath, unique, multiEntry, isNew) {
      super(store.transaction, handle, name);
      this.store = store;
      this.keyPathValue = keyPathValue(keyPath);
      this.unique = unique;
      this.multiEntry = multiEntry;
      this.originalName = name;
      this.isNew = isNew;
    }

    isGone() {
      return this.isDeleted || this.store.isDeleted;
    }

    markDeleted() {
      this.isDeleted = true;
    }

    revert() {
      if (!this.isNew) this.name = this.originalName;
      this.isDeleted = this.isNew;
    }

    rename(name) {
      if (this.transaction.mode !== "versionchange") {
        throw domException("InvalidStateError", "The database is not running a version change transaction.");
      }
      this.requireUsable("name");
      if (name === this.name) return;
      if (includes(this.store.indexNames(), name)) {
        throw domException("ConstraintError", "An index with the specified name already exists.");
      }
      const oldName = this.name;
      this.transaction.ask(() => this.link.engine.renameIndex(this.handle, name));
      this.name = name;
      this.store.renamed(this, oldName);
    }
  }

  class IDBIndex {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBIndex");
      attach(this, state);
    }
    get name() {
      return stateOf(this, IndexState).name;
    }
    set name(value) {
      stateOf(this, IndexState).rename(toDOMString(value));
    }
    get objectStore() {
      return stateOf(this, IndexState).store.wrapper;
    }
    get keyPath() {
      return stateOf(this, IndexState).keyPathValue;
    }
    get multiEntry() {
      return stateOf(this, IndexState).multiEntry;
    }
    get unique() {
      return stateOf(this, IndexState).unique;
    }
    get(query) {
      const state = stateOf(this, IndexState);
      requireArguments(arguments.length, 1, "get");
      return state.get(query);
    }
    getKey(query) {
      const state = stateOf(this, IndexState);
      requireArguments(arguments.length, 1, "getKey");
      return state.getKey(query);
    }
    getAll(queryOrOptions = undefined, count = undefined) {
      return stateOf(this, IndexState).getAll("getAll", queryOrOptions, toCount(count), false);
    }
    getAllKeys(queryOrOptions = undefined, count = undefined) {
      return stateOf(this, IndexState).getAll("getAllKeys", queryOrOptions, toCount(count), false);
    }
    getAllRecords(options = undefined) {
      return stateOf(this, IndexState).getAll("getAllRecords", options, undefined, true);
    }
    count(query = undefined) {
      return stateOf(this, IndexState).count(query);
    }
    openCursor(query = undefined, direction = "next") {
      return stateOf(this, IndexState).openCursor("openCursor", query, toDirection(direction), true);
    }
    openKeyCursor(query = undefined, direction = "next") {
      return stateOf(this, IndexState).openCursor("openKeyCursor", query, toDirection(direction), false);
    }
  }
  exposeInterface(IDBIndex, "IDBIndex");

  function createIndex(store, handle, name, keyPath, unique, multiEntry, isNew) {
    const state = new IndexState(store, handle, name, keyPath, unique, multiEntry, isNew);
    new IDBIndex(INTERNAL, state);
    return state;
  }

  return { IndexState, IDBIndex, createIndex };
}
