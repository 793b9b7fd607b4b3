// The global scope of a window without a document (HTML, 7.2.2).
import { EventTarget, exposeInterface, INTERNAL } from "./binding.js";
import { postMessage } from "./message_channel.js";
import { Storage, storages } from "./web_storage.js";

class Window extends EventTarget {
  constructor(token = undefined, state = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: Window");
    super(token, state);
  }
}
exposeInterface(Window, "Window");

export const scope = {
  Interface: Window,
  interfaces: { Storage, Window },
  mixin: globalThis,
  values: { ...storages, postMessage, window: globalThis },
};
