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

test("a timer that was cleared keeps nothing, and the others come in their order", async () => {
  const seen = [];
  // Some other order than that in which they are due.
  const delays = Array.from({ length: 12 }, (_, i) => ((i * 5) % 12) * 8);
  let ids = [];
  let begin;
  do {
    // Set so fast that none is due before one with a shorter delay.
    ids.forEach(clearTimeout);
    begin = performance.now();
    ids = delays.map((delay) => setTimeout(() => seen.push(delay), delay));
  } while (performance.now() - begin > 4);
  delays.forEach((delay, i) => delay % 3 === 0 && clearTimeout(i % 2 ? ids[i] : String(ids[i])));
  let handler = () => {};
  const held = new WeakRef(handler);
  clearTimeout(setTimeout(handler, 1e9));
  handler = null;
  await new Promise((resolve) => setTimeout(resolve, 100));
  list(seen, Array.from({ length: 12 }, (_, i) => i * 8).filter((delay) => delay % 3 !== 0));
  same(held.deref(), undefined, "held");
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

test("a dispatch calls the listeners that were there when it came to the target and are still there", () => {
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
  const note = (what) => () => void seen.push(what);
  port1.onmessageerror = note("handler");
  port1.addEventListener("messageerror", note("listener"));
  const third = note("third");
  port1.onmessageerror = third;
  same(port1.onmessageerror, third);
  port1.dispatchEvent(new Event("messageerror"));
  list(seen, ["third", "listener"]);
  port1.onmessageerror = null;
  port1.onmessageerror = note("again");
  port1.dispatchEvent(new Event("messageerror"));
  list(seen.slice(2), ["listener", "again"]);
});

test("an exception of a listener is reported, and the others run", () => {
  const target = new EventTarget();
  let ran = false;
  const reported = [];
  const onError = (event) => {
    event.preventDefault();
    reported.push(event.error.message);
  };
  addEventListener("error", onError);
  target.addEventListener("x", () => {
    throw new Error("mine");
  });
  target.addEventListener("x", () => (ran = true));
  target.dispatchEvent(new Event("x"));
  removeEventListener("error", onError);
  check(ran);
  list(reported, ["mine"]);
});

test("a global's onerror is given the error in pieces, and true prevents what else would come", () => {
  const reported = [];
  const mine = new Error("mine");
  self.onerror = (message, file, line, column, error) => {
    reported.push(typeof message, error === mine);
    return true;
  };
  let prevented;
  const look = (event) => (prevented = event.defaultPrevented);
  addEventListener("error", look);
  reportError(mine);
  removeEventListener("error", look);
  list([...reported, prevented], ["string", true, true]);
  const seen = [];
  self.onerror = (event) => void seen.push(event.type);
  dispatchEvent(new Event("error"));
  self.onerror = null;
  list(seen, ["error"]);
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

test("aborting notifies followers and removes listeners", () => {
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

test("all that follow a signal are aborted before the first event", () => {
  const controller = new AbortController();
  const either = AbortSignal.any([controller.signal, new AbortController().signal]);
  const further = AbortSignal.any([either]);
  const seen = [];
  controller.signal.onabort = () => seen.push("first", either.aborted, further.aborted);
  either.onabort = () => seen.push("second");
  further.onabort = () => seen.push("third");
  controller.abort("why");
  controller.abort("again");
  list(seen, ["first", true, true, "second", "third"]);
  same(further.reason, "why");
});

test("text goes to UTF-8 and back", () => {
  list(new TextEncoder().encode("aé€😀\ud800"), [97, 195, 169, 226, 130, 172, 240, 159, 152, 128, 239, 191, 189]);
  same(new TextDecoder().decode(new Uint8Array([0xf0, 0x9f, 0x98, 0x80, 0xff])), "😀\ufffd");
  const stream = new TextDecoder();
  same(stream.decode(new Uint8Array([0xe2, 0x82]), { stream: true }) + stream.decode(new Uint8Array([0xac])), "€");
  throws("TypeError", () => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff])));
  same(new TextDecoder("utf-16le").decode(new Uint8Array([0x61, 0, 0x3d, 0xd8])), "a\ufffd");
});

test("a decoder goes on where a stream stopped, and begins anew when it has ended", () => {
  const bytes = (...all) => new Uint8Array(all);
  const fatal = new TextDecoder("utf-8", { fatal: true });
  same(fatal.decode(bytes(0xe2), { stream: true }), "");
  throws("TypeError", () => fatal.decode(bytes(0x41)));
  same(fatal.decode(bytes(0x41)), "A", "after an error");
  const marked = new TextDecoder();
  same(marked.decode(bytes(0xef, 0xbb, 0xbf), { stream: true }), "");
  same(marked.decode(bytes(0xef, 0xbb, 0xbf, 0x41)), "\ufeffA");
  same(marked.decode(bytes(0xef, 0xbb, 0xbf, 0x42), { stream: true }) + marked.decode(bytes(0xef, 0xbb, 0xbf, 0x43)), "B\ufeffC");
});

test("UTF-16 is decoded across chunks, and what is no pair is an error", () => {
  const bytes = (...all) => new Uint8Array(all);
  const wide = new TextDecoder("utf-16le");
  same(wide.decode(bytes(0x3d, 0xd8), { stream: true }) + wide.decode(bytes(0x00, 0xde)), "\ud83d\ude00");
  same(wide.decode(bytes(0x3d, 0xd8, 0x00), { stream: true }) + wide.decode(bytes(0xde, 0x61)), "\ud83d\ude00\ufffd");
  same(wide.decode(bytes(0x3d, 0xd8, 0x61, 0x00, 0x00, 0xde)), "\ufffda\ufffd");
  same(wide.decode(bytes(0x3d, 0xd8, 0x61)), "\ufffd");
  throws("TypeError", () => new TextDecoder("utf-16be", { fatal: true }).decode(bytes(0xd8, 0x3d)));
});

test("bytes of one-byte encodings are decoded, however many they are", async () => {
  same(new TextDecoder("latin1").decode(new Uint8Array([0x80, 0x81, 0x9f, 0xa0, 0xe9])), "\u20ac\x81\u0178\xa0\xe9");
  const many = new Uint8Array(300_000).map((_, i) => i);
  same(new TextDecoder("windows-1252").decode(many).length, many.length);
  const reader = new FileReader();
  const loaded = new Promise((resolve) => (reader.onload = reader.onerror = resolve));
  reader.readAsBinaryString(new Blob([many]));
  same((await loaded).type, "load");
  check([...reader.result].every((c, i) => c.charCodeAt(0) === i % 256), "bytes as they are");
});

test("only bytes are decoded, and a reader takes a label that nobody knows for UTF-8", async () => {
  for (const wrong of ["text", 3, null, {}]) throws("TypeError", () => new TextDecoder().decode(wrong));
  const reader = new FileReader();
  const loaded = new Promise((resolve) => (reader.onload = reader.onerror = resolve));
  reader.readAsText(new Blob(["\u00e9"]), "nobody knows");
  same((await loaded).type, "load");
  same(reader.result, "\u00e9");
});

test("blobs are put together, cut and read", async () => {
  const blob = new Blob(["ab", new Uint8Array([99, 100]), new Blob(["e"])], { type: "Text/Plain" });
  same(blob.size, 5);
  same(blob.type, "text/plain");
  same(await blob.slice(1, -1).text(), "bcd");
  same(await blob.slice(0.5, 2.5).text(), "ab");
  same(await blob.slice(-1.6, 1e300).text(), "de");
  same(await blob.slice(-Infinity, NaN).text(), "");
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

test("each part of a URL is escaped as it needs", () => {
  const odd = " \"#<>?^`{}|\\'\u00e9";
  const part = (text) => text.replaceAll("#", "").replaceAll("?", "");
  same(new URL(`https://a/${part(odd).replace("|\\", "")}`).pathname, "/%20%22%3C%3E%5E%60%7B%7D'%C3%A9");
  same(new URL(`https://a/?${part(odd)}`).search, "?%20%22%3C%3E^`{}|\\%27%C3%A9");
  same(new URL(`other://a/?${part(odd)}`).search, "?%20%22%3C%3E^`{}|\\'%C3%A9");
  same(new URL(`https://a/#${odd}`).hash, "#%20%22#%3C%3E?^%60{}|\\'%C3%A9");
  same(new URL("data:text/html,<b>{}^`").href, "data:text/html,<b>{}^`");
  const url = new URL("https://a");
  url.search = "a='{}";
  same(url.href, "https://a/?a=%27{}");
});

test("parameters of a URL are taken apart whatever is in them", () => {
  const params = new URLSearchParams("a%41%=%E9&b=%zz+1&b=2&%F0%9F%98%80=%EF%BB%BF");
  list(params, [["aA%", "\ufffd"], ["b", "%zz 1"], ["b", "2"], ["\ud83d\ude00", "\ufeff"]]);
  list([params.has("b", "2"), params.has("b", "3"), params.has("b")], [true, false, true]);
  params.delete("b", "2");
  list(params.getAll("b"), ["%zz 1"]);
});

test("messages are cloned and buffers transferred", async () => {
  const { port1, port2 } = new MessageChannel();
  const got = new Promise((resolve) => (port2.onmessage = resolve));
  const buffer = new ArrayBuffer(4);
  port1.postMessage({ buffer }, [buffer]);
  same(buffer.detached, true);
  same((await got).data.buffer.byteLength, 4);
});

test("a window's messages to itself come from it", async () => {
  if (self.window === undefined) return;
  const arrived = new Promise((resolve) => addEventListener("message", resolve, { once: true }));
  const buffer = new ArrayBuffer(4);
  postMessage({ buffer }, "*", [buffer]);
  const event = await arrived;
  list([buffer.byteLength, event.data.buffer.byteLength], [0, 4]);
  same(event.source, self);
  same(event.origin, location.origin);
});

test("a port that was closed sends nothing", async () => {
  const { port1, port2 } = new MessageChannel();
  const seen = [];
  port2.onmessage = ({ data }) => seen.push(data);
  port1.postMessage(1);
  await new Promise((resolve) => setTimeout(resolve, 10));
  port1.close();
  port1.postMessage(2);
  await new Promise((resolve) => setTimeout(resolve, 10));
  list(seen, [1]);
});

test("randomness has the shapes it should have", () => {
  check(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()));
  check(crypto.getRandomValues(new Uint8Array(64)).some((byte) => byte !== 0));
  throws("TypeMismatchError", () => crypto.getRandomValues(new Float64Array(1)));
});
