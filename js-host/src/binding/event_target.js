// EventTarget and dispatch (DOM, 2.7 to 2.9), and event handler attributes (HTML, 8.1.8.1).
//
// Differs from a browser's dispatch in one argument: with `fromTask`, nothing else of JavaScript runs
// below, and a microtask checkpoint follows every listener.
import { attach, domException, exposeInterface, INTERNAL, peek, requireArguments, stateOf } from "./internals.js";
import { EventState, PHASES } from "./event.js";
import { hooks } from "./hooks.js";
import { toCallback, toDOMString } from "./webidl.js";

export class EventTargetState {
  constructor() {
    this.wrapper = null;
    // Lists by type, made when needed.
    this.listeners = null;
    this.handlers = null;
  }

  // The next target of an event's path.
  get eventParent() {
    return null;
  }

  add(listener) {
    this.listeners ??= new Map();
    let list = this.listeners.get(listener.type);
    if (list === undefined) this.listeners.set(listener.type, (list = []));
    const known = list.some(
      (other) => other.callback === listener.callback && other.capture === listener.capture && !other.handler,
    );
    if (!known || listener.handler) list[list.length] = listener;
  }

  remove(listener) {
    listener.removed = true;
    const list = this.listeners?.get(listener.type);
    if (list === undefined) return;
    // Whoever goes through the list has a copy.
    const rest = list.filter((other) => other !== listener);
    if (rest.length > 0) this.listeners.set(listener.type, rest);
    else this.listeners.delete(listener.type);
  }

  find(type, callback, capture) {
    return this.listeners
      ?.get(type)
      ?.find((listener) => listener.callback === callback && listener.capture === capture && !listener.handler);
  }

  handler(type) {
    return this.handlers?.get(type)?.callback ?? null;
  }

  setHandler(type, value) {
    const callback = toCallback(value);
    const known = this.handlers?.get(type);
    if (callback === null) {
      if (known === undefined) return;
      this.handlers.delete(type);
      this.remove(known);
    } else if (known !== undefined) {
      known.callback = callback;
    } else {
      const listener = { type, callback, capture: false, once: false, passive: false, removed: false, handler: true };
      this.handlers ??= new Map();
      this.handlers.set(type, listener);
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
    const entry = { type: name, callback: listener, capture, once, passive, removed: false, handler: false };
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
    state.phase = at === 0 ? PHASES.AT_TARGET : PHASES.CAPTURING_PHASE;
    invoke(path[at], event, state, true, fromTask);
  }
  for (let at = 0; at < path.length; at++) {
    if (at > 0 && !state.bubbles) break;
    state.phase = at === 0 ? PHASES.AT_TARGET : PHASES.BUBBLING_PHASE;
    invoke(path[at], event, state, false, fromTask);
  }
  state.phase = PHASES.NONE;
  state.currentTarget = null;
  state.path = null;
  state.dispatching = false;
  state.stopped = false;
  state.stoppedImmediately = false;
  return !state.canceled;
}

function invoke(target, event, state, capture, fromTask) {
  if (state.stopped) return;
  const list = target.listeners?.get(state.type);
  if (list === undefined) return;
  state.currentTarget = target.wrapper;
  const all = list.slice();
  for (let i = 0; i < all.length; i++) {
    const listener = all[i];
    if (listener.removed || listener.capture !== capture) continue;
    if (listener.once) target.remove(listener);
    state.inPassiveListener = listener.passive;
    call(target, event, state, listener);
    state.inPassiveListener = false;
    if (fromTask) hooks.microtaskCheckpoint();
    if (state.stoppedImmediately) return;
  }
}

function call(target, event, state, listener) {
  const { callback } = listener;
  try {
    if (typeof callback === "function") {
      const result = Reflect.apply(callback, target.wrapper, [event]);
      if (listener.handler && result === false) state.cancel();
    } else if (!listener.handler) {
      const method = callback.handleEvent;
      if (typeof method !== "function") throw new TypeError("handleEvent is not a function");
      Reflect.apply(method, callback, [event]);
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
