// The global scope: everything that a script finds when it starts, and what the host calls.
import * as binding from "../binding/mod.js";
import * as clone from "../clone/helpers.js";
import { native } from "./native.js";
import { AbortController, AbortSignal } from "./abort.js";
import { Blob, File, FileList } from "./blob.js";
import { console } from "./console.js";
import { Crypto, crypto } from "./crypto.js";
import { CustomEvent, MessageEvent } from "./custom_event.js";
import { TextDecoder, TextEncoder } from "./encoding.js";
import { functions, turn } from "./event_loop.js";
import { fetch, Response } from "./fetch.js";
import { FileReader } from "./file_reader.js";
import { Location, location, Navigator, navigator } from "./location.js";
import { MessageChannel, MessagePort, postMessage, structuredClone } from "./message_channel.js";
import { ErrorEvent, PromiseRejectionEvent, reportError, reportRejection } from "./report_error.js";
import { URL, URLSearchParams } from "./url.js";

const { attach, exposeGlobal, exposeInterface, EventTarget, EventTargetState, defineHandlers, INTERNAL } = binding;

binding.setHooks({
  reportError,
  microtaskCheckpoint: native.microtaskCheckpoint,
  wantCheckpointCleanup: native.wantCheckpointCleanup,
  now: native.now,
  isProxy: native.isProxy,
  serialize: native.serialize,
  engine: native.engine,
});

// The global object is an event target.
class Window extends EventTarget {
  constructor(token = undefined, state = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: Window");
    super(token, state);
  }
}
exposeInterface(Window, "Window");
Object.setPrototypeOf(globalThis, Window.prototype);
attach(globalThis, new EventTargetState());
defineHandlers({ prototype: globalThis }, EventTargetState, ["error", "unhandledrejection", "rejectionhandled", "message"]);

const interfaces = {
  AbortController,
  AbortSignal,
  Blob,
  Crypto,
  CustomEvent,
  ErrorEvent,
  File,
  FileList,
  FileReader,
  Location,
  MessageChannel,
  MessageEvent,
  MessagePort,
  Navigator,
  PromiseRejectionEvent,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  Window,
};
for (const name of Object.keys(interfaces)) exposeGlobal(globalThis, name, interfaces[name]);

const values = {
  ...functions,
  console,
  crypto,
  fetch,
  location,
  navigator,
  postMessage,
  reportError,
  self: globalThis,
  structuredClone,
  window: globalThis,
};
for (const name of Object.keys(values)) {
  Object.defineProperty(globalThis, name, { value: values[name], writable: true, enumerable: true, configurable: true });
}
binding.install(globalThis);

// What the host calls.
export const host = {
  turn,
  complete: binding.complete,
  notify: binding.notify,
  runCheckpointCleanup: binding.runCheckpointCleanup,
  reportError,
  reportRejection,
};
export { clone };
