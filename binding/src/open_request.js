// IDBOpenDBRequest (specification, 4.1) and the course of opening and deleting (5.1, 5.7, 5.8).
export function openRequest(binding) {
  const { construct, setApart } = binding.builtIns;
  const { checkConstructor, exposeInterface, INTERNAL } = binding.internals;
  const { createEvent } = binding.event;
  const { adopt, defineHandlers, dispatch, EventTarget } = binding.eventTarget;
  const { createVersionChangeEvent } = binding.versionChangeEvent;
  const { createDatabase } = binding.database;
  const { createTransaction } = binding.transaction;
  const { IDBRequest, RequestState } = binding.request;

  // What is on its way to the result of a request. The request's state is as those of all others: V8 would throw away what it has compiled for those.
  class Opening {
    constructor(link) {
      this.link = link;
      this.number = link.watch(this);
      this.request = new RequestState(null, null, this);
      this.database = null;
    }

    // An event on the way to the result.
    notify(kind, a, b, c, d, e) {
      this[kind](a, b, c, d, e);
    }

    blocked(oldVersion, newVersion) {
      dispatch(this.request, createVersionChangeEvent("blocked", oldVersion, newVersion), true);
    }

    upgrade(connection, handle, name, oldVersion, newVersion) {
      const { request } = this;
      this.database = createDatabase(this.link, connection, name, newVersion);
      const transaction = createTransaction(this.database, handle, "versionchange", null, "default");
      transaction.upgrades(this, oldVersion);
      request.result = this.database.wrapper;
      request.transaction = transaction;
      request.done = true;
      transaction.begin();
      const event = createVersionChangeEvent("upgradeneeded", oldVersion, newVersion);
      dispatch(request, event, true);
      transaction.afterUpgradeNeeded(event);
    }

    // The upgrade's transaction has ended.
    upgraded(aborted) {
      const { request } = this;
      request.transaction = null;
      if (aborted) {
        request.result = undefined;
        request.done = false;
      }
    }

    opened(error, connection, name, version) {
      const { request } = this;
      this.link.unwatch(this.number);
      request.transaction = null;
      request.done = true;
      if (error === undefined) {
        this.database ??= createDatabase(this.link, connection, name, version);
        request.result = this.database.wrapper;
        request.error = null;
        dispatch(request, createEvent("success", false, false), true);
      } else {
        request.result = undefined;
        request.error = error;
        dispatch(request, createEvent("error", true, true), true);
      }
    }

    deleted(error, oldVersion) {
      const { request } = this;
      this.link.unwatch(this.number);
      request.done = true;
      if (error === undefined) {
        request.result = undefined;
        dispatch(request, createVersionChangeEvent("success", oldVersion, null), true);
      } else {
        request.error = error;
        dispatch(request, createEvent("error", true, true), true);
      }
    }
  }
  setApart(Opening);

  // States of requests that open or delete, for the brand check.
  class OpenRequestState {
    static [Symbol.hasInstance](state) {
      return state instanceof RequestState && state.opening !== null;
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
    const { number, request } = new Opening(link);
    try {
      ask(number);
    } catch (error) {
      link.unwatch(number);
      throw error;
    }
    // Not by the constructor of all requests, as above.
    const wrapper = construct(EventTarget, [INTERNAL, request], IDBOpenDBRequest);
    adopt(wrapper, request);
    return wrapper;
  }

  return { IDBOpenDBRequest, createOpenRequest };
}
