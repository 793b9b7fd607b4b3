// Exceptions and rejections that nobody caught (HTML, 8.1.4.6 and 8.1.4.7).
import { dispatch, EventState, Event, exposeInterface, INTERNAL, peek, requireArguments, stateOf, webidl } from "../binding/mod.js";
import { native } from "./native.js";

const { toDictionary, toDOMString } = webidl;

class ErrorState extends EventState {
  get isErrorReport() {
    return this.type === "error";
  }
  // Message, file, line, column and error.
  get pieces() {
    return [this.message, "", 0, 0, this.error];
  }
}

export class ErrorEvent extends Event {
  constructor(type, init = undefined) {
    if (type === INTERNAL) {
      super(INTERNAL, init);
      return;
    }
    requireArguments(arguments.length, 1, "ErrorEvent");
    const options = toDictionary(init, "ErrorEventInit");
    const state = new ErrorState(toDOMString(type), !!options.bubbles, !!options.cancelable);
    state.message = options.message === undefined ? "" : toDOMString(options.message);
    state.error = options.error;
    super(INTERNAL, state);
  }
  get message() {
    return stateOf(this, ErrorState).message;
  }
  get filename() {
    stateOf(this, ErrorState);
    return "";
  }
  get lineno() {
    stateOf(this, ErrorState);
    return 0;
  }
  get colno() {
    stateOf(this, ErrorState);
    return 0;
  }
  get error() {
    return stateOf(this, ErrorState).error;
  }
}
exposeInterface(ErrorEvent, "ErrorEvent");

class RejectionState extends EventState {}

export class PromiseRejectionEvent extends Event {
  constructor(type, init = undefined) {
    if (type === INTERNAL) {
      super(INTERNAL, init);
      return;
    }
    requireArguments(arguments.length, 2, "PromiseRejectionEvent");
    const options = toDictionary(init, "PromiseRejectionEventInit");
    if (options.promise === undefined) throw new TypeError("promise is required");
    const state = new RejectionState(toDOMString(type), !!options.bubbles, !!options.cancelable);
    state.promise = options.promise;
    state.reason = options.reason;
    super(INTERNAL, state);
  }
  get promise() {
    return stateOf(this, RejectionState).promise;
  }
  get reason() {
    return stateOf(this, RejectionState).reason;
  }
}
exposeInterface(PromiseRejectionEvent, "PromiseRejectionEvent");

// Of causes of causes the first are shown: a chain can lead back to its beginning.
const CAUSES_MAX = 4;

export function describe(error, depth = 0) {
  try {
    if (error !== null && typeof error === "object" && typeof error.stack === "string") {
      const text = `${error}\n${error.stack}`.trimEnd();
      if (depth >= CAUSES_MAX) return text;
      const parts = error instanceof AggregateError ? [...error.errors].map((part) => ["one of", part]) : [];
      if (Object.hasOwn(error, "cause")) parts.unshift(["caused by", error.cause]);
      return [text, ...parts.map(([what, part]) => `${what}: ${describe(part, depth + 1)}`)].join("\n");
    }
    return String(error);
  } catch {
    return "an exception that cannot be shown";
  }
}

let reporting = false;

export function reportError(error) {
  const text = describe(error);
  if (reporting) {
    native.uncaught(text);
    return;
  }
  reporting = true;
  try {
    const state = new ErrorState("error", false, true);
    state.trusted = true;
    state.message = `Uncaught ${text.split("\n")[0]}`;
    state.error = error;
    if (dispatch(peek(globalThis), new ErrorEvent(INTERNAL, state), false)) native.uncaught(`Uncaught ${text}`);
  } finally {
    reporting = false;
  }
}

export function reportRejection(promise, reason) {
  const state = new RejectionState("unhandledrejection", false, true);
  state.trusted = true;
  state.promise = promise;
  state.reason = reason;
  if (dispatch(peek(globalThis), new PromiseRejectionEvent(INTERNAL, state), true)) {
    native.uncaught(`Uncaught (in promise) ${describe(reason)}`);
  }
}
