// The global scope of a dedicated worker (HTML, 10.2.1).
import { EventTarget, exposeInterface, INTERNAL, peek, requireArguments, webidl } from "./binding.js";
import { blobBytes, blobOfUrl } from "./blob.js";
import { dataOfUrl } from "./data_url.js";
import { TextDecoder } from "./encoding.js";
import { location } from "./location.js";
import { dispatchMessage, messageState } from "./message_channel.js";
import { native } from "./native.js";
import { pack, toTransferList } from "./transfer.js";
import { URL } from "./url.js";

class WorkerGlobalScope extends EventTarget {
  constructor(token = undefined, state = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: WorkerGlobalScope");
    super(token, state);
  }
}
exposeInterface(WorkerGlobalScope, "WorkerGlobalScope");

class DedicatedWorkerGlobalScope extends WorkerGlobalScope {}
exposeInterface(DedicatedWorkerGlobalScope, "DedicatedWorkerGlobalScope");

function resolved(url) {
  const string = webidl.toDOMString(url).toWellFormed();
  try {
    return new URL(string, location.href).href;
  } catch {
    throw new DOMException(`The URL '${string}' is invalid.`, "SyntaxError");
  }
}

// The text of a script; throws a NetworkError if there is none.
function textOf(url) {
  const plain = url.replace(/#.*$/s, "");
  let bytes;
  if (url.startsWith("data:")) {
    ({ bytes } = dataOfUrl(url) ?? {});
  } else if (url.startsWith("blob:")) {
    const blob = blobOfUrl(plain);
    bytes = blob === undefined ? undefined : new Uint8Array(blobBytes(blob));
  } else {
    return native.loadScript(url);
  }
  if (bytes === undefined) throw new DOMException(`The script at '${url}' failed to load.`, "NetworkError");
  return new TextDecoder().decode(bytes);
}

const values = {
  // What a script throws comes out of here, and those after it are not run.
  importScripts(...urls) {
    if (native.isModule) throw new TypeError("importScripts: a module imports scripts by its own means");
    const all = urls.map(resolved);
    for (let i = 0; i < all.length; i++) native.runScript(all[i], textOf(all[i]));
  },
  postMessage(message, options = undefined) {
    requireArguments(arguments.length, 1, "postMessage");
    native.realms.postToParent(...pack(message, toTransferList(options)));
  },
  close: () => native.close(),
  name: native.name,
};

// A message of the parent's has come.
export function fromParent(_, isWhole, data, ports) {
  dispatchMessage(peek(globalThis), messageState({ data, ports }, isWhole));
}

export const scope = {
  Interface: DedicatedWorkerGlobalScope,
  interfaces: { DedicatedWorkerGlobalScope, WorkerGlobalScope },
  // Where the members of WindowOrWorkerGlobalScope are. A global object itself has the members of its last interface alone, and this is
  // not the last.
  mixin: WorkerGlobalScope.prototype,
  values,
};
