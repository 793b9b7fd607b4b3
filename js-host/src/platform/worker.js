// The global scope of a dedicated worker (HTML, 10.2.1). The parent is the host, which does not listen.
import { EventTarget, exposeInterface, INTERNAL, requireArguments, webidl } from "../binding/mod.js";
import { location } from "./location.js";
import { cloneWithTransfer } from "./message_channel.js";
import { native } from "./native.js";
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
  const string = webidl.toDOMString(url);
  try {
    return new URL(string, location.href).href;
  } catch {
    throw new DOMException(`The URL '${string}' is invalid.`, "SyntaxError");
  }
}

const values = {
  // What a script throws comes out of here, and those after it are not run.
  importScripts(...urls) {
    const all = urls.map(resolved);
    for (let i = 0; i < all.length; i++) native.importScript(all[i]);
  },
  postMessage(message, options = undefined) {
    requireArguments(arguments.length, 1, "postMessage");
    cloneWithTransfer(message, options);
  },
  close: () => native.close(),
  name: "",
};

export const scope = {
  Interface: DedicatedWorkerGlobalScope,
  interfaces: { DedicatedWorkerGlobalScope, WorkerGlobalScope },
  // Of a global object's interfaces, only the last has its members on the object itself.
  mixin: WorkerGlobalScope.prototype,
  values,
};
