// EventTarget and dispatch (DOM, 2.7 to 2.9), and event handler attributes (HTML, 8.1.8.1).
//
// Differs from a browser's dispatch in one argument: with `fromTask`, nothing else of JavaScript runs
// below, and a microtask checkpoint follows every listener.
import { attach, domException, exposeInterface, INTERNAL, peek, requireArguments, stateOf } from "./internals.js";
import { EventState, PHASES } from "./event.js";
import { hooks } from "./hooks.js";
import { toCallback, toDOMString } from "./webidl.js";

const { apply } = Reflect;

class Listener {
  constructor(type, callback) {
    this.type = type;
    this.callback = callback;
  }
}
// Most are like this: what they have of their own is little.
Object.assign(Listener.prototype, { capture: false, once: false, passive: false, removed: false, handler: false });

export class EventTargetState {
  constructor() {
    this.wrapper = null;
    // In the order in which they came; null if there are none. Whoever goes through the list goes as far as it was long then:
    // it is added to, and another takes its place when something is removed.
    this.listeners = null;
  }

  // The next target of an event's path.
  get eventParent() {
    return null;
  }

  add(listener) {
    const list = this.listeners;
    if (list === null) this.listeners = [listener];
    else list[list.length] = listener;
  }

  remove(listener) {
    listener.removed = true;
    const rest = this.listeners?.filter((other) => other !== listener);
    this.listeners = rest?.length > 0 ? rest : null;
  }

  find(type, callback, capture) {
    return this.listeners?.find(
      (other) => other.callback === callback && other.type === type && other.capture === capture && !other.handler,
    );
  }

  findHandler(type) {
    const list = this.listeners;
    if (list === null) return undefined;
    for (let i = 0; i < list.length; i++) {
      if (list[i].handler && list[i].type === type) return list[i];
    }
    return undefined;
  }

  handler(type) {
    return this.findHandler(type)?.callback ?? null;
  }

  setHandler(type, value) {
    const callback = toCallback(value);
    const known = this.findHandler(type);
    if (known !== undefined) {
      if (callback === null) this.remove(known);
      else known.callback = callback;
    } else if (callback !== null) {
      const listener = new Listener(type, callback);
      listener.handler = true;
      this.add(listener);
    }
  }
}

function flatten(options) {
  if (typeof options === "boolean") return { capture: options };
  if (options === undefined || options === null) return { capture: false };
  if (typeof options !== "object" && typeof options !== "function") return { capture: !!options };
  const capture = !!options.capture;
  return { capture, options };
}

// The realm's global object stands for an undefined receiver.
function targetOf(receiver) {
  return stateOf(receiver === undefined || receiver === null ? globalThis : receiver, EventTargetState);
}

function toListener(callback) {
  if (callback === null || callback === undefined) return null;
  const object = toCallback(callback);
  if (object === null) throw new TypeError("an event listener is not an object");
  return object;
}

export class EventTarget {
  constructor(token = undefined, state = undefined) {
    attach(this, token === INTERNAL ? state : new EventTargetState());
  }

  addEventListener(type, callback, options = undefined) {
    const target = targetOf(this);
    requireArguments(arguments.length, 2, "addEventListener");
    const name = toDOMString(type);
    const listener = toListener(callback);
    const { capture, options: more } = flatten(options);
    const once = !!more?.once;
    const passive = !!more?.passive;
    const signal = more?.signal;
    if (signal !== undefined && !(signal instanceof globalThis.AbortSignal)) {
      throw new TypeError("signal is not an AbortSignal");
    }
    if (listener === null || signal?.aborted) return;
    if (target.find(name, listener, capture) !== undefined) return;
    const entry = Object.assign(new Listener(name, listener), { capture, once, passive });
    target.add(entry);
    signal?.addEventListener("abort", () => target.remove(entry), { once: true });
  }

  removeEventListener(type, callback, options = undefined) {
    const target = targetOf(this);
    requireArguments(arguments.length, 2, "removeEventListener");
    const name = toDOMString(type);
    const listener = toListener(callback);
    const { capture } = flatten(options);
    const entry = target.find(name, listener, capture);
    if (entry !== undefined) target.remove(entry);
  }

  dispatchEvent(event) {
    const target = targetOf(this);
    requireArguments(arguments.length, 1, "dispatchEvent");
    const state = peek(event);
    if (!(state instanceof EventState)) throw new TypeError("not an Event");
    if (state.dispatching || !state.initialized) {
      throw domException("InvalidStateError", "The event is being dispatched");
    }
    state.trusted = false;
    return dispatch(target, event, false);
  }
}
exposeInterface(EventTarget, "EventTarget");
Object.defineProperty(EventTarget, "length", { value: 0, configurable: true });

// Dispatches an event; whether nobody prevented its default action.
export function dispatch(target, event, fromTask) {
  const state = peek(event);
  state.dispatching = true;
  state.target = target.wrapper;
  const path = [target];
  for (let next = target.eventParent; next !== null; next = next.eventParent) path[path.length] = next;
  state.path = path;
  for (let at = path.length - 1; at >= 0; at--) {
    if (path[at].listeners === null) continue;
    state.phase = at === 0 ? PHASES.AT_TARGET : PHASES.CAPTURING_PHASE;
    invoke(path[at], event, state, true, fromTask);
  }
  for (let at = 0; at < path.length; at++) {
    if (at > 0 && !state.bubbles) break;
    if (path[at].listeners === null) continue;
    state.phase = at === 0 ? PHASES.AT_TARGET : PHASES.BUBBLING_PHASE;
    invoke(path[at], event, state, false, fromTask);
  }
  state.phase = PHASES.NONE;
  state.currentTarget = null;
  state.path = null;
  state.dispatching = false;
  if (state.stopped) {
    state.stopped = false;
    state.stoppedImmediately = false;
  }
  return !state.canceled;
}

function invoke(target, event, state, capture, fromTask) {
  if (state.stopped) return;
  const list = target.listeners;
  // Those that come meanwhile are not told.
  const { length } = list;
  state.currentTarget = target.wrapper;
  for (let i = 0; i < length; i++) {
    const listener = list[i];
    if (listener.type !== state.type || listener.capture !== capture || listener.removed) continue;
    if (listener.once) target.remove(listener);
    if (listener.passive) state.inPassiveListener = true;
    call(target, event, state, listener);
    if (listener.passive) state.inPassiveListener = false;
    if (fromTask) hooks.microtaskCheckpoint();
    if (state.stoppedImmediately) return;
  }
}

function call(target, event, state, listener) {
  const { callback } = listener;
  try {
    if (typeof callback === "function") {
      // A global's `onerror` is given the error in pieces, and says in its own way that it has dealt with it.
      const isReport = listener.handler && state.isErrorReport && target.wrapper === globalThis;
      const result = apply(callback, target.wrapper, isReport ? state.pieces : [event]);
      if (listener.handler && result === isReport) state.cancel();
    } else if (!listener.handler) {
      const method = callback.handleEvent;
      if (typeof method !== "function") throw new TypeError("handleEvent is not a function");
      apply(method, callback, [event]);
    }
  } catch (error) {
    state.listenersThrew = true;
    hooks.reportError(error);
  }
}

// Event handler attributes on an interface's prototype.
export function defineHandlers(Interface, State, types) {
  for (const type of types) {
    const name = `on${type}`;
    const { get, set } = Object.getOwnPropertyDescriptor(
      {
        get [name]() {
          return stateOf(this, State).handler(type);
        },
        set [name](value) {
          stateOf(this, State).setHandler(type, value);
        },
      },
      name,
    );
    Object.defineProperty(Interface.prototype, name, { get, set, enumerable: true, configurable: true });
  }
}
