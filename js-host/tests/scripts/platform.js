// HTML, DOM, Encoding, File API, URL.
test("timers run in the order of their delays, microtasks before them", async () => {
  const seen = [];
  setTimeout(() => seen.push("late"), 20);
  setTimeout(() => seen.push("soon"), 0);
  const cleared = setTimeout(() => seen.push("never"), 0);
  clearTimeout(cleared);
  queueMicrotask(() => seen.push("micro"));
  let ticks = 0;
  await new Promise((resolve) => {
    const id = setInterval(() => {
      ticks += 1;
      if (ticks === 3) {
        clearInterval(id);
        resolve();
      }
    }, 10);
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  list(seen, ["micro", "soon", "late"]);
});

test("events are dispatched to listeners and handlers in the order in which they came", () => {
  const target = new EventTarget();
  const seen = [];
  target.addEventListener("x", { handleEvent: (event) => seen.push(event.type) });
  target.addEventListener("x", () => seen.push("once"), { once: true });
  const gone = () => seen.push("gone");
  target.addEventListener("x", gone);
  target.removeEventListener("x", gone);
  same(target.dispatchEvent(new Event("x")), true);
  const event = new CustomEvent("x", { detail: 7, cancelable: true });
  target.addEventListener("x", (e) => e.preventDefault());
  same(target.dispatchEvent(event), false);
  same(event.detail, 7);
  list(seen, ["x", "once", "x"]);
  same(event.isTrusted, false);
  throws("TypeError", () => EventTarget.prototype.addEventListener.call({}, "x", null));
});

test("a dispatch tells those that were there when it came to the target and are still there", () => {
  const target = new EventTarget();
  const seen = [];
  const late = () => seen.push("late");
  const removed = () => seen.push("removed");
  const twice = () => seen.push("twice");
  target.addEventListener("x", () => {
    seen.push("first");
    target.addEventListener("x", late);
    target.removeEventListener("x", removed);
  });
  target.addEventListener("x", removed);
  target.addEventListener("y", () => seen.push("another type"));
  target.addEventListener("x", twice);
  target.addEventListener("x", twice);
  target.addEventListener("x", twice, true);
  target.dispatchEvent(new Event("x"));
  list(seen, ["twice", "first", "twice"]);
  target.dispatchEvent(new Event("x"));
  list(seen, ["twice", "first", "twice", "twice", "first", "twice", "late"]);
});

test("a handler keeps its place when it is replaced, and loses it when it is taken away", () => {
  const { port1 } = new MessageChannel();
  const seen = [];
  const tell = (what) => () => void seen.push(what);
  port1.onmessageerror = tell("handler");
  port1.addEventListener("messageerror", tell("listener"));
  const third = tell("third");
  port1.onmessageerror = third;
  same(port1.onmessageerror, third);
  port1.dispatchEvent(new Event("messageerror"));
  list(seen, ["third", "listener"]);
  port1.onmessageerror = null;
  port1.onmessageerror = tell("again");
  port1.dispatchEvent(new Event("messageerror"));
  list(seen.slice(2), ["listener", "again"]);
});

test("an exception of a listener is reported, and the others run", () => {
  const target = new EventTarget();
  let ran = false;
  const told = [];
  const onError = (event) => {
    event.preventDefault();
    told.push(event.error.message);
  };
  addEventListener("error", onError);
  target.addEventListener("x", () => {
    throw new Error("mine");
  });
  target.addEventListener("x", () => (ran = true));
  target.dispatchEvent(new Event("x"));
  removeEventListener("error", onError);
  check(ran);
  list(told, ["mine"]);
});

test("a rejection that nobody handles is an event", async () => {
  const rejected = new Promise((resolve) => {
    addEventListener(
      "unhandledrejection",
      (event) => {
        event.preventDefault();
        resolve(event.reason);
      },
      { once: true },
    );
  });
  Promise.reject("why");
  same(await rejected, "why");
});

test("aborting tells followers and removes listeners", () => {
  const controller = new AbortController();
  const target = new EventTarget();
  let count = 0;
  target.addEventListener("x", () => (count += 1), { signal: controller.signal });
  target.dispatchEvent(new Event("x"));
  const either = AbortSignal.any([controller.signal]);
  controller.abort();
  target.dispatchEvent(new Event("x"));
  same(count, 1);
  same(either.reason.name, "AbortError");
  throws("AbortError", () => either.throwIfAborted());
});

test("text goes to UTF-8 and back", () => {
  list(new TextEncoder().encode("aé€😀\ud800"), [97, 195, 169, 226, 130, 172, 240, 159, 152, 128, 239, 191, 189]);
  same(new TextDecoder().decode(new Uint8Array([0xf0, 0x9f, 0x98, 0x80, 0xff])), "😀\ufffd");
  const stream = new TextDecoder();
  same(stream.decode(new Uint8Array([0xe2, 0x82]), { stream: true }) + stream.decode(new Uint8Array([0xac])), "€");
  throws("TypeError", () => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff])));
  same(new TextDecoder("utf-16le").decode(new Uint8Array([0x61, 0, 0x3d, 0xd8])), "a\ufffd");
});

test("blobs are put together, cut and read", async () => {
  const blob = new Blob(["ab", new Uint8Array([99, 100]), new Blob(["e"])], { type: "Text/Plain" });
  same(blob.size, 5);
  same(blob.type, "text/plain");
  same(await blob.slice(1, -1).text(), "bcd");
  const file = new File([blob], "f.txt", { lastModified: 5 });
  same(file.name + file.lastModified + file.size, "f.txt55");
  const reader = new FileReader();
  const loaded = new Promise((resolve) => (reader.onload = resolve));
  reader.readAsDataURL(blob);
  await loaded;
  same(reader.result, "data:text/plain;base64,YWJjZGU=");
  const url = URL.createObjectURL(blob);
  same(await (await fetch(url)).text(), "abcde");
});

test("URLs are taken apart and resolved", () => {
  const url = new URL("../c?x=1&y=a+b#h", "HTTPS://User@Example.com:443/a/b/");
  same(url.href, "https://User@example.com/a/c?x=1&y=a+b#h");
  same(url.searchParams.get("y"), "a b");
  url.searchParams.set("x", "é");
  same(url.search, "?x=%C3%A9&y=a+b");
  throws("TypeError", () => new URL("no base"));
  same(new URL("blob:x").origin, "null");
});

test("messages are cloned and buffers transferred", async () => {
  const { port1, port2 } = new MessageChannel();
  const got = new Promise((resolve) => (port2.onmessage = resolve));
  const buffer = new ArrayBuffer(4);
  port1.postMessage({ buffer }, [buffer]);
  same(buffer.detached, true);
  same((await got).data.buffer.byteLength, 4);
});

test("randomness has the shapes it should have", () => {
  check(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()));
  check(crypto.getRandomValues(new Uint8Array(64)).some((byte) => byte !== 0));
  throws("TypeMismatchError", () => crypto.getRandomValues(new Float64Array(1)));
});
