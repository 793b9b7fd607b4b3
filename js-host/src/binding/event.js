// Event (DOM, 2.2).
import { append, defineProperty, setApart } from "./built_ins.js";
import { exposeInterface, INTERNAL, requireArguments, stamp, stateOf } from "./internals.js";
import { hooks } from "./hooks.js";
import { toDictionary, toDOMString } from "./webidl.js";

const NONE = 0;
const CAPTURING_PHASE = 1;
const AT_TARGET = 2;
const BUBBLING_PHASE = 3;
export const PHASES = { NONE, CAPTURING_PHASE, AT_TARGET, BUBBLING_PHASE };

export class EventState {
  constructor(type, bubbles, cancelable) {
    this.type = type;
    this.bubbles = bubbles;
    this.cancelable = cancelable;
    this.timeStamp = hooks.now();
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
  path: null,
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

export class Event {
  constructor(type, init = undefined) {
    if (type === INTERNAL) {
      stamp(this, init);
    } else {
      requireArguments(arguments.length, 1, "Event");
      const name = toDOMString(type);
      const { bubbles, cancelable, composed } = toDictionary(init, "EventInit");
      const state = new EventState(name, !!bubbles, !!cancelable);
      state.composed = !!composed;
      stamp(this, state);
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
    const path = [];
    for (let i = 0; i < (state.path?.length ?? 0); i++) append(path, state.path[i].wrapper);
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

// An event of the host's making.
export function createEvent(type, bubbles, cancelable) {
  const state = new EventState(type, bubbles, cancelable);
  state.trusted = true;
  return new Event(INTERNAL, state);
}
