// BroadcastChannel (HTML, 9.5): between the channels of one name, in this realm and in others.
import { defineHandlers, EventTarget, EventTargetState, exposeInterface, INTERNAL, requireArguments, stateOf, webidl } from "./binding.js";
import { queueTask } from "./event_loop.js";
import { dispatchMessage, messageState } from "./message_channel.js";
import { native } from "./native.js";
import { pack } from "./transfer.js";

// Those that are open, in the order in which they were made.
const open = new Set();

class ChannelState extends EventTargetState {
  constructor(name) {
    super();
    this.name = name;
    open.add(this);
  }

  post(message) {
    if (!open.has(this)) throw new DOMException("The channel is closed.", "InvalidStateError");
    // Getters run once, however many listen.
    const copy = native.clone(message);
    for (const other of open) {
      if (other === this || other.name !== this.name) continue;
      const data = native.clone(copy);
      queueTask(() => other.deliver(data));
    }
    if (native.realms.isAlone()) return;
    const [clone] = pack(copy, { buffers: [], ports: [] });
    native.realms.broadcast(this.name, clone);
  }

  deliver(data, isWhole = true) {
    if (!open.has(this)) return;
    const state = messageState({ data, ports: [] }, isWhole);
    state.origin = native.origin;
    dispatchMessage(this, state);
  }
}

// A message of another realm's. Each channel hears of it in a task of its own.
export function broadcast(name, isWhole, data) {
  for (const channel of open) {
    if (channel.name !== name) continue;
    const own = isWhole ? native.clone(data) : null;
    queueTask(() => channel.deliver(own, isWhole));
  }
}

export class BroadcastChannel extends EventTarget {
  constructor(name) {
    requireArguments(arguments.length, 1, "BroadcastChannel");
    super(INTERNAL, new ChannelState(webidl.toDOMString(name)));
  }
  get name() {
    return stateOf(this, ChannelState).name;
  }
  postMessage(message) {
    const state = stateOf(this, ChannelState);
    requireArguments(arguments.length, 1, "postMessage");
    state.post(message);
  }
  close() {
    open.delete(stateOf(this, ChannelState));
  }
}
exposeInterface(BroadcastChannel, "BroadcastChannel");
defineHandlers(BroadcastChannel, ChannelState, ["message", "messageerror"]);
