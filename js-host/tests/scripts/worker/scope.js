// HTML, 10.2 and 10.3: the global scope of a dedicated worker. The test's host has the scripts of https://example.com/lib/.
test("the global object is a DedicatedWorkerGlobalScope, and nothing of a window is there", () => {
  same(Object.getPrototypeOf(self), DedicatedWorkerGlobalScope.prototype);
  same(Object.getPrototypeOf(DedicatedWorkerGlobalScope.prototype), WorkerGlobalScope.prototype);
  same(Object.getPrototypeOf(WorkerGlobalScope.prototype), EventTarget.prototype);
  same(Object.prototype.toString.call(self), "[object DedicatedWorkerGlobalScope]");
  for (const name of ["window", "document", "Window", "Location", "Navigator"]) check(!(name in self), name);
  same(Object.prototype.toString.call(location), "[object WorkerLocation]");
  same(Object.prototype.toString.call(navigator), "[object WorkerNavigator]");
  throws("TypeError", () => new DedicatedWorkerGlobalScope());
  same(name, "");
});

test("indexedDB is an attribute of WorkerGlobalScope's", () => {
  check(!Object.hasOwn(self, "indexedDB"));
  const { get } = Object.getOwnPropertyDescriptor(WorkerGlobalScope.prototype, "indexedDB");
  same(get.call(self), indexedDB);
  throws("TypeError", () => get.call({}));
});

test("importScripts runs scripts in their order in the global scope, before it returns", () => {
  same(importScripts(), undefined);
  importScripts("/lib/a.js", "https://example.com/lib/b.js");
  same(fromA, 1);
  same(fromB, 2);
  list(order, ["a", "b"]);
});

test("what an imported script throws comes out, and the scripts after it are not run", () => {
  order.length = 0;
  throws("RangeError", () => importScripts("/lib/throws.js", "/lib/a.js"));
  throws("SyntaxError", () => importScripts("/lib/syntax.js"));
  list(order, []);
});

test("importScripts refuses what is no URL and what is not there", () => {
  const bad = throws("SyntaxError", () => importScripts("/lib/a.js", "http://a:99999/"));
  check(bad instanceof DOMException);
  throws("NetworkError", () => importScripts("/lib/missing.js"));
  list(order, []);
});

test("a message to the parent is cloned, and what is transferred is gone", () => {
  const buffer = new ArrayBuffer(4);
  postMessage({ buffer }, [buffer]);
  same(buffer.detached, true);
  throws("DataCloneError", () => postMessage(() => {}));
});
