// structuredClone, MessageChannel and MessagePort (HTML, 2.7.10 and 9.4). A port is its realm's own until it is transferred: from then
// on it, and the port at the other end, have numbers, and messages go by way of the host.
import { defineHandlers, dispatch, EventTarget, EventTargetState, exposeInterface, INTERNAL, peek, requireArguments, stamp, stateOf } from "./binding.js";
import { MessageEvent, MessageState } from "./custom_event.js";
import { native } from "./native.js";
import { queueTask } from "./event_loop.js";
import { copy, pack, toTransferList } from "./transfer.js";

export function structuredClone(value, options = undefined) {
  requireArguments(arguments.length, 1, "structuredClone");
  return copy(value, toTransferList(options)).data;
}

// The state of the event for a message. One that could not be read is a `messageerror` without data.
export function messageState({ data, ports }, isWhole = true) {
  const state = new MessageState(isWhole ? "message" : "messageerror", false, false);
  state.trusted = true;
  state.data = isWhole ? data : null;
  state.ports = Object.freeze(ports);
  return state;
}

export function dispatchMessage(target, state) {
  dispatch(target, new MessageEvent(INTERNAL, state), true);
}

// By number, those that were transferred or whose other end was.
const numbered = new Map();

class PortState extends EventTargetState {
  constructor() {
    super();
    // The other end, if both are this realm's own.
    this.other = null;
    this.id = undefined;
    this.started = false;
    this.closed = false;
    this.waiting = [];
    // Its place among what is being transferred.
    this.place = undefined;
    this.isGone = false;
  }

  get isPort() {
    return true;
  }

  get cloneKind() {
    return this.place === undefined ? undefined : "MessagePort";
  }

  post(value, options) {
    const list = toTransferList(options);
    if (list.ports.includes(this)) throw new DOMException("A port cannot be sent through itself.", "DataCloneError");
    if (this.id !== undefined) {
      native.realms.sendThroughPort(this.id, ...pack(value, list));
      return;
    }
    const message = copy(value, list);
    const { other } = this;
    if (other === null || other.closed || this.closed) return;
    other.waiting.push(message);
    if (other.started) queueTask(() => other.deliver());
  }

  start() {
    if (this.started) return;
    this.started = true;
    for (let i = 0; i < this.waiting.length; i++) queueTask(() => this.deliver());
    if (this.id !== undefined) native.realms.startPort(this.id);
  }

  close() {
    this.closed = true;
    if (this.id === undefined) return;
    native.realms.closePort(this.id);
    numbered.delete(this.id);
  }

  deliver() {
    if (!this.closed && this.waiting.length > 0) dispatchMessage(this, messageState(this.waiting.shift()));
  }

  setHandler(type, value) {
    super.setHandler(type, value);
    // Setting onmessage starts a port.
    if (type === "message") this.start();
  }

  getNumber(id) {
    this.id = id;
    numbered.set(id, this);
  }

  // Sends the messages that wait here to the port that has this number.
  passOn(id) {
    for (const { data, ports } of this.waiting.splice(0)) {
      native.realms.sendToPort(id, ...pack(data, { buffers: [], ports: ports.map(peek) }));
    }
  }

  // The number that it is transferred by.
  leave() {
    let { id } = this;
    if (id === undefined) {
      const [sent, kept] = native.realms.pairOfPorts();
      id = sent;
      this.other?.stay(kept, this.closed);
    } else {
      native.realms.releasePort(id);
      numbered.delete(id);
    }
    this.passOn(id);
    this.other = null;
    this.isGone = true;
    return id;
  }

  // Its other end is being transferred.
  stay(id, isClosed) {
    this.other = null;
    this.getNumber(id);
    if (isClosed || this.closed) this.close();
    else if (this.started) native.realms.startPort(id);
    else this.passOn(id);
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
    stateOf(this, PortState).close();
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

// Ports that have come with a message.
export function claimPorts(ids) {
  return ids.map((id) => {
    const state = new PortState();
    state.getNumber(id);
    native.realms.claimPort(id);
    return new MessagePort(INTERNAL, state);
  });
}

// The place of a port among what is being transferred; undefined for a blob.
export const placeOfPort = (object) => peek(object).place;

// A message has come to the port that has this number.
export function toPort(id, isWhole, data, ports) {
  const port = numbered.get(id);
  if (port !== undefined) dispatchMessage(port, messageState({ data, ports }, isWhole));
}

// A window's: to itself.
export function postMessage(message, options = undefined, transfer = undefined) {
  requireArguments(arguments.length, 1, "postMessage");
  const copied = copy(message, toTransferList(typeof options === "string" ? { transfer } : options));
  queueTask(() => {
    const state = messageState(copied);
    state.origin = native.origin;
    state.source = globalThis;
    dispatchMessage(stateOf(globalThis, EventTargetState), state);
  });
}
