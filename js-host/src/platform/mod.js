// The global scope: everything that a script finds when it starts, and what the host calls.
import * as binding from "./binding.js";
import * as clone from "../clone/helpers.js";
import "./array_join.js";
import { isWorker, native } from "./native.js";
import { AbortController, AbortSignal } from "./abort.js";
import { Blob, File, FileList } from "./blob.js";
import { BroadcastChannel } from "./broadcast_channel.js";
import { importCommonJs } from "./common_js.js";
import { console } from "./console.js";
import { Crypto, crypto } from "./crypto.js";
import { CryptoKey } from "./crypto_key.js";
import { CustomEvent, MessageEvent } from "./custom_event.js";
import { Worker } from "./dedicated_worker.js";
import { TextDecoder, TextEncoder } from "./encoding.js";
import { functions, turn } from "./event_loop.js";
import { fetch, Response } from "./fetch.js";
import { FileReader } from "./file_reader.js";
import { DOMPoint, DOMPointReadOnly, DOMQuad, DOMRect, DOMRectReadOnly } from "./geometry.js";
import { DOMMatrix, DOMMatrixReadOnly } from "./geometry_matrix.js";
import { ImageData } from "./image_data.js";
import { values as larder } from "./larder.js";
import "./locale.js";
import * as place from "./location.js";
import { claimPorts, MessageChannel, MessagePort, placeOfPort, structuredClone } from "./message_channel.js";
import * as opaque from "./opaque.js";
import { receive } from "./other_realms.js";
import { Performance, performance, PerformanceEntry, PerformanceMark, PerformanceMeasure } from "./performance.js";
import { ErrorEvent, PromiseRejectionEvent, reportError, reportRejection, watchModule } from "./report_error.js";
import { SubtleCrypto } from "./subtle_crypto.js";
import { URL, URLSearchParams } from "./url.js";
import { scope as window } from "./window.js";
import { scope as worker } from "./worker.js";
import { ProgressEvent, XMLHttpRequest } from "./xml_http_request.js";

const { attach, exposeGlobal, EventTargetState, defineHandlers } = binding;

binding.host.reportError = reportError;

const scope = isWorker ? worker : window;

// The global object is an event target, and says of itself what its interface says.
delete globalThis[Symbol.toStringTag];
Object.setPrototypeOf(globalThis, scope.Interface.prototype);
attach(globalThis, new EventTargetState());
defineHandlers({ prototype: globalThis }, EventTargetState, ["error", "unhandledrejection", "rejectionhandled", "message", "messageerror"]);

const interfaces = {
  ...scope.interfaces,
  ...place.interfaces,
  ...opaque.interfaces,
  AbortController,
  AbortSignal,
  Blob,
  BroadcastChannel,
  Crypto,
  CryptoKey,
  CustomEvent,
  DOMMatrix,
  DOMMatrixReadOnly,
  DOMPoint,
  DOMPointReadOnly,
  DOMQuad,
  DOMRect,
  DOMRectReadOnly,
  ErrorEvent,
  File,
  FileList,
  FileReader,
  ImageData,
  MessageChannel,
  MessageEvent,
  MessagePort,
  Performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  ProgressEvent,
  PromiseRejectionEvent,
  Response,
  SubtleCrypto,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  Worker,
  XMLHttpRequest,
};
for (const name of Object.keys(interfaces)) exposeGlobal(globalThis, name, interfaces[name]);

const values = {
  ...scope.values,
  ...functions,
  ...larder,
  console,
  crypto,
  fetch,
  location: place.location,
  navigator: place.navigator,
  origin: native.origin,
  performance,
  reportError,
  self: globalThis,
  structuredClone,
};
for (const name of Object.keys(values)) {
  Object.defineProperty(globalThis, name, { value: values[name], writable: true, enumerable: true, configurable: true });
}
binding.install(globalThis, scope.mixin);

// What the host calls.
export const host = {
  turn,
  complete: binding.complete,
  notify: binding.notify,
  runCheckpointCleanup: binding.runCheckpointCleanup,
  reportError,
  reportRejection,
  importCommonJs,
  receive,
  claimPorts,
  placeOfPort,
  watchModule,
};
export { clone };
