// HTML, 9.6: channels of one name hear each other, and not themselves. Holds in a page, too.
const next = (target, type = "message") => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));

test("a message comes to all others of the name, each with a copy", async () => {
  const [a, b, c, other] = ["one", "one", "one", "two"].map((name) => new BroadcastChannel(name));
  const seen = [];
  for (const [name, channel] of Object.entries({ a, b, c, other })) channel.onmessage = () => seen.push(name);
  const data = { list: [1], map: new Map([[1, 2]]) };
  const both = Promise.all([next(b), next(c)]);
  a.postMessage(data);
  data.list.push(2);
  list(seen, []);
  const [first, second] = await both;
  list(seen, ["b", "c"]);
  list(first.data.list, [1]);
  same(first.data.map.get(1), 2);
  check(first.data !== second.data, "one copy");
  check(first instanceof MessageEvent && first.isTrusted && first.target === b, "no message event");
  same(first.origin, location.origin);
  same(first.ports.length, 0);
  same(a.name, "one");
  for (const channel of [a, b, c, other]) channel.close();
});

test("messages come in their order, and none after closing", async () => {
  const [a, b, c] = [0, 1, 2].map(() => new BroadcastChannel("order"));
  const seen = [];
  b.onmessage = ({ data }) => {
    seen.push(`b${data}`);
    if (data === 1) c.close();
  };
  c.onmessage = ({ data }) => seen.push(`c${data}`);
  for (const n of [1, 2]) a.postMessage(n);
  a.close();
  throws("InvalidStateError", () => a.postMessage(3));
  await new Promise((resolve) => setTimeout(resolve, 50));
  list(seen, ["b1", "b2"]);
  b.close();
  b.close();
});

test("what cannot be cloned is told to the sender", () => {
  const [a, b] = [new BroadcastChannel("clone"), new BroadcastChannel("clone")];
  throws("DataCloneError", () => a.postMessage(() => {}));
  throws("TypeError", () => a.postMessage());
  throws("TypeError", () => new BroadcastChannel());
  throws("TypeError", () => BroadcastChannel("x"));
  same(new BroadcastChannel(undefined).name, "undefined");
  check(a instanceof EventTarget, "no event target");
  a.close();
  b.close();
});
