// HTML, 12.2: localStorage and sessionStorage. Holds in a page, too; a worker has none.
const storages = typeof localStorage === "undefined" ? [] : [localStorage, sessionStorage];

test("they are a window's", () => same(storages.length, typeof Window === "undefined" ? 0 : 2));

test("items are texts, by name and as properties", () => {
  for (const storage of storages) {
    storage.clear();
    storage.setItem("b", 1);
    storage.a = { toString: () => "own" };
    storage["\ud800"] = null;
    same(storage.getItem("b"), "1");
    same(storage.b, "1");
    same(storage.getItem("a"), "own");
    same(storage["\ud800"], "null");
    same(storage.getItem("c"), null);
    same(storage.c, undefined);
    same(storage.length, 3);
    list(Object.keys(storage).sort(), ["a", "b", "\ud800"]);
    list([0, 1, 2].map((i) => storage.key(i)).sort(), ["a", "b", "\ud800"]);
    same(storage.key(3), null);
    check("a" in storage && !("c" in storage) && Object.hasOwn(storage, "a"), "in");
    same(JSON.stringify(Object.getOwnPropertyDescriptor(storage, "a")), '{"value":"own","writable":true,"enumerable":true,"configurable":true}');
    same(delete storage.a, true);
    same(delete storage.c, true);
    same(storage.getItem("a"), null);
    storage.removeItem("b");
    storage.removeItem("b");
    same(storage.length, 1);
    storage.clear();
    same(storage.length, 0);
    list(Object.keys(storage), []);
  }
});

test("names of the interface are items, but no properties", () => {
  for (const storage of storages) {
    storage.clear();
    storage.setItem("getItem", "x");
    storage.setItem("length", "y");
    same(typeof storage.getItem, "function");
    same(storage.getItem("getItem"), "x");
    same(storage.length, 2);
    storage.key = "z";
    same(storage.getItem("key"), null);
    same(storage.key, "z");
    same(delete storage.key, true);
    same(typeof storage.key, "function");
    same(storage.getItem("toString"), null);
    storage.clear();
  }
});

test("each has its own, and is what it says", () => {
  if (storages.length === 0) return;
  const [local, session] = storages;
  local.setItem("k", "local");
  same(session.getItem("k"), null);
  same(local, localStorage);
  check(local instanceof Storage, "no Storage");
  same(Object.prototype.toString.call(local), "[object Storage]");
  throws("TypeError", () => new Storage());
  throws("TypeError", () => Storage.prototype.getItem.call({}, "k"));
  throws("TypeError", () => local.setItem("k"));
  throws("TypeError", () => local.getItem());
  throws("TypeError", () => local.setItem(Symbol("s"), 1));
  local.clear();
});

test("five mebi code units are the most", () => {
  for (const storage of storages) {
    storage.clear();
    const most = "x".repeat(5 * 1024 * 1024 - 1);
    storage.setItem("k", most);
    throws("QuotaExceededError", () => storage.setItem("k", `${most}x`));
    throws("QuotaExceededError", () => storage.setItem("l", ""));
    throws("QuotaExceededError", () => (storage.l = ""));
    same(storage.getItem("k").length, most.length);
    storage.setItem("k", "");
    storage.setItem("l", "y");
    same(storage.length, 2);
    storage.clear();
  }
});
