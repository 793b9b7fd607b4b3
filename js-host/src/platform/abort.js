// AbortController and AbortSignal (DOM, 3).
import {
  createEvent,
  defineHandlers,
  dispatch,
  EventTarget,
  EventTargetState,
  exposeInterface,
  INTERNAL,
  stamp,
  stateOf,
} from "./binding.js";
import { functions } from "./event_loop.js";

class SignalState extends EventTargetState {
  constructor() {
    super();
    this.aborted = false;
    this.reason = undefined;
    this.followers = [];
  }

  get isAbortSignal() {
    return true;
  }

  // All that follow are aborted before the first event is dispatched.
  abort(reason) {
    const why = reason === undefined ? new DOMException("signal is aborted without reason", "AbortError") : reason;
    const all = [this];
    for (const state of all) for (const follower of state.followers.splice(0)) all.push(follower);
    const aborted = all.filter((state) => state.mark(why));
    for (const state of aborted) dispatch(state, createEvent("abort", false, false), false);
  }

  // Whether it was not aborted before.
  mark(reason) {
    if (this.aborted) return false;
    this.aborted = true;
    this.reason = reason;
    return true;
  }
}

export class AbortSignal extends EventTarget {
  constructor(token = undefined, state = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: AbortSignal");
    super(token, state);
  }
  get aborted() {
    return stateOf(this, SignalState).aborted;
  }
  get reason() {
    return stateOf(this, SignalState).reason;
  }
  throwIfAborted() {
    const { aborted, reason } = stateOf(this, SignalState);
    if (aborted) throw reason;
  }
  static abort(reason = undefined) {
    const signal = create();
    stateOf(signal, SignalState).abort(reason);
    return signal;
  }
  static timeout(ms) {
    const signal = create();
    const late = () => stateOf(signal, SignalState).abort(new DOMException("signal timed out", "TimeoutError"));
    functions.setTimeout(late, ms);
    return signal;
  }
  static any(signals) {
    const signal = create();
    const state = stateOf(signal, SignalState);
    const sources = [...signals].map((source) => stateOf(source, SignalState));
    const first = sources.find((source) => source.aborted);
    if (first !== undefined) state.abort(first.reason);
    else for (const source of sources) source.followers.push(state);
    return signal;
  }
}
exposeInterface(AbortSignal, "AbortSignal");
defineHandlers(AbortSignal, SignalState, ["abort"]);

function create() {
  return new AbortSignal(INTERNAL, new SignalState());
}

class ControllerState {
  signal = create();
}

export class AbortController {
  constructor() {
    stamp(this, new ControllerState());
  }
  get signal() {
    return stateOf(this, ControllerState).signal;
  }
  abort(reason = undefined) {
    stateOf(stateOf(this, ControllerState).signal, SignalState).abort(reason);
  }
}
exposeInterface(AbortController, "AbortController");
