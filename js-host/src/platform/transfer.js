// Transfer lists, and values on their way to ports and other realms (HTML, 2.7.7 to 2.7.9). What can be transferred is ArrayBuffers and
// MessagePorts.
import { peek } from "./binding.js";
import { native } from "./native.js";

const { detached, resizable } = Object.fromEntries(
  ["detached", "resizable"].map((name) => [name, Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, name).get]),
);
const { transfer } = ArrayBuffer.prototype;

const refused = (message) => new DOMException(message, "DataCloneError");

function checkBuffer(buffer) {
  let gone;
  try {
    gone = Reflect.apply(detached, buffer, []);
    Reflect.apply(resizable, buffer, []);
  } catch {
    throw refused("Only an ArrayBuffer or a MessagePort can be transferred.");
  }
  if (gone) throw refused("An ArrayBuffer is detached.");
}

// The buffers, and the states of the ports.
export function toTransferList(options) {
  const all = [...(Array.isArray(options) ? options : (options?.transfer ?? []))];
  if (new Set(all).size !== all.length) throw refused("An object is listed twice.");
  const list = { buffers: [], ports: [] };
  for (const object of all) {
    const state = peek(object);
    if (!state?.isPort) {
      checkBuffer(object);
      list.buffers.push(object);
    } else if (state.isGone) {
      throw refused("A MessagePort has been transferred already.");
    } else {
      list.ports.push(state);
    }
  }
  return list;
}

// The number of a serialised value, and the numbers of the ports that go with it. What was transferred is gone.
export function pack(value, { buffers, ports }) {
  ports.forEach((port, place) => (port.place = place));
  let clone;
  try {
    clone = native.serialize(value);
  } catch (error) {
    for (const port of ports) port.place = undefined;
    throw error;
  }
  for (const buffer of buffers) Reflect.apply(transfer, buffer, []);
  return [clone, ports.map((port) => port.leave())];
}

// A copy for this realm, with the ports that came with it. What was transferred is gone.
export function copy(value, list) {
  if (list.ports.length > 0) {
    const [data, ports] = native.realms.received(...pack(value, list));
    return { data, ports };
  }
  const data = native.clone(value);
  for (const buffer of list.buffers) Reflect.apply(transfer, buffer, []);
  return { data, ports: [] };
}
