// IDBTransaction (specification, 4.10) and its life: active, inactive, committing, finished (2.7.1).
//
// The engine queues and carries out; here lies when script may place requests and when to commit.
export function transaction(binding) {
  const { includes, list, messageOf, nameOf, OwnMap } = binding.builtIns;
  const { checkConstructor, domException, exposeInterface, INTERNAL, peek, requireArguments, stateOf } = binding.internals;
  const { createEvent } = binding.event;
  const { adopt, defineHandlers, dispatch, EventTarget, EventTargetState, inherit } = binding.eventTarget;
  const { atEndOfCheckpoint } = binding.checkpoint;
  const { sortedNames, withName, withoutName } = binding.names;
  const { createObjectStore } = binding.objectStore;
  const { createStringList } = binding.stringList;
  const { toDOMString } = binding.webidl;

  // Whether a target hears events that do not bubble and are of a target within.
  const captures = ({ listeners }) => listeners !== null && listeners.capturing > 0;

  class TransactionState extends EventTargetState {
    constructor(database, handle, mode, scope, durability) {
      super();
      this.wrapper = null;
      this.listeners = null;
      this.database = database;
      this.link = database.link;
      this.handle = handle;
      this.link.releaseWhenCollected(this, handle);
      this.mode = mode;
      // Names; null of an upgrade, whose scope changes.
      this.scope = scope;
      this.durability = durability;
      this.state = "active";
      // Requests that are not done.
      this.pending = 0;
      // The engine has aborted it, and the event is still to come: for script it is active until then.
      this.lost = false;
      // Requests that the engine did not take then.
      this.refused = list();
      // For an upgrade: the names of the object stores as script sees them, and as they were when it began.
      this.names = null;
      this.originalNames = null;
      this.error = null;
      this.aborted = false;
      this.abortedByScript = false;
      this.isCommitCalled = false;
      // Object stores by name: the same object for the same name.
      this.stores = new OwnMap();
      // All that were ever handed out, for what an abort reverts.
      this.handedOut = list();
      this.opening = null;
      this.oldVersion = 0;
    }

    get eventParent() {
      return this.database;
    }

    begin() {
      this.link.engine.watchTransaction(this.handle, this.link.expect(this));
    }

    createdByScript() {
      atEndOfCheckpoint(this);
    }

    upgrades(opening, oldVersion) {
      this.opening = opening;
      this.oldVersion = oldVersion;
      this.names = this.originalNames = this.database.storeNames();
      this.database.upgrade = this;
    }

    // Calls the engine. Once the engine has aborted and the event is still to come, returns undefined and calls no more: a new index
    // has been found to break its constraint, for instance, and script must not see that before the event, whose turn comes later.
    ask(call) {
      if (this.lost) return undefined;
      try {
        return call();
      } catch (error) {
        return this.refuse(error);
      }
    }

    // What the engine has thrown is thrown on, unless it says no more than that the engine has ended the transaction.
    refuse(error) {
      const name = nameOf(error);
      const isRefusal = name === "InvalidStateError" || name === "TransactionInactiveError";
      if (!isRefusal || this.state !== "active") throw error;
      this.lost = true;
    }

    requireActive(what) {
      if (this.state !== "active") {
        const why = this.state === "finished" ? "has finished" : "is not active";
        throw domException("TransactionInactiveError", what + ": The transaction " + why + ".");
      }
    }

    // Clones a value. Its getters run meanwhile: not as part of this transaction. V8 compiles what a `finally` stands around for several times as long.
    serialize(value) {
      this.state = "inactive";
      let clone;
      try {
        clone = this.link.serialize(value);
      } catch (error) {
        this.reactivate();
        throw error;
      }
      this.reactivate();
      return clone;
    }

    reactivate() {
      if (this.state === "inactive") this.state = "active";
    }

    deactivateAfterCreation() {
      if (this.state !== "active") return;
      this.state = "inactive";
      this.commitIfDone();
    }

    commitIfDone() {
      if (this.pending > 0 || this.isCommitCalled || this.aborted) return;
      if (this.state === "inactive") this.state = "committing";
      if (this.state !== "committing") return;
      this.isCommitCalled = true;
      this.link.engine.commit(this.handle);
    }

    // Dispatches an event of one of its requests. Returns whether the default action is to follow: no listener has prevented it or thrown.
    fire(request, event) {
      this.reactivate();
      const notPrevented = dispatch(request, event, true);
      if (this.state === "active") {
        this.state = "inactive";
        if (peek(event).listenersThrew) {
          this.abort(domException("AbortError", "An event listener threw an exception."));
          return false;
        }
      }
      return notPrevented;
    }

    // Without an event, if nothing would hear it.
    succeed(request) {
      if (request.listeners !== null || captures(this) || captures(this.database)) this.fire(request, createEvent("success", false, false));
      else if (this.state === "active") this.state = "inactive";
      this.commitIfDone();
    }

    fail(request, event) {
      const wasFinished = this.state === "finished";
      const notPrevented = this.fire(request, event);
      if (!wasFinished && notPrevented && this.state !== "finished") this.abort(request.error);
      this.commitIfDone();
    }

    afterUpgradeNeeded(event) {
      if (this.state === "active") {
        this.state = "inactive";
        if (peek(event).listenersThrew) {
          this.abort(domException("AbortError", "A listener of upgradeneeded threw an exception."));
        }
      }
      this.commitIfDone();
    }

    abort(error) {
      this.state = "finished";
      this.aborted = true;
      this.error = error;
      this.link.engine.abort(this.handle, error === null ? null : nameOf(error), error === null ? "" : messageOf(error));
      this.revert();
    }

    // What an aborted upgrade had changed is as before.
    revert() {
      if (this.opening === null) return;
      this.database.version = this.oldVersion;
      this.names = this.originalNames;
      for (let i = 0; i < this.handedOut.length; i++) this.handedOut[i].revert();
    }

    // The engine's answer: it has ended.
    answer(error) {
      const wasAborted = this.aborted;
      this.state = "finished";
      if (error !== undefined) {
        this.aborted = true;
        if (!this.abortedByScript) this.error = error;
        if (!wasAborted) this.revert();
        const { refused } = this;
        this.refused = list();
        for (let i = 0; i < refused.length; i++) refused[i].answer();
      }
      if (this.opening !== null) this.database.upgrade = null;
      const event = this.aborted ? createEvent("abort", true, false) : createEvent("complete", false, false);
      const { opening } = this;
      dispatch(this, event, true);
      if (opening !== null) opening.upgraded(this.aborted);
    }

    remember(store) {
      this.stores.set(store.name, store);
      this.handedOut[this.handedOut.length] = store;
      return store;
    }

    store(name) {
      if (this.state === "finished") throw domException("InvalidStateError", "The transaction has finished.");
      const known = this.stores.get(name);
      if (known !== undefined) return known;
      const names = this.scope ?? this.database.storeNames();
      if (!includes(names, name)) throw domException("NotFoundError", "The specified object store was not found.");
      const found = this.link.engine.objectStore(this.handle, name);
      return this.remember(createObjectStore(this, found[0], name, found[1], found[2], false));
    }

    createStore(name, keyPath, autoIncrement) {
      const handle = this.ask(() => this.link.engine.createObjectStore(this.handle, name, keyPath, autoIncrement));
      this.names = withName(this.names, name);
      return this.remember(createObjectStore(this, handle, name, keyPath, autoIncrement, true));
    }

    deleteStore(name) {
      this.ask(() => this.link.engine.deleteObjectStore(this.handle, name));
      this.names = withoutName(this.names, name);
      this.stores.get(name)?.markDeleted();
      this.stores.delete(name);
    }

    renamed(store, oldName) {
      this.names = withName(withoutName(this.names, oldName), store.name);
      if (this.stores.get(oldName) === store) this.stores.delete(oldName);
      this.stores.set(store.name, store);
    }
  }

  class IDBTransaction extends EventTarget {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBTransaction");
      super(token, state);
      adopt(this, state);
    }
    get objectStoreNames() {
      const state = stateOf(this, TransactionState);
      return createStringList(state.scope ?? state.database.storeNames());
    }
    get mode() {
      return stateOf(this, TransactionState).mode;
    }
    get durability() {
      return stateOf(this, TransactionState).durability;
    }
    get db() {
      return stateOf(this, TransactionState).database.wrapper;
    }
    get error() {
      return stateOf(this, TransactionState).error;
    }
    objectStore(name) {
      const state = stateOf(this, TransactionState);
      requireArguments(arguments.length, 1, "objectStore");
      return state.store(toDOMString(name)).wrapper;
    }
    commit() {
      const state = stateOf(this, TransactionState);
      if (state.state !== "active") {
        throw domException("InvalidStateError", "The transaction is not active.");
      }
      state.state = "committing";
      state.commitIfDone();
    }
    abort() {
      const state = stateOf(this, TransactionState);
      if (state.state === "committing" || state.state === "finished") {
        throw domException("InvalidStateError", "The transaction is committing or has finished.");
      }
      state.abortedByScript = true;
      state.abort(null);
    }
  }
  exposeInterface(inherit(IDBTransaction), "IDBTransaction");
  defineHandlers(IDBTransaction, TransactionState, ["abort", "complete", "error"]);

  function createTransaction(database, handle, mode, scope, durability) {
    const sorted = scope === null ? null : sortedNames(scope);
    const state = new TransactionState(database, handle, mode, sorted, durability);
    new IDBTransaction(INTERNAL, state);
    return state;
  }

  return { TransactionState, IDBTransaction, createTransaction };
}
