// Worker (HTML, 10.2.6.3): a realm of its own on a thread of its own, with this realm's databases.
import { createEvent, defineHandlers, dispatch, EventTarget, EventTargetState, exposeInterface, INTERNAL, requireArguments, stateOf, webidl } from "./binding.js";
import { blobBytes, blobOfUrl, blobType, publishBlobs } from "./blob.js";
import { dataOfUrl } from "./data_url.js";
import { TextDecoder } from "./encoding.js";
import { queueTask } from "./event_loop.js";
import { location } from "./location.js";
import { dispatchMessage, messageState } from "./message_channel.js";
import { native } from "./native.js";
import { reportOfWorker } from "./report_error.js";
import { pack, toTransferList } from "./transfer.js";
import { URL } from "./url.js";

const { toDictionary, toDOMString } = webidl;
// No realm has this number.
const NO_REALM = 0xffffffff;
const TYPES = ["classic", "module"];
const CREDENTIALS = ["omit", "same-origin", "include"];
// What a browser takes a module from.
const JAVASCRIPT = /^(text\/(javascript(1\.[0-5])?|x-javascript|ecmascript|x-ecmascript|jscript|livescript)|application\/(x-)?(java|ecma)script)\s*(;|$)/i;

// By number, those that run. They are not collected meanwhile.
const running = new Map();

class WorkerState extends EventTargetState {
  constructor() {
    super();
    // undefined before it begins, and when it is over.
    this.id = undefined;
  }

  start(options) {
    this.id = native.realms.start(options);
    running.set(this.id, this);
  }

  end() {
    running.delete(this.id);
    this.id = undefined;
  }

  hears(type) {
    for (let one = this.listeners?.first ?? null; one !== null; one = one.next) if (one.type === type && !one.removed) return true;
    return false;
  }

  // The script could not be had.
  fail(why) {
    if (!this.hears("error")) native.uncaught(why);
    dispatch(this, createEvent("error", false, true), true);
  }
}

function oneOf(all, value, name) {
  if (value === undefined) return undefined;
  const text = toDOMString(value);
  if (!all.includes(text)) throw new TypeError(`Worker: '${text}' is no ${name}`);
  return text;
}

function toOptions(given) {
  const { credentials, name, type } = toDictionary(given, "WorkerOptions");
  oneOf(CREDENTIALS, credentials, "RequestCredentials");
  return {
    name: name === undefined ? "" : toDOMString(name).toWellFormed(),
    isModule: oneOf(TYPES, type, "WorkerType") === "module",
  };
}

function toUrl(given) {
  const text = toDOMString(given).toWellFormed();
  let url;
  try {
    url = new URL(text, location.href);
  } catch {
    throw new DOMException(`Worker: '${text}' is not a valid URL.`, "SyntaxError");
  }
  if (["blob:", "data:", "file:"].includes(url.protocol) || url.origin === native.origin) return url;
  throw new DOMException(`Worker: the script at '${url.href}' is of another origin than '${native.origin}'.`, "SecurityError");
}

// The script of a URL whose content lies in this realm: { type, bytes }, or undefined if there is none.
function contentOf(url) {
  if (url.protocol === "data:") return dataOfUrl(url.href);
  const blob = blobOfUrl(url.href.replace(/#.*$/s, ""));
  return blob === undefined ? undefined : { type: blobType(blob), bytes: new Uint8Array(blobBytes(blob)) };
}

function begin(state, url, options) {
  const fail = (why) => queueTask(() => state.fail(`The script of a worker, ${url.href}, could not be loaded: ${why}`));
  const isOpaque = url.protocol === "data:";
  let source;
  if (isOpaque || url.protocol === "blob:") {
    const content = contentOf(url);
    if (content === undefined) return fail("no script is found at this URL");
    if (options.isModule && !JAVASCRIPT.test(content.type)) return fail(`"${content.type}" is not the type of a JavaScript module`);
    source = new TextDecoder().decode(content.bytes);
  }
  publishBlobs();
  state.start({ url: url.href, isOpaque, source, ...options });
}

export class Worker extends EventTarget {
  constructor(scriptURL, options = undefined) {
    requireArguments(arguments.length, 1, "Worker");
    const url = toUrl(scriptURL);
    const given = toOptions(options);
    const state = new WorkerState();
    super(INTERNAL, state);
    begin(state, url, given);
  }
  postMessage(message, options = undefined) {
    const state = stateOf(this, WorkerState);
    requireArguments(arguments.length, 1, "postMessage");
    const packed = pack(message, toTransferList(options));
    native.realms.postToWorker(state.id ?? NO_REALM, ...packed);
  }
  terminate() {
    const state = stateOf(this, WorkerState);
    if (state.id === undefined) return;
    native.realms.terminate(state.id);
    state.end();
  }
}
exposeInterface(Worker, "Worker");
defineHandlers(Worker, WorkerState, ["message", "messageerror", "error"]);

// What comes from workers to this realm, by kind. What a terminated worker has sent is dropped.
export const fromWorkers = {
  fromWorker(id, isWhole, data, ports) {
    const worker = running.get(id);
    if (worker !== undefined) dispatchMessage(worker, messageState({ data, ports }, isWhole));
  },
  unloaded(id, why) {
    const worker = running.get(id);
    worker?.end();
    worker?.fail(`The script of a worker could not be loaded: ${why}`);
  },
  threw(id, message, filename, lineno, colno, text) {
    const worker = running.get(id);
    if (worker !== undefined) reportOfWorker(worker, { message, filename, lineno, colno, error: null }, text);
  },
  ended(id) {
    running.get(id)?.end();
  },
};
