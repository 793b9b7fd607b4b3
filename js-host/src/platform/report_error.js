// Exceptions and rejections that were not caught (HTML, 8.1.4.6 and 8.1.4.7).
import { dispatch, EventState, Event, exposeInterface, INTERNAL, peek, requireArguments, stateOf, webidl } from "./binding.js";
import { native } from "./native.js";

const { toDictionary, toDOMString } = webidl;

class ErrorState extends EventState {
  get isErrorReport() {
    return this.type === "error";
  }
  // Message, file, line, column and error.
  get pieces() {
    return [this.message, this.filename, this.lineno, this.colno, this.error];
  }
}
Object.assign(ErrorState.prototype, { message: "", filename: "", lineno: 0, colno: 0, error: undefined });

export class ErrorEvent extends Event {
  constructor(type, init = undefined) {
    if (type === INTERNAL) {
      super(INTERNAL, init);
      return;
    }
    requireArguments(arguments.length, 1, "ErrorEvent");
    const options = toDictionary(init, "ErrorEventInit");
    const state = new ErrorState(toDOMString(type), !!options.bubbles, !!options.cancelable);
    for (const name of ["message", "filename"]) if (options[name] !== undefined) state[name] = toDOMString(options[name]);
    for (const name of ["lineno", "colno"]) if (options[name] !== undefined) state[name] = options[name] >>> 0;
    state.error = options.error;
    super(INTERNAL, state);
  }
  get message() {
    return stateOf(this, ErrorState).message;
  }
  get filename() {
    return stateOf(this, ErrorState).filename;
  }
  get lineno() {
    return stateOf(this, ErrorState).lineno;
  }
  get colno() {
    return stateOf(this, ErrorState).colno;
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

// How many causes of causes are shown: a chain can lead back to its beginning.
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

// Where an exception was made, as far as its stack shows it.
const FRAME = /^\s*at (?:.*\()?([^()\n]+?):(\d+)(?::(\d+))?\)?$/m;

function placeOf(error) {
  try {
    const [, filename = "", line = 0, column = 0] = FRAME.exec(error.stack) ?? [];
    return { filename, lineno: Number(line), colno: Number(column) };
  } catch {
    return { filename: "", lineno: 0, colno: 0 };
  }
}

// Dispatches an error event with the members of `what`. Returns whether no listener has prevented its default action.
function isUnhandled(target, what, fromTask) {
  const state = Object.assign(new ErrorState("error", false, true), what);
  state.trusted = true;
  return dispatch(target, new ErrorEvent(INTERNAL, state), fromTask);
}

let reporting = false;

// Reports to the global object; if its listeners do not prevent that, to the realm that has made this one; at last on the console.
function report(what, text) {
  if (reporting) {
    native.uncaught(text);
    return;
  }
  reporting = true;
  try {
    if (!isUnhandled(peek(globalThis), what, false)) return;
  } finally {
    reporting = false;
  }
  const { message, filename, lineno, colno } = what;
  if (native.realms.reportToParent(message.toWellFormed(), filename.toWellFormed(), lineno, colno, text.toWellFormed())) return;
  native.uncaught(text);
}

export function reportError(error) {
  const text = `Uncaught ${describe(error)}`;
  report({ message: text.split("\n")[0], error, ...placeOf(error) }, text);
}

const { then } = Promise.prototype;

// The script that is a module has begun: what it throws is reported as that of other scripts.
export function watchModule(evaluated) {
  Reflect.apply(then, evaluated, [undefined, reportError]);
}

// A worker has not dealt with an exception (HTML, 10.2.5): its object hears of it, and then this realm.
export function reportOfWorker(worker, what, text) {
  if (isUnhandled(worker, what, true)) report(what, text);
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
