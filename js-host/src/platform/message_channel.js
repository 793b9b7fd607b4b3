// structuredClone, MessageChannel and MessagePort (HTML, 2.7.10 and 9.5): within this one realm. What can
// be transferred is ArrayBuffers.
import { defineHandlers, dispatch, EventTarget, EventTargetState, exposeInterface, INTERNAL, requireArguments, stamp, stateOf } from "../binding/mod.js";
import { MessageEvent, MessageState } from "./custom_event.js";
import { native } from "./native.js";
import { queueTask } from "./event_loop.js";

const { detached, resizable } = Object.fromEntries(
  ["detached", "resizable"].map((name) => [name, Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, name).get]),
);
const { transfer } = ArrayBuffer.prototype;

function toTransferList(options) {
  const list = Array.isArray(options) ? options : (options?.transfer ?? []);
  const all = [...list];
  if (new Set(all).size !== all.length) throw new DOMException("An object is listed twice.", "DataCloneError");
  for (const buffer of all) {
    let gone;
    try {
      gone = Reflect.apply(detached, buffer, []);
      Reflect.apply(resizable, buffer, []);
    } catch {
      throw new DOMException("Only an ArrayBuffer can be transferred.", "DataCloneError");
    }
    if (gone) throw new DOMException("An ArrayBuffer is detached.", "DataCloneError");
  }
  return all;
}

// A copy; what was transferred is detached.
export function cloneWithTransfer(value, options) {
  const list = toTransferList(options);
  const copy = native.clone(value);
  for (const buffer of list) Reflect.apply(transfer, buffer, []);
  return copy;
}

export function structuredClone(value, options = undefined) {
  requireArguments(arguments.length, 1, "structuredClone");
  return cloneWithTransfer(value, options);
}

export function messageState(data) {
  const state = new MessageState("message", false, false);
  state.trusted = true;
  state.data = data;
  state.ports = [];
  return state;
}

class PortState extends EventTargetState {
  constructor() {
    super();
    this.other = null;
    this.started = false;
    this.closed = false;
    this.waiting = [];
  }

  post(value, options) {
    const data = cloneWithTransfer(value, options);
    const { other } = this;
    if (other === null || other.closed || this.closed) return;
    other.waiting.push(data);
    if (other.started) queueTask(() => other.deliver());
  }

  start() {
    if (this.started) return;
    this.started = true;
    for (let i = 0; i < this.waiting.length; i++) queueTask(() => this.deliver());
  }

  deliver() {
    if (this.closed || this.waiting.length === 0) return;
    const state = messageState(this.waiting.shift());
    dispatch(this, new MessageEvent(INTERNAL, state), true);
  }

  setHandler(type, value) {
    super.setHandler(type, value);
    // Setting onmessage starts a port.
    if (type === "message") this.start();
  }
}

export class MessagePort extends EventTarget {
  constructor(token = undefined, state = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: MessagePort");
    super(token, state);
  }
  postMessage(message, options = undefined) {
    const state = stateOf(this, PortState);
    requireArguments(arguments.length, 1, "postMessage");
    state.post(message, options);
  }
  start() {
    stateOf(this, PortState).start();
  }
  close() {
    stateOf(this, PortState).closed = true;
  }
}
exposeInterface(MessagePort, "MessagePort");
defineHandlers(MessagePort, PortState, ["message", "messageerror"]);

class ChannelState {}

export class MessageChannel {
  #ports;
  constructor() {
    stamp(this, new ChannelState());
    const [a, b] = [new PortState(), new PortState()];
    [a.other, b.other] = [b, a];
    this.#ports = [new MessagePort(INTERNAL, a), new MessagePort(INTERNAL, b)];
  }
  get port1() {
    return this.#ports[0];
  }
  get port2() {
    return this.#ports[1];
  }
}
exposeInterface(MessageChannel, "MessageChannel");

// A window's: to itself.
export function postMessage(message, options = undefined, transfer = undefined) {
  requireArguments(arguments.length, 1, "postMessage");
  const data = cloneWithTransfer(message, typeof options === "string" ? { transfer } : options);
  queueTask(() => {
    const state = messageState(data);
    state.origin = native.origin;
    state.source = globalThis;
    dispatch(stateOf(globalThis, EventTargetState), new MessageEvent(INTERNAL, state), true);
  });
}
