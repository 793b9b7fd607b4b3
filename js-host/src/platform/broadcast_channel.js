// BroadcastChannel (HTML, 9.6): between the channels of one name in this realm, which is all that the host has.
import { defineHandlers, dispatch, EventTarget, EventTargetState, exposeInterface, requireArguments, stateOf, INTERNAL, webidl } from "../binding/mod.js";
import { MessageEvent } from "./custom_event.js";
import { queueTask } from "./event_loop.js";
import { messageState } from "./message_channel.js";
import { native } from "./native.js";

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
  }

  deliver(data) {
    if (!open.has(this)) return;
    const state = messageState(data);
    state.origin = native.origin;
    dispatch(this, new MessageEvent(INTERNAL, state), true);
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
