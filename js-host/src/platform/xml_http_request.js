// XMLHttpRequest (its own specification) for what needs no network: blob: and data: URLs, and URLs of a server that the host plays itself.
// All else is a network error. There is no upload object, and a document is no type of response.
import { createEvent, defineHandlers, dispatch, Event, EventState, EventTarget, EventTargetState, exposeInterface, INTERNAL, requireArguments, stateOf, webidl } from "./binding.js";
import { Blob, blobBytes, blobOfUrl, blobType } from "./blob.js";
import { dataOfUrl } from "./data_url.js";
import { encodeUtf8, TextDecoder } from "./encoding.js";
import { queueTask } from "./event_loop.js";
import { location } from "./location.js";
import { native } from "./native.js";
import { URL } from "./url.js";

const { toDOMString } = webidl;
const STATES = { UNSENT: 0, OPENED: 1, HEADERS_RECEIVED: 2, LOADING: 3, DONE: 4 };
const TYPES = ["", "arraybuffer", "blob", "document", "json", "text"];
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const NORMALISED = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];

class ProgressState extends EventState {
  loaded = 0;
}

export class ProgressEvent extends Event {
  constructor(type, init = undefined) {
    if (type === INTERNAL) {
      super(INTERNAL, init);
      return;
    }
    requireArguments(arguments.length, 1, "ProgressEvent");
    const { bubbles, cancelable, loaded } = webidl.toDictionary(init, "ProgressEventInit");
    const state = new ProgressState(toDOMString(type), !!bubbles, !!cancelable);
    state.loaded = loaded === undefined ? 0 : +loaded;
    super(INTERNAL, state);
  }
  get lengthComputable() {
    stateOf(this, ProgressState);
    return false;
  }
  get loaded() {
    return stateOf(this, ProgressState).loaded;
  }
  get total() {
    stateOf(this, ProgressState);
    return 0;
  }
}
exposeInterface(ProgressEvent, "ProgressEvent");

// A response: status, headers as [name, value], and an ArrayBuffer.
const found = (type, body) => ({
  status: 200,
  headers: [["content-length", String(body.byteLength)], ["content-type", type]],
  body,
});

// What a request gets; undefined for a network error.
function answer({ method, url, headers, body }) {
  if (url.startsWith("blob:") || url.startsWith("data:")) {
    if (method !== "GET") return undefined;
    if (url.startsWith("data:")) {
      const data = dataOfUrl(url);
      return data === undefined ? undefined : found(data.type, data.bytes.buffer);
    }
    const blob = blobOfUrl(url.replace(/#.*$/s, ""));
    return blob === undefined ? undefined : found(blobType(blob), blobBytes(blob));
  }
  const response = native.request(method, url, headers, body);
  if (response === undefined) return undefined;
  const [status, flat, content] = response;
  const named = [];
  for (let i = 0; i < flat.length; i += 2) named.push([flat[i], flat[i + 1]]);
  return { status, headers: named, body: content };
}

// The bytes of what is sent, and their type if it has one.
function extract(body) {
  if (body === undefined || body === null) return [new ArrayBuffer(0), ""];
  if (body instanceof Blob) return [blobBytes(body), blobType(body)];
  if (body instanceof ArrayBuffer) return [body.slice(0), ""];
  if (ArrayBuffer.isView(body)) return [body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength), ""];
  return [encodeUtf8(toDOMString(body)).slice().buffer, "text/plain;charset=UTF-8"];
}

class RequestState extends EventTargetState {
  readyState = STATES.UNSENT;
  request = undefined;
  response = undefined;
  made = undefined;
  responseType = "";
  timeout = 0;
  withCredentials = false;
  isSent = false;
  mimeType = undefined;
  turn = 0;

  changeTo(readyState) {
    this.readyState = readyState;
    dispatch(this, createEvent("readystatechange", false, false), true);
  }

  fire(type) {
    const state = new ProgressState(type, false, false);
    state.trusted = true;
    state.loaded = this.response?.body.byteLength ?? 0;
    dispatch(this, new ProgressEvent(INTERNAL, state), true);
  }

  require(readyState) {
    if (this.readyState !== readyState || this.isSent) {
      throw new DOMException("The request is not opened, or has been sent.", "InvalidStateError");
    }
  }

  // All that arrives arrives at once.
  arrive(turn) {
    const goesOn = () => this.turn === turn;
    const response = answer(this.request);
    if (response === undefined) return this.fail("error");
    this.response = response;
    this.changeTo(STATES.HEADERS_RECEIVED);
    if (goesOn() && response.body.byteLength > 0) {
      this.changeTo(STATES.LOADING);
      if (goesOn()) this.fire("progress");
    }
    if (!goesOn()) return undefined;
    this.isSent = false;
    this.changeTo(STATES.DONE);
    if (goesOn()) this.fire("load");
    if (goesOn()) this.fire("loadend");
    return undefined;
  }

  fail(type) {
    this.isSent = false;
    this.response = undefined;
    this.made = undefined;
    const turn = (this.turn += 1);
    this.changeTo(STATES.DONE);
    if (turn === this.turn) this.fire(type);
    if (turn === this.turn) this.fire("loadend");
  }

  header(name) {
    const wanted = name.toLowerCase();
    const values = this.response?.headers.filter((header) => header[0].toLowerCase() === wanted) ?? [];
    return values.length === 0 ? null : values.map((header) => header[1]).join(", ");
  }

  text() {
    if (this.response === undefined || this.readyState < STATES.LOADING) return "";
    const charset = /charset="?([^\s;"]+)/i.exec(this.mimeType ?? this.header("content-type") ?? "")?.[1];
    let decoder = new TextDecoder();
    try {
      decoder = new TextDecoder(charset);
    } catch {
      // Unknown: UTF-8.
    }
    return decoder.decode(this.response.body);
  }

  // An object of the response, made once.
  object() {
    if (this.readyState !== STATES.DONE || this.response === undefined) return null;
    this.made ??= { value: this.make() };
    return this.made.value;
  }

  make() {
    const { body } = this.response;
    if (this.responseType === "arraybuffer") return body;
    if (this.responseType === "blob") return new Blob([body], { type: this.mimeType ?? this.header("content-type") ?? "" });
    if (this.responseType !== "json") return null;
    try {
      return JSON.parse(new TextDecoder().decode(body));
    } catch {
      return null;
    }
  }
}

export class XMLHttpRequest extends EventTarget {
  constructor() {
    super(INTERNAL, new RequestState());
  }
  open(method, url, async = true) {
    const state = stateOf(this, RequestState);
    requireArguments(arguments.length, 2, "open");
    const name = toDOMString(method);
    if (!TOKEN.test(name)) throw new DOMException(`'${name}' is no method.`, "SyntaxError");
    if (/^(connect|trace|track)$/i.test(name)) throw new DOMException(`${name} is forbidden.`, "SecurityError");
    let resolved;
    try {
      resolved = new URL(toDOMString(url), location.href).href;
    } catch {
      throw new DOMException("The URL is invalid.", "SyntaxError");
    }
    const upper = name.toUpperCase();
    const request = { method: NORMALISED.includes(upper) ? upper : name, url: resolved, headers: [], body: undefined, isAsync: !!async };
    Object.assign(state, { request, response: undefined, made: undefined, isSent: false, turn: state.turn + 1 });
    if (state.readyState !== STATES.OPENED) state.changeTo(STATES.OPENED);
  }
  setRequestHeader(name, value) {
    const state = stateOf(this, RequestState);
    requireArguments(arguments.length, 2, "setRequestHeader");
    state.require(STATES.OPENED);
    const [header, text] = [toDOMString(name), toDOMString(value).trim()];
    if (!TOKEN.test(header) || /[\0\r\n]/.test(text)) throw new DOMException("The header is invalid.", "SyntaxError");
    state.request.headers.push([header, text]);
  }
  send(body = null) {
    const state = stateOf(this, RequestState);
    state.require(STATES.OPENED);
    const { request } = state;
    const takesBody = request.method !== "GET" && request.method !== "HEAD";
    const [bytes, type] = extract(takesBody ? body : null);
    request.body = bytes;
    const isType = ([name]) => name.toLowerCase() === "content-type";
    if (type !== "" && !request.headers.some(isType)) request.headers.push(["Content-Type", type]);
    state.isSent = true;
    const turn = (state.turn += 1);
    if (!request.isAsync) {
      state.arrive(turn);
      if (state.response === undefined) throw new DOMException("The request failed.", "NetworkError");
      return;
    }
    state.fire("loadstart");
    queueTask(() => state.turn === turn && state.arrive(turn));
  }
  abort() {
    const state = stateOf(this, RequestState);
    if (state.isSent) state.fail("abort");
    if (state.readyState !== STATES.DONE) return;
    state.readyState = STATES.UNSENT;
    state.response = undefined;
  }
  getResponseHeader(name) {
    const state = stateOf(this, RequestState);
    requireArguments(arguments.length, 1, "getResponseHeader");
    return state.header(toDOMString(name));
  }
  getAllResponseHeaders() {
    const headers = stateOf(this, RequestState).response?.headers ?? [];
    const lines = headers.map(([name, value]) => `${name.toLowerCase()}: ${value}\r\n`);
    return lines.sort().join("");
  }
  overrideMimeType(mime) {
    const state = stateOf(this, RequestState);
    requireArguments(arguments.length, 1, "overrideMimeType");
    if (state.readyState >= STATES.LOADING) throw new DOMException("The response is there.", "InvalidStateError");
    state.mimeType = toDOMString(mime);
  }
  get readyState() {
    return stateOf(this, RequestState).readyState;
  }
  get status() {
    return stateOf(this, RequestState).response?.status ?? 0;
  }
  get statusText() {
    return stateOf(this, RequestState).response?.status === 200 ? "OK" : "";
  }
  get responseURL() {
    const { response, request } = stateOf(this, RequestState);
    return response === undefined ? "" : request.url.replace(/#.*$/s, "");
  }
  get responseType() {
    return stateOf(this, RequestState).responseType;
  }
  set responseType(value) {
    const state = stateOf(this, RequestState);
    const type = toDOMString(value);
    if (!TYPES.includes(type)) return;
    if (state.readyState >= STATES.LOADING) throw new DOMException("The response is there.", "InvalidStateError");
    state.responseType = type;
  }
  get response() {
    const state = stateOf(this, RequestState);
    return state.responseType === "" || state.responseType === "text" ? state.text() : state.object();
  }
  get responseText() {
    const state = stateOf(this, RequestState);
    if (state.responseType !== "" && state.responseType !== "text") {
      throw new DOMException("The response is no text.", "InvalidStateError");
    }
    return state.text();
  }
  get timeout() {
    return stateOf(this, RequestState).timeout;
  }
  set timeout(value) {
    stateOf(this, RequestState).timeout = +value >>> 0;
  }
  get withCredentials() {
    return stateOf(this, RequestState).withCredentials;
  }
  set withCredentials(value) {
    stateOf(this, RequestState).withCredentials = !!value;
  }
}
exposeInterface(XMLHttpRequest, "XMLHttpRequest", STATES);
defineHandlers(XMLHttpRequest, RequestState, ["readystatechange", "loadstart", "progress", "abort", "error", "load", "timeout", "loadend"]);
