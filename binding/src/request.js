// IDBRequest (specification, 4.1).
export function request(binding) {
  const { checkConstructor, domException, exposeInterface, stateOf } = binding.internals;
  const { createEvent } = binding.event;
  const { adopt, defineHandlers, EventTarget, EventTargetState, inherit } = binding.eventTarget;

  // Makes a request of a transaction by a function of the engine's, which gets its number and what follows.
  function place(request, call, a, b, c, d) {
    const { transaction } = request;
    if (!transaction.lost) {
      const { link } = transaction;
      const number = link.expect(request);
      try {
        call(number, a, b, c, d);
      } catch (error) {
        link.settle(number);
        transaction.refuse(error);
      }
    }
    if (transaction.lost) transaction.refused[transaction.refused.length] = request;
    request.done = false;
    request.result = undefined;
    request.error = null;
    transaction.pending += 1;
    return request.wrapper;
  }

  class RequestState extends EventTargetState {
    constructor(source, transaction, opening = null) {
      super();
      this.wrapper = null;
      this.listeners = null;
      // The wrapper of an object store, index or cursor, or null.
      this.source = source;
      this.transaction = transaction;
      this.done = false;
      this.result = undefined;
      this.error = null;
      // Makes the result of what the engine answers.
      this.convert = undefined;
      // Of a request to open or delete, what is on its way.
      this.opening = opening;
    }

    get eventParent() {
      return this.transaction;
    }

    answer(error, result) {
      const { transaction } = this;
      transaction.pending -= 1;
      this.done = true;
      // After an abort script sees no other result, whatever the engine's was.
      if (transaction.aborted) {
        error = domException("AbortError", "The transaction was aborted, so the request cannot be fulfilled.");
      }
      if (error === undefined) {
        this.result = this.convert === undefined ? result : this.convert(result);
        transaction.succeed(this);
      } else {
        this.result = undefined;
        this.error = error;
        transaction.fail(this, createEvent("error", true, true));
      }
    }
  }

  class IDBRequest extends EventTarget {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBRequest");
      super(token, state);
      adopt(this, state);
    }
    get result() {
      const state = stateOf(this, RequestState);
      if (!state.done) throw domException("InvalidStateError", "The request has not finished.");
      return state.result;
    }
    get error() {
      const state = stateOf(this, RequestState);
      if (!state.done) throw domException("InvalidStateError", "The request has not finished.");
      return state.error;
    }
    get source() {
      return stateOf(this, RequestState).source;
    }
    get transaction() {
      return stateOf(this, RequestState).transaction?.wrapper ?? null;
    }
    get readyState() {
      return stateOf(this, RequestState).done ? "done" : "pending";
    }
  }
  exposeInterface(inherit(IDBRequest), "IDBRequest");
  defineHandlers(IDBRequest, RequestState, ["success", "error"]);

  return { place, RequestState, IDBRequest };
}
