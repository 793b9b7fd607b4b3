// CustomEvent (DOM, 2.4) and MessageEvent (HTML, 9.1).
import { Event, EventState, exposeInterface, INTERNAL, requireArguments, stateOf, webidl } from "./binding.js";

const { toDictionary, toDOMString } = webidl;

class CustomState extends EventState {}

export class CustomEvent extends Event {
  constructor(type, init = undefined) {
    requireArguments(arguments.length, 1, "CustomEvent");
    const options = toDictionary(init, "CustomEventInit");
    const state = new CustomState(toDOMString(type), !!options.bubbles, !!options.cancelable);
    state.detail = options.detail === undefined ? null : options.detail;
    super(INTERNAL, state);
  }
  get detail() {
    return stateOf(this, CustomState).detail;
  }
}
exposeInterface(CustomEvent, "CustomEvent");

export class MessageState extends EventState {
  origin = "";
  source = null;
  lastEventId = "";
}

export class MessageEvent extends Event {
  constructor(type, init = undefined) {
    if (type === INTERNAL) {
      super(INTERNAL, init);
      return;
    }
    requireArguments(arguments.length, 1, "MessageEvent");
    const options = toDictionary(init, "MessageEventInit");
    const state = new MessageState(toDOMString(type), !!options.bubbles, !!options.cancelable);
    state.data = options.data === undefined ? null : options.data;
    state.ports = options.ports === undefined ? [] : [...options.ports];
    for (const name of ["origin", "lastEventId"]) if (options[name] !== undefined) state[name] = toDOMString(options[name]);
    state.source = options.source ?? null;
    super(INTERNAL, state);
  }
  get data() {
    return stateOf(this, MessageState).data;
  }
  get ports() {
    return stateOf(this, MessageState).ports;
  }
  get origin() {
    return stateOf(this, MessageState).origin;
  }
  get source() {
    return stateOf(this, MessageState).source;
  }
  get lastEventId() {
    return stateOf(this, MessageState).lastEventId;
  }
}
exposeInterface(MessageEvent, "MessageEvent");
