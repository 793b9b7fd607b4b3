// What the suite's server gives a test in a window, as far as its IndexedDB folder uses it, for a runtime that has no windows.
import process from "node:process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { FileReader, XMLHttpRequest } from "../support/page.mjs";

const ORIGIN = "http://web-platform.test:8000";

const hidden = (target, name, value) => Object.defineProperty(target, name, { value, writable: true, configurable: true });

/** Before the harness is loaded. */
export function prepare(global, { suite, file, variant, title }) {
  hidden(global, "self", global);
  hidden(global, "window", global);
  // idlharness takes this for a window's realm then.
  hidden(global, "Window", function Window() {});
  hidden(global, "GLOBAL", { isWindow: () => true, isWorker: () => false, isShadowRealm: () => false });
  hidden(global, "META_TITLE", title);
  const url = new URL(`${ORIGIN}/IndexedDB/${file.replace(/js$/, "html")}${variant}`);
  const location = { href: url.href, origin: url.origin, pathname: url.pathname, search: url.search, toString: () => url.href };
  hidden(global, "location", location);
  // Whether it can be cloned is all that tests ask of it.
  hidden(global, "postMessage", (message) => void global.structuredClone(message));
  makeTarget(global);
  hidden(global, "XMLHttpRequest", XMLHttpRequest);
  if (!("FileReader" in global)) hidden(global, "FileReader", FileReader);
  addHelpers(global, url.search);
  addInterfaces(global, suite);
}

/** After the harness, which would take a realm with a document for a page that it can draw in. */
export function addDocument(global, { Stored = Plain, StoredFileList = Plain }) {
  const files = new StoredFileList({ class: "FileList", files: [] });
  hidden(global, "document", { getElementsByTagName: () => new EventTarget(), createElement: () => ({ files }) });
  const makers = makersOf(Stored);
  for (const [name, make] of Object.entries(makers)) if (!(name in global)) hidden(global, name, make);
}

// What nothing has caught comes to the listeners of the global object. Deno does that itself, and ends if none of them prevents it.
function makeTarget(global) {
  if ("Deno" in global) {
    for (const type of ["error", "unhandledrejection"]) global.addEventListener(type, (event) => event.preventDefault());
    return;
  }
  const target = new EventTarget();
  hidden(global, "addEventListener", target.addEventListener.bind(target));
  hidden(global, "removeEventListener", target.removeEventListener.bind(target));
  hidden(global, "dispatchEvent", target.dispatchEvent.bind(target));
  const fire = (type, members) => target.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), members));
  process.on("uncaughtException", (error) => fire("error", { error, message: String(error) }));
  process.on("unhandledRejection", (reason) => fire("unhandledrejection", { reason }));
}

// Helpers of the suite that are not in its IndexedDB folder.
function addHelpers(global, search) {
  // common/subset-tests.js: those tests are run whose number lies in the variant's range.
  const range = /^\?(\d+)-(\d+|last)$/.exec(search);
  const first = range === null ? 1 : Number(range[1]);
  const last = range === null || range[2] === "last" ? Infinity : Number(range[2]);
  let number = 0;
  hidden(global, "shouldRunSubTest", (n) => n >= first && n <= last);
  hidden(global, "subsetTest", (run, ...args) => {
    number += 1;
    return global.shouldRunSubTest(number) ? run(...args) : null;
  });
  // storage/buckets/resources/util.js
  hidden(global, "prepareForBucketTest", async () => {
    if (global.navigator?.storageBuckets === undefined) throw new Error("there are no storage buckets");
  });
}

// `fetch` of the interface definitions, which idlharness uses.
function addInterfaces(global, suite) {
  const folder = join(suite, "interfaces");
  const names = new Set(readdirSync(folder).map((name) => `/interfaces/${name}`));
  const { fetch } = global;
  hidden(global, "fetch", async (input, init) => {
    if (typeof input !== "string" || !input.startsWith("/interfaces/")) return fetch(input, init);
    const ok = names.has(input);
    return { ok, status: ok ? 200 : 404, text: async () => readFileSync(join(suite, input), "utf8") };
  });
}

// What stands for them where the package has no such class: an implementation that clones as the runtime does makes plain objects of these.
class Plain {
  constructor(description) {
    Object.assign(this, description);
  }

  get [Symbol.toStringTag]() {
    return this.class;
  }
}

// Classes that can be stored and that a runtime may lack: what a value of them would be after it was stored.
function makersOf(Stored) {
  const members = {};
  for (const row of [1, 2, 3, 4]) for (const column of [1, 2, 3, 4]) members[`m${row}${column}`] = row === column ? 1 : 0;
  const point = { x: 0, y: 0, z: 0, w: 1 };
  const rect = { x: 0, y: 0, width: 0, height: 0 };
  const maker = (description) =>
    function () {
      return new Stored(description);
    };
  const makers = {
    ImageData: function (width, height) {
      const data = new Uint8ClampedArray(4 * width * height);
      return new Stored({ class: "ImageData", width, height, colorSpace: "srgb", pixelFormat: "rgba-unorm8", data });
    },
  };
  for (const end of ["", "ReadOnly"]) {
    makers[`DOMMatrix${end}`] = maker({ class: `DOMMatrix${end}`, is2D: true, members });
    makers[`DOMPoint${end}`] = maker({ class: `DOMPoint${end}`, ...point });
    makers[`DOMRect${end}`] = maker({ class: `DOMRect${end}`, ...rect });
  }
  return makers;
}
