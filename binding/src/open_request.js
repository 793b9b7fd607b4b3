// IDBOpenDBRequest (specification, 4.1) and the course of opening and deleting (5.1, 5.7, 5.8).
export function openRequest(binding) {
  const { checkConstructor, exposeInterface, INTERNAL } = binding.internals;
  const { createEvent } = binding.event;
  const { defineHandlers, dispatch } = binding.eventTarget;
  const { createVersionChangeEvent } = binding.versionChangeEvent;
  const { createDatabase } = binding.database;
  const { createTransaction } = binding.transaction;
  const { IDBRequest, RequestState } = binding.request;

  class OpenRequestState extends RequestState {
    constructor(link) {
      super(null, null);
      this.link = link;
      this.number = 0;
      this.database = null;
    }

    // An event on the way to the result.
    notify(kind, a, b, c, d, e) {
      this[kind](a, b, c, d, e);
    }

    blocked(oldVersion, newVersion) {
      dispatch(this, createVersionChangeEvent("blocked", oldVersion, newVersion), true);
    }

    upgrade(connection, handle, name, oldVersion, newVersion) {
      this.database = createDatabase(this.link, connection, name, newVersion);
      const transaction = createTransaction(this.database, handle, "versionchange", null, "default");
      transaction.upgrades(this, oldVersion);
      this.result = this.database.wrapper;
      this.transaction = transaction;
      this.done = true;
      transaction.begin();
      const event = createVersionChangeEvent("upgradeneeded", oldVersion, newVersion);
      dispatch(this, event, true);
      transaction.afterUpgradeNeeded(event);
    }

    // The upgrade's transaction has ended.
    upgraded(aborted) {
      this.transaction = null;
      if (aborted) {
        this.result = undefined;
        this.done = false;
      }
    }

    opened(error, connection, name, version) {
      this.link.unwatch(this.number);
      this.transaction = null;
      this.done = true;
      if (error === undefined) {
        this.database ??= createDatabase(this.link, connection, name, version);
        this.result = this.database.wrapper;
        this.error = null;
        dispatch(this, createEvent("success", false, false), true);
      } else {
        this.result = undefined;
        this.error = error;
        dispatch(this, createEvent("error", true, true), true);
      }
    }

    deleted(error, oldVersion) {
      this.link.unwatch(this.number);
      this.done = true;
      if (error === undefined) {
        this.result = undefined;
        dispatch(this, createVersionChangeEvent("success", oldVersion, null), true);
      } else {
        this.error = error;
        dispatch(this, createEvent("error", true, true), true);
      }
    }
  }

  class IDBOpenDBRequest extends IDBRequest {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBOpenDBRequest");
      super(token, state);
    }
  }
  exposeInterface(IDBOpenDBRequest, "IDBOpenDBRequest");
  defineHandlers(IDBOpenDBRequest, OpenRequestState, ["blocked", "upgradeneeded"]);

  function createOpenRequest(link, ask) {
    const state = new OpenRequestState(link);
    state.number = link.watch(state);
    try {
      ask(state.number);
    } catch (error) {
      link.unwatch(state.number);
      throw error;
    }
    return new IDBOpenDBRequest(INTERNAL, state);
  }

  return { IDBOpenDBRequest, createOpenRequest };
}
