// HTML, 10.2: workers, what they say to the realm that has made them, and what goes wrong in them.
const urlOf = (source, type = "text/javascript") => URL.createObjectURL(new Blob([source], { type }));
const workerOf = (source, options = undefined) => new Worker(urlOf(source), options);
const next = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
// The worker's first message.
const said = async (source, options = undefined) => (await next(workerOf(source, options), "message")).data;
// An expression's value in a worker, or what it throws.
const valueOf = (expression, options = undefined) =>
  said(`(async () => { try { postMessage(await (${expression})); } catch (error) { postMessage(String(error)); } })()`, options);
const ECHO = "onmessage = (event) => postMessage(event.data);";

test("a worker and its maker send each other copies", async () => {
  const worker = workerOf(ECHO);
  const sent = { date: new Date(5), map: new Map([[1, new Set(["a"])]]), bytes: new Uint8Array([1, 2]), lone: "\ud800" };
  sent.itself = sent;
  worker.postMessage(sent);
  const event = await next(worker, "message");
  same(Object.getPrototypeOf(event), MessageEvent.prototype);
  same(event.target, worker);
  same(event.origin, "");
  same(event.source, null);
  list(event.ports, []);
  same(event.isTrusted, true);
  const { data } = event;
  same(data.date.getTime(), 5);
  same(data.map.get(1).has("a"), true);
  list(data.bytes, [1, 2]);
  same(data.lone, "\ud800");
  same(data.itself, data);
  check(data !== sent);
  worker.terminate();
});

test("messages come in the order in which they were posted, also those from before the worker has begun", async () => {
  const worker = workerOf(ECHO);
  const seen = [];
  for (let i = 0; i < 50; i++) worker.postMessage(i);
  await new Promise((resolve) => {
    worker.onmessage = ({ data }) => {
      seen.push(data);
      if (data === 49) resolve();
    };
  });
  list(seen, [...seen.keys()]);
  worker.terminate();
});

test("buffers are transferred both ways, and what cannot be cloned is refused", async () => {
  const worker = workerOf("onmessage = ({ data }) => { data[0] += 1; postMessage(data, [data.buffer]); postMessage(data.length); };");
  const bytes = new Uint8Array([7]);
  const answer = next(worker, "message");
  worker.postMessage(bytes, [bytes.buffer]);
  same(bytes.length, 0);
  list((await answer).data, [8]);
  same((await next(worker, "message")).data, 0);
  throws("DataCloneError", () => worker.postMessage(() => {}));
  throws("DataCloneError", () => worker.postMessage(worker));
  const buffer = new ArrayBuffer(1);
  throws("DataCloneError", () => worker.postMessage(buffer, { transfer: [buffer, buffer] }));
  same(buffer.byteLength, 1);
  worker.terminate();
});

test("blobs and files go both ways", async () => {
  const worker = workerOf("onmessage = async ({ data }) => { const text = await data[1].text(); postMessage([text, data[1].slice(1, 3), data[0]]); };");
  const blob = new Blob(["abcdef"], { type: "a/b" });
  worker.postMessage([new File(["file"], "name", { lastModified: 3 }), blob.slice(1, 5, "c/d")]);
  const [text, slice, file] = (await next(worker, "message")).data;
  same(text, "bcde");
  same(await slice.text(), "cd");
  list([file.name, file.lastModified, await file.text()], ["name", 3, "file"]);
  same(await blob.text(), "abcdef");
  worker.terminate();
});

test("the scope of a worker is its own, and says where it is", async () => {
  const url = urlOf("postMessage([self === globalThis, typeof window, name, location.href, location.origin, origin, typeof indexedDB, importScripts.length])");
  const worker = new Worker(url, { name: "mine" });
  const { data } = await next(worker, "message");
  list(data, [true, "undefined", "mine", url, location.origin === "null" ? "null" : origin, origin, "object", 0]);
  same(await valueOf("Object.prototype.toString.call(self)"), "[object DedicatedWorkerGlobalScope]");
  same(await valueOf("(globalThis.leaked = 1)"), 1);
  check(!("leaked" in globalThis));
  worker.terminate();
});

test("importScripts runs scripts of blobs, and says what it cannot have", async () => {
  const library = urlOf("var fromLibrary = 41;");
  same(await said(`importScripts(${JSON.stringify(library)}); postMessage(fromLibrary + 1);`), 42);
  same(await valueOf("(() => { try { importScripts('blob:nothing') } catch (error) { return error.name } })()"), "NetworkError");
  // Nothing is relative to a blob.
  same(await valueOf("(() => { try { importScripts('lib.js') } catch (error) { return error.name } })()"), "SyntaxError");
});

test("a module worker is strict, has import.meta and no importScripts of use", async () => {
  const source = "postMessage([this === undefined, import.meta.url.slice(0, 5), (() => { try { importScripts() } catch (error) { return error.name } })()])";
  list(await said(source, { type: "module" }), [true, "blob:", "TypeError"]);
  same(await said("postMessage(await Promise.resolve(5))", { type: "module" }), 5);
});

test("a worker of a data: URL has an origin of its own, and no databases", async () => {
  const worker = new Worker("data:text/javascript,onmessage%20=%20()%20=>%20{%20try%20{%20indexedDB.open('x')%20}%20catch%20({%20name%20})%20{%20postMessage([name,%20origin])%20}%20}");
  worker.postMessage(0);
  list((await next(worker, "message")).data, ["SecurityError", "null"]);
  worker.terminate();
});

test("the constructor refuses what is no URL, another origin's and an unknown type", () => {
  const bad = throws("SyntaxError", () => new Worker("http://a:99999/"));
  check(bad instanceof DOMException);
  throws("SecurityError", () => new Worker("https://elsewhere.example/a.js"));
  throws("TypeError", () => new Worker("blob:x", { type: "other" }));
  throws("TypeError", () => new Worker());
  throws("TypeError", () => Worker("blob:x"));
  list([Worker.length, Worker.name], [1, "Worker"]);
});

test("a script that is not there is an error event without a message", async () => {
  const event = await next(new Worker(`blob:${origin}/nothing`), "error");
  same(Object.getPrototypeOf(event), Event.prototype);
  same(event.bubbles, false);
  same(event.cancelable, true);
  const url = urlOf("0");
  const worker = new Worker(urlOf("0", "text/plain"), { type: "module" });
  same(Object.getPrototypeOf(await next(worker, "error")), Event.prototype);
  URL.revokeObjectURL(url);
  same(Object.getPrototypeOf(await next(new Worker(url), "error")), Event.prototype);
});

test("a URL that is revoked after the constructor still has its script", async () => {
  const url = urlOf("postMessage(1)");
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  same((await next(worker, "message")).data, 1);
});

test("what a worker does not catch comes to its maker with its place", async () => {
  const url = urlOf("postMessage(0);\n\n  throw new RangeError('mine');");
  const worker = new Worker(url);
  const event = await new Promise((resolve) => {
    worker.onerror = (event) => {
      event.preventDefault();
      resolve(event);
    };
  });
  same(Object.getPrototypeOf(event), ErrorEvent.prototype);
  list([event.message, event.filename, event.lineno], ["Uncaught RangeError: mine", url, 3]);
  check(event.colno > 0);
  same(event.error, null);
  same(event.cancelable, true);
  for (const source of ["var = 1;", "setTimeout(() => { throw new Error('later') })", "onmessage = () => { throw 'thrown' }"]) {
    const other = workerOf(source);
    other.postMessage(0);
    const event = await new Promise((resolve) => {
      other.addEventListener("error", (event) => {
        event.preventDefault();
        resolve(event);
      });
    });
    check(/^Uncaught (SyntaxError: .*|Error: later|thrown)$/.test(event.message), event.message);
    other.terminate();
  }
  const module = workerOf("throw new Error('of a module')", { type: "module" });
  const ofModule = await next(module, "error");
  ofModule.preventDefault();
  same(ofModule.message, "Uncaught Error: of a module");
});

test("a worker that catches its own exceptions causes no error event", async () => {
  const source = "onerror = (message, filename, line, column, error) => { postMessage([message, line, error.message]); return true; }; throw new Error('own');";
  const worker = workerOf(source);
  let events = 0;
  worker.onerror = () => (events += 1);
  list((await next(worker, "message")).data, ["Uncaught Error: own", 1, "own"]);
  worker.postMessage(0);
  await new Promise((resolve) => setTimeout(resolve, 20));
  same(events, 0);
  worker.terminate();
});

test("what neither a worker nor its object deals with comes to the global object", async () => {
  const seen = [];
  const listener = (event) => {
    event.preventDefault();
    seen.push(event.message, event.error);
  };
  addEventListener("error", listener);
  const worker = workerOf("throw new Error('nobody')");
  worker.onerror = () => seen.push("object");
  await next(globalThis, "error");
  removeEventListener("error", listener);
  list(seen, ["object", "Uncaught Error: nobody", null]);
});

test("a worker is terminated whatever it does, and nothing comes of it any more", async () => {
  const worker = workerOf("postMessage('begun'); for (;;);");
  same((await next(worker, "message")).data, "begun");
  worker.terminate();
  const talker = workerOf("const again = () => { postMessage(0); setTimeout(again); }; again();");
  await next(talker, "message");
  talker.terminate();
  let late = 0;
  talker.onmessage = () => (late += 1);
  // Nor does a promise go on for ever.
  const chained = workerOf("postMessage(0); const again = () => Promise.resolve().then(again); again();");
  await next(chained, "message");
  chained.terminate();
  await new Promise((resolve) => setTimeout(resolve, 30));
  same(late, 0);
  talker.terminate();
  talker.postMessage(0);
});

test("a worker closes itself after the task, and what it has posted comes", async () => {
  const worker = workerOf("setTimeout(() => postMessage('never')); postMessage(1); close();");
  const seen = [];
  worker.onmessage = ({ data }) => seen.push(data);
  await next(worker, "message");
  // Another is made, and has a timer, meanwhile.
  await said("setTimeout(() => postMessage(0), 10)");
  list(seen, [1]);
});

test("workers have workers, which end with them", async () => {
  const inner = "const channel = new BroadcastChannel('nested'); let n = 0; setInterval(() => channel.postMessage(n++), 1); postMessage('inner');";
  const outer = `const inner = new Worker(URL.createObjectURL(new Blob([${JSON.stringify(inner)}]))); inner.onmessage = ({ data }) => postMessage(data + ' of outer');`;
  const channel = new BroadcastChannel("nested");
  const worker = workerOf(outer);
  same((await next(worker, "message")).data, "inner of outer");
  await next(channel, "message");
  worker.terminate();
  await new Promise((resolve) => setTimeout(resolve, 100));
  let late = 0;
  channel.onmessage = () => (late += 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  same(late, 0);
  channel.close();
});

test("a blob: URL of a worker's is its maker's, too, until the worker is gone", async () => {
  const worker = workerOf("postMessage(URL.createObjectURL(new Blob(['from a worker'], { type: 'a/b' })));");
  const url = (await next(worker, "message")).data;
  const response = await fetch(url);
  same(await response.text(), "from a worker");
  URL.revokeObjectURL(url);
  await fetch(url).then(() => check(false), () => check(true));
  worker.terminate();
  const here = URL.createObjectURL(new Blob(["from here"]));
  same(await valueOf(`fetch(${JSON.stringify(here)}).then((response) => response.text())`), "from here");
});
