// EventTarget and dispatch (DOM, 2.7 to 2.9), and event handler attributes (HTML, 8.1.8.1).
//
// Differs from a browser's dispatch in one argument: with `fromTask`, nothing else of JavaScript runs
// below, and a microtask checkpoint follows every listener.
export function eventTarget(binding) {
  const { attach, domException, exposeInterface, INTERNAL, peek, requireArguments, stateOf, withMembers } = binding.internals;
  const { apply, realm, setApart, TypeError } = binding.builtIns;
  const { EventState, PHASES } = binding.event;
  const { host } = binding;
  const { Listener, Listeners } = binding.listeners;
  const { toCallback, toDOMString } = binding.webidl;

  // It has no constructor: interfaces have states of their own shapes, and what all of them ran through would be compiled for one and then for others.
  class EventTargetState {
    // The next target of an event's path.
    get eventParent() {
      return null;
    }

    // Whether it says of itself that it is `aborted`.
    get isAbortSignal() {
      return false;
    }

    add(listener) {
      this.listeners ??= new Listeners();
      this.listeners.add(listener);
    }

    handler(type) {
      return this.listeners?.findHandler(type)?.callback ?? null;
    }

    setHandler(type, value) {
      const callback = toCallback(value);
      this.listeners ??= new Listeners();
      const known = this.listeners.findHandler(type);
      if (known !== undefined) {
        if (callback === null) this.listeners.remove(known);
        else known.callback = callback;
      } else if (callback !== null) {
        const listener = new Listener(type, callback);
        listener.handler = true;
        this.listeners.add(listener);
      }
    }
  }
  setApart(EventTargetState);
  // Null before there are any listeners.
  Object.assign(EventTargetState.prototype, { wrapper: null, listeners: null });

  function flatten(options) {
    if (options === undefined || options === null) return { capture: false, options: undefined };
    if (typeof options !== "object" && typeof options !== "function") return { capture: !!options, options: undefined };
    const capture = !!options.capture;
    return { capture, options };
  }

  // The realm's global object stands for an undefined receiver.
  function targetOf(receiver) {
    return stateOf(receiver === undefined || receiver === null ? realm : receiver, EventTargetState);
  }

  function toListener(callback) {
    if (callback === null || callback === undefined) return null;
    const object = toCallback(callback);
    if (object === null) throw new TypeError("an event listener is not an object");
    return object;
  }

  // An AbortSignal: the state of one that is the host's, or as it is one of the runtime's, in whatever realm.
  function toSignal(value) {
    if (value === undefined) return undefined;
    const state = peek(value);
    if (state instanceof EventTargetState && state.isAbortSignal) return state;
    if (binding.runtime === undefined || !isRuntimeSignal(value)) throw new TypeError("signal is not an AbortSignal");
    const { addEventListener } = value;
    return { aborted: value.aborted, add: ({ callback }) => apply(addEventListener, value, ["abort", callback, { once: true }]) };
  }

  // All realms' signals have this tag.
  function isRuntimeSignal(value) {
    if (value === null || typeof value !== "object") return false;
    return value[Symbol.toStringTag] === "AbortSignal" && typeof value.aborted === "boolean" && typeof value.addEventListener === "function";
  }

  class EventTarget {
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
      const signal = toSignal(more?.signal);
      if (listener === null || signal?.aborted) return;
      if (target.listeners?.find(name, listener, capture) !== undefined) return;
      const entry = new Listener(name, listener);
      if (capture) entry.capture = true;
      if (once) entry.once = true;
      if (passive) entry.passive = true;
      target.add(entry);
      if (signal !== undefined) {
        const abort = new Listener("abort", () => target.listeners.remove(entry));
        abort.once = true;
        signal.add(abort);
      }
    }

    removeEventListener(type, callback, options = undefined) {
      const target = targetOf(this);
      requireArguments(arguments.length, 2, "removeEventListener");
      const name = toDOMString(type);
      const listener = toListener(callback);
      const { capture } = flatten(options);
      const entry = target.listeners?.find(name, listener, capture);
      if (entry !== undefined) target.listeners.remove(entry);
    }

    dispatchEvent(event) {
      const target = targetOf(this);
      requireArguments(arguments.length, 1, "dispatchEvent");
      const state = peek(event);
      if (!(state instanceof EventState)) {
        if (binding.runtime !== undefined && event instanceof binding.runtime.Event) return dispatchOnRuntime(this, target, event);
        throw new TypeError("not an Event");
      }
      if (state.dispatching || !state.initialized) {
        throw domException("InvalidStateError", "The event is being dispatched");
      }
      state.trusted = false;
      return dispatch(target, event, false);
    }
  }
  exposeInterface(EventTarget, "EventTarget");
  Object.defineProperty(EventTarget, "length", { value: 0, configurable: true });

  // An event of the runtime's that a script dispatches: it is the runtime that gives it a target, and calls back for our listeners. Those of
  // a request's transaction and database are not called.
  function dispatchOnRuntime(wrapper, target, event) {
    const { addEventListener, removeEventListener, dispatchEvent } = binding.runtime.EventTarget.prototype;
    const state = new EventState(event.type, event.bubbles, event.cancelable);
    const forward = () => {
      for (const capture of [true, false]) if (target.listeners !== null) invoke(target, event, state, capture, false);
    };
    apply(addEventListener, wrapper, [event.type, forward]);
    try {
      return apply(dispatchEvent, wrapper, [event]);
    } finally {
      apply(removeEventListener, wrapper, [event.type, forward]);
    }
  }

  // In a runtime that has event targets of its own, interfaces extend its class, and have our members: `inherit` gives an interface what it has of EventTarget, `adopt`,
  // called by its constructor, an object its state.
  const { runtime } = binding;
  const Base = runtime === undefined ? EventTarget : runtime.EventTarget;
  const adopt = runtime === undefined ? () => {} : attach;
  const inherit = (Interface) => (runtime === undefined ? Interface : withMembers(Interface, EventTarget));

  // Dispatches an event. Returns whether no listener has prevented its default action.
  function dispatch(target, event, fromTask) {
    const state = peek(event);
    state.dispatching = true;
    state.target = target.wrapper;
    // No path is longer than a request's, by way of its transaction to its database.
    const second = target.eventParent;
    const third = second === null ? null : second.eventParent;
    // Inwards, the target last, and outwards, the target first: one place at which listeners are invoked takes less to compile than six.
    for (let step = 0; step < 6; step++) {
      const capture = step < 3;
      const at = capture ? 2 - step : step - 3;
      if (at > 0 && !capture && !state.bubbles) break;
      const current = at === 0 ? target : at === 1 ? second : third;
      if (current === null || current.listeners === null || (capture && current.listeners.capturing === 0)) continue;
      if (at === 0) state.phase = PHASES.AT_TARGET;
      else state.phase = capture ? PHASES.CAPTURING_PHASE : PHASES.BUBBLING_PHASE;
      invoke(current, event, state, capture, fromTask);
    }
    state.phase = PHASES.NONE;
    state.currentTarget = null;
    state.dispatching = false;
    if (state.stopped) {
      state.stopped = false;
      state.stoppedImmediately = false;
    }
    return !state.canceled;
  }

  function invoke(target, event, state, capture, fromTask) {
    if (state.stopped) return;
    const { listeners } = target;
    // Listeners that are added meanwhile are not called.
    const { order } = listeners;
    state.currentTarget = target.wrapper;
    for (let listener = listeners.first; listener !== null && listener.order <= order; listener = listener.next) {
      if (listener.type !== state.type || listener.capture !== capture || listener.removed) continue;
      if (listener.once) listeners.remove(listener);
      if (listener.passive) state.inPassiveListener = true;
      call(target, event, state, listener);
      if (listener.passive) state.inPassiveListener = false;
      if (fromTask) host.microtaskCheckpoint();
      if (state.stoppedImmediately) return;
    }
  }

  function call(target, event, state, listener) {
    const { callback } = listener;
    try {
      if (typeof callback === "function") {
        // A global's `onerror` is given the error in pieces, and says in its own way that it has dealt with it.
        const isReport = listener.handler && state.isErrorReport && target.wrapper === realm;
        const result = apply(callback, target.wrapper, isReport ? state.pieces : [event]);
        if (listener.handler && result === isReport) state.cancel();
      } else if (!listener.handler) {
        const method = callback.handleEvent;
        if (typeof method !== "function") throw new TypeError("handleEvent is not a function");
        apply(method, callback, [event]);
      }
    } catch (error) {
      state.listenersThrew = true;
      host.reportError(error);
    }
  }

  // Event handler attributes on an interface's prototype.
  function defineHandlers(Interface, State, types) {
    for (const type of types) {
      const name = "on" + type;
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

  return { EventTargetState, EventTarget: Base, adopt, inherit, dispatch, defineHandlers };
}
