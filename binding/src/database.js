// IDBDatabase (specification, 4.4).
export function database(binding) {
  const { includes, isArray, TypeError } = binding.builtIns;
  const { checkConstructor, domException, exposeInterface, INTERNAL, requireArguments, stateOf } = binding.internals;
  const { createEvent } = binding.event;
  const { adopt, defineHandlers, dispatch, EventTarget, EventTargetState, inherit } = binding.eventTarget;
  const { isValidKeyPath } = binding.keyPath;
  const { sortedNames } = binding.names;
  const { createStringList } = binding.stringList;
  const { createTransaction } = binding.transaction;
  const { toDictionary, toDOMString, toEnum, toStringOrSequence } = binding.webidl;
  const { createVersionChangeEvent } = binding.versionChangeEvent;

  const MODES = ["readonly", "readwrite", "versionchange"];
  const DURABILITIES = ["default", "strict", "relaxed"];

  class DatabaseState extends EventTargetState {
    constructor(link, connection, name, version) {
      super();
      this.wrapper = null;
      this.listeners = null;
      this.link = link;
      this.connection = connection;
      link.releaseWhenCollected(this, connection);
      this.watch = link.watch(this);
      link.engine.watchConnection(connection, this.watch);
      this.name = name;
      this.version = version;
      this.closing = false;
      // The live upgrade transaction.
      this.upgrade = null;
    }

    // What happens to the connection.
    notify(kind, oldVersion, newVersion, token) {
      if (kind === "versionChange") {
        if (!this.closing) dispatch(this, createVersionChangeEvent("versionchange", oldVersion, newVersion), true);
        this.link.engine.versionChangeDispatched(token);
      } else {
        this.closing = true;
        this.link.unwatch(this.watch);
        dispatch(this, createEvent("close", false, false), true);
      }
    }

    // During an upgrade, as its transaction's script sees them: the engine may be ahead, and have aborted.
    storeNames() {
      return this.upgrade?.names ?? this.link.engine.objectStoreNames(this.connection);
    }

    close() {
      if (this.closing) return;
      this.closing = true;
      this.link.unwatch(this.watch);
      this.link.engine.closeConnection(this.connection);
    }

    // The upgrade transaction, for what only it can do.
    upgradeTransaction(what) {
      if (this.upgrade === null) {
        throw domException("InvalidStateError", what + ": The database is not running a version change transaction.");
      }
      this.upgrade.requireActive(what);
      return this.upgrade;
    }

    scope(names) {
      const all = typeof names === "string" ? [names] : sortedNames(names);
      const known = this.storeNames();
      for (let i = 0; i < all.length; i++) {
        if (!includes(known, all[i])) throw domException("NotFoundError", "One of the specified object stores was not found.");
      }
      if (all.length === 0) throw domException("InvalidAccessError", "The storeNames parameter was empty.");
      return all;
    }
  }

  class IDBDatabase extends EventTarget {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBDatabase");
      super(token, state);
      adopt(this, state);
    }
    get name() {
      return stateOf(this, DatabaseState).name;
    }
    get version() {
      return stateOf(this, DatabaseState).version;
    }
    get objectStoreNames() {
      return createStringList(stateOf(this, DatabaseState).storeNames());
    }
    transaction(storeNames, mode = "readonly", options = undefined) {
      const state = stateOf(this, DatabaseState);
      requireArguments(arguments.length, 1, "transaction");
      const names = toStringOrSequence(storeNames);
      const wanted = toEnum(mode, MODES, "IDBTransactionMode");
      const given = toDictionary(options, "IDBTransactionOptions").durability;
      const durability = given === undefined ? "default" : toEnum(given, DURABILITIES, "IDBTransactionDurability");
      if (state.upgrade !== null) {
        throw domException("InvalidStateError", "A version change transaction is running.");
      }
      if (state.closing) throw domException("InvalidStateError", "The database connection is closing.");
      const scope = state.scope(names);
      if (wanted === "versionchange") throw new TypeError("The mode provided is not 'readonly' or 'readwrite'.");
      const handle = state.link.engine.beginTransaction(state.connection, scope, wanted, durability);
      const transaction = createTransaction(state, handle, wanted, scope, durability);
      transaction.begin();
      transaction.createdByScript();
      return transaction.wrapper;
    }
    close() {
      stateOf(this, DatabaseState).close();
    }
    createObjectStore(name, options = undefined) {
      const state = stateOf(this, DatabaseState);
      requireArguments(arguments.length, 1, "createObjectStore");
      const string = toDOMString(name);
      const parameters = toDictionary(options, "IDBObjectStoreParameters");
      const autoIncrement = !!parameters.autoIncrement;
      const given = parameters.keyPath;
      const keyPath = given === undefined || given === null ? null : toStringOrSequence(given);
      const transaction = state.upgradeTransaction("createObjectStore");
      if (keyPath !== null && !isValidKeyPath(keyPath)) {
        throw domException("SyntaxError", "The keyPath option is not a valid key path.");
      }
      if (includes(state.storeNames(), string)) {
        throw domException("ConstraintError", "An object store with the specified name already exists.");
      }
      if (autoIncrement && (keyPath === "" || isArray(keyPath))) {
        throw domException("InvalidAccessError", "autoIncrement needs a key path that is neither empty nor an array.");
      }
      return transaction.createStore(string, keyPath, autoIncrement).wrapper;
    }
    deleteObjectStore(name) {
      const state = stateOf(this, DatabaseState);
      requireArguments(arguments.length, 1, "deleteObjectStore");
      const string = toDOMString(name);
      const transaction = state.upgradeTransaction("deleteObjectStore");
      if (!includes(state.storeNames(), string)) {
        throw domException("NotFoundError", "The specified object store was not found.");
      }
      transaction.deleteStore(string);
    }
  }
  exposeInterface(inherit(IDBDatabase), "IDBDatabase");
  defineHandlers(IDBDatabase, DatabaseState, ["abort", "close", "error", "versionchange"]);

  function createDatabase(link, connection, name, version) {
    const state = new DatabaseState(link, connection, name, version);
    new IDBDatabase(INTERNAL, state);
    return state;
  }

  return { DatabaseState, IDBDatabase, createDatabase };
}
