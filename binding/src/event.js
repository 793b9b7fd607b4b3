// Event (DOM, 2.2).
export function event(binding) {
  const { append, defineProperty, newArray, setApart } = binding.builtIns;
  const { exposeInterface, INTERNAL, peek, requireArguments, stamp, stateOf, withMembers } = binding.internals;
  const { host } = binding;
  const { toDictionary, toDOMString } = binding.webidl;

  const NONE = 0;
  const CAPTURING_PHASE = 1;
  const AT_TARGET = 2;
  const BUBBLING_PHASE = 3;
  const PHASES = { NONE, CAPTURING_PHASE, AT_TARGET, BUBBLING_PHASE };

  class EventState {
    // `versions` is what an event of a change of versions has more: a state of one shape is compiled once.
    constructor(type, bubbles, cancelable, versions = null) {
      this.type = type;
      this.bubbles = bubbles;
      this.cancelable = cancelable;
      this.versions = versions;
      this.timeStamp = host.now();
    }

    cancel() {
      if (this.cancelable && !this.inPassiveListener) this.canceled = true;
    }
  }
  setApart(EventState);
  // As every event begins.
  Object.assign(EventState.prototype, {
    composed: false,
    target: null,
    currentTarget: null,
    phase: NONE,
    initialized: true,
    trusted: false,
    dispatching: false,
    stopped: false,
    stoppedImmediately: false,
    canceled: false,
    inPassiveListener: false,
    listenersThrew: false,
    isErrorReport: false,
  });

  // [LegacyUnforgeable]: an accessor of each event, with one getter for all.
  const isTrusted = {
    __proto__: null,
    get: Object.getOwnPropertyDescriptor(
      {
        get isTrusted() {
          return stateOf(this, EventState).trusted;
        },
      },
      "isTrusted",
    ).get,
    set: undefined,
    enumerable: true,
    configurable: false,
  };

  function stateOfInit(type, init) {
    const name = toDOMString(type);
    const { bubbles, cancelable, composed } = toDictionary(init, "EventInit");
    const state = new EventState(name, !!bubbles, !!cancelable);
    state.composed = !!composed;
    return state;
  }

  class Event {
    constructor(type, init = undefined) {
      if (type === INTERNAL) {
        stamp(this, init);
      } else {
        requireArguments(arguments.length, 1, "Event");
        stamp(this, stateOfInit(type, init));
      }
      defineProperty(this, "isTrusted", isTrusted);
    }
    get type() {
      return stateOf(this, EventState).type;
    }
    get target() {
      return stateOf(this, EventState).target;
    }
    get srcElement() {
      return stateOf(this, EventState).target;
    }
    get currentTarget() {
      return stateOf(this, EventState).currentTarget;
    }
    composedPath() {
      const state = stateOf(this, EventState);
      const path = newArray();
      for (let one = state.dispatching ? peek(state.target) : null; one !== null; one = one.eventParent) append(path, one.wrapper);
      return path;
    }
    get eventPhase() {
      return stateOf(this, EventState).phase;
    }
    stopPropagation() {
      stateOf(this, EventState).stopped = true;
    }
    get cancelBubble() {
      return stateOf(this, EventState).stopped;
    }
    set cancelBubble(value) {
      const state = stateOf(this, EventState);
      if (value) state.stopped = true;
    }
    stopImmediatePropagation() {
      const state = stateOf(this, EventState);
      state.stopped = true;
      state.stoppedImmediately = true;
    }
    get bubbles() {
      return stateOf(this, EventState).bubbles;
    }
    get cancelable() {
      return stateOf(this, EventState).cancelable;
    }
    get returnValue() {
      return !stateOf(this, EventState).canceled;
    }
    set returnValue(value) {
      const state = stateOf(this, EventState);
      if (!value) state.cancel();
    }
    preventDefault() {
      stateOf(this, EventState).cancel();
    }
    get defaultPrevented() {
      return stateOf(this, EventState).canceled;
    }
    get composed() {
      return stateOf(this, EventState).composed;
    }
    get timeStamp() {
      return stateOf(this, EventState).timeStamp;
    }
    initEvent(type, bubbles = false, cancelable = false) {
      const state = stateOf(this, EventState);
      requireArguments(arguments.length, 1, "initEvent");
      const name = toDOMString(type);
      if (state.dispatching) return;
      state.type = name;
      state.bubbles = !!bubbles;
      state.cancelable = !!cancelable;
      state.initialized = true;
      state.stopped = false;
      state.stoppedImmediately = false;
      state.canceled = false;
      state.trusted = false;
      state.target = null;
    }
  }
  exposeInterface(Event, "Event", PHASES);

  // In a runtime that has events of its own, ours are of its class, with our members: what an event's state is, its dispatch decides. Its
  // `isTrusted` is the runtime's, an own property that cannot be changed.
  function onRuntime(RuntimeEvent) {
    return class Event extends RuntimeEvent {
      constructor(type, init = undefined) {
        const state = type === INTERNAL ? init : stateOfInit(type, init);
        // It has the members of a dictionary for events.
        super(state.type, state);
        stamp(this, state);
      }
    };
  }

  const { runtime } = binding;
  const Exposed = runtime === undefined ? Event : withMembers(onRuntime(runtime.Event), Event);

  // What interfaces of events extend. Its constructor gets `first(state)` and `second(state)`; `adopt` and `inherit` are as those of event targets.
  const extended =
    runtime === undefined
      ? { Base: Event, first: () => INTERNAL, second: (state) => state, adopt() {}, inherit: (Interface) => Interface }
      : {
          Base: runtime.Event,
          first: ({ type }) => type,
          second: ({ bubbles, cancelable, composed }) => ({ bubbles, cancelable, composed }),
          adopt: stamp,
          inherit: (Interface) => withMembers(Interface, Event),
        };

  // An event of the host's making.
  function createEvent(type, bubbles, cancelable) {
    const state = new EventState(type, bubbles, cancelable);
    state.trusted = true;
    return new Exposed(INTERNAL, state);
  }

  return { PHASES, EventState, Event: Exposed, extended, createEvent };
}
