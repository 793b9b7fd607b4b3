// IDBRequest (specification, 4.1) and the register of what the engine has not answered yet.
import { list, OwnMap } from "./built_ins.js";
import { checkConstructor, domException, exposeInterface } from "./internals.js";
import { createEvent } from "./event.js";
import { defineHandlers, dispatch, EventTarget, EventTargetState } from "./event_target.js";
import { stateOf } from "./internals.js";

const waiting = list();
const free = list();

// The number under which the engine answers once: `answer(error, result)`, called from a task. Then another gets it.
export function expect(answerer) {
  let number = waiting.length;
  if (free.length > 0) {
    number = free[free.length - 1];
    free.length -= 1;
  }
  waiting[number] = answerer;
  return number;
}

// Frees the number of a request that the engine has answered or will not answer, and returns the answerer.
function settle(number) {
  const answerer = waiting[number];
  waiting[number] = undefined;
  free[free.length] = number;
  return answerer;
}

// The engine's answer.
export function complete(number, error, result) {
  settle(number).answer(error, result);
}

// Receivers of what can come more than once: the events of opening and deleting, and of connections. An event may come after its receiver
// has gone, so a number is never used again: the event would reach another receiver.
const watching = new OwnMap();
let last = 0;

export function watch(watcher) {
  last += 1;
  watching.set(last, watcher);
  return last;
}

export function unwatch(number) {
  watching.delete(number);
}

export function notify(number, kind, a, b, c, d, e) {
  watching.get(number)?.notify(kind, a, b, c, d, e);
}

// Makes a request of a transaction: `ask` gets its number and may throw.
export function place(request, ask) {
  const { transaction } = request;
  const number = expect(request);
  try {
    if (transaction.ask(() => (ask(number), true)) === undefined) {
      settle(number);
      transaction.refused[transaction.refused.length] = request;
    }
  } catch (error) {
    settle(number);
    throw error;
  }
  request.done = false;
  request.result = undefined;
  request.error = null;
  transaction.pending += 1;
  return request.wrapper;
}

export class RequestState extends EventTargetState {
  constructor(source, transaction, convert = undefined) {
    super();
    // The wrapper of an object store, index or cursor, or null.
    this.source = source;
    this.transaction = transaction;
    this.done = false;
    this.result = undefined;
    this.error = null;
    // Makes the result of what the engine answers.
    this.convert = convert;
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
      transaction.succeed(this, createEvent("success", false, false));
    } else {
      this.result = undefined;
      this.error = error;
      transaction.fail(this, createEvent("error", true, true));
    }
  }

  fire(event) {
    return dispatch(this, event, true);
  }
}

export class IDBRequest extends EventTarget {
  constructor(token = undefined, state = undefined) {
    checkConstructor(token, "IDBRequest");
    super(token, state);
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
exposeInterface(IDBRequest, "IDBRequest");
defineHandlers(IDBRequest, RequestState, ["success", "error"]);
