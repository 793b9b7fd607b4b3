// DOM, 2.7 and 2.8: many listeners, added, removed and called.
test("many listeners come and go in little time", () => {
  const target = new EventTarget();
  const count = 20_000;
  const listeners = Array.from({ length: count }, () => () => (calls += 1));
  let calls = 0;
  const before = performance.now();
  for (const listener of listeners) for (let i = 0; i < 2; i++) target.addEventListener("x", listener);
  target.dispatchEvent(new Event("x"));
  same(calls, count);
  for (const listener of listeners) target.removeEventListener("x", listener);
  const took = performance.now() - before;
  target.dispatchEvent(new Event("x"));
  same(calls, count);
  // Each compared with each takes minutes.
  check(took < 20_000, `it took ${took} ms`);
});

test("listeners of many kinds are called in their order, whatever happens meanwhile", () => {
  for (const more of [0, 30]) {
    const target = new EventTarget();
    const seen = [];
    for (let i = 0; i < more; i++) target.addEventListener("other", () => seen.push(`other ${i}`));
    const on = (name, run) => () => {
      seen.push(name);
      run?.();
    };
    const late = on("late");
    const third = on("third");
    const twice = on("twice");
    const second = on("second", () => {
      target.removeEventListener("x", second);
      target.removeEventListener("x", third);
      target.addEventListener("x", late);
      target.addEventListener("x", second);
    });
    target.addEventListener("x", on("once"), { once: true });
    target.addEventListener("x", second);
    target.addEventListener("x", third);
    target.addEventListener("x", twice);
    target.addEventListener("x", twice, true);
    target.addEventListener("x", twice, { capture: false, once: true });
    target.addEventListener("x", on("last"));
    target.dispatchEvent(new Event("x"));
    list(seen.splice(0), ["twice", "once", "second", "twice", "last"]);
    target.removeEventListener("x", twice);
    target.dispatchEvent(new Event("x"));
    list(seen.splice(0), ["twice", "last", "late", "second"]);
    if (more > 0) {
      target.dispatchEvent(new Event("other"));
      same(seen.length, more);
    }
  }
});

test("a handler keeps its place among many listeners", () => {
  const { port1, port2 } = new MessageChannel();
  const seen = [];
  for (let i = 0; i < 20; i++) port1.addEventListener("x", () => seen.push(i));
  port1.onmessage = () => seen.push("handler");
  port1.addEventListener("message", () => seen.push("listener"));
  port1.onmessage = () => seen.push("another");
  port1.dispatchEvent(new MessageEvent("message"));
  list(seen.splice(0), ["another", "listener"]);
  port1.onmessage = null;
  same(port1.onmessage, null);
  port1.onmessage = () => seen.push("again");
  port1.dispatchEvent(new MessageEvent("message"));
  list(seen.splice(0), ["listener", "again"]);
  port1.close();
  port2.close();
});

test("a signal takes its listener away", () => {
  const target = new EventTarget();
  const controller = new AbortController();
  let calls = 0;
  target.addEventListener("x", () => (calls += 1), { signal: controller.signal });
  target.dispatchEvent(new Event("x"));
  controller.abort();
  target.dispatchEvent(new Event("x"));
  target.addEventListener("x", () => (calls += 1), { signal: controller.signal });
  target.dispatchEvent(new Event("x"));
  same(calls, 1);
  for (const bad of [null, {}, new EventTarget()]) throws("TypeError", () => target.addEventListener("x", () => {}, { signal: bad }));
});
