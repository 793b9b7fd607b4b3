// What browsers make of arrays that are inside themselves: Chromium 156 gives each of the results here.
test("an array that is being joined is the empty string inside itself", () => {
  const array = ["a"];
  array.push(array, "b");
  same(array.join(), "a,,b");
  same(array.join("-"), "a--b");
  same(String(array), "a,,b");
  same(array.toLocaleString(), "a,,b");
  const outer = [[], 1];
  outer[0].push(outer, 2);
  same(`${outer}`, ",2,1");
  same(`${outer[0]}`, ",1,2");
  const alone = [];
  alone.push(alone);
  same(alone.toString(), "");
});

test("an array that is there twice is joined twice, and objects that are like arrays are joined", () => {
  const shared = [1, 2];
  same([shared, [shared]].join(";"), "1,2;1,2");
  const like = { length: 2, 0: "x", join: Array.prototype.join, toString: Array.prototype.toString };
  like[1] = like;
  same(`${like}`, "x,");
  same(Array.prototype.join.call("abc", "-"), "a-b-c");
  throws("TypeError", () => Array.prototype.join.call(null));
  throws("TypeError", () => Array.prototype.join.call(undefined));
});

test("what is thrown in the middle leaves nothing behind", () => {
  const array = [{ toString() { throw new RangeError("mine"); } }, 1];
  throws("RangeError", () => array.join());
  array[0] = "fine";
  same(array.join(), "fine,1");
  const cyclic = ["a"];
  cyclic.push({ toString: () => cyclic.join(Symbol()) });
  throws("TypeError", () => cyclic.join());
  cyclic[1] = 2;
  same(cyclic.join(), "a,2");
});

test("join is to script what it was: native, without a prototype, no constructor", () => {
  for (const [name, length] of [["join", 1], ["toLocaleString", 0]]) {
    const method = Array.prototype[name];
    same(method.name, name);
    same(method.length, length);
    same(Function.prototype.toString.call(method).replace(/\s+/g, " "), `function ${name}() { [native code] }`);
    list(Object.getOwnPropertyNames(method).sort(), ["length", "name"]);
    throws("TypeError", () => new method());
    const descriptor = Object.getOwnPropertyDescriptor(Array.prototype, name);
    check(descriptor.writable && !descriptor.enumerable && descriptor.configurable);
  }
});

test("what a script adds to Object.prototype and Array.prototype is not seen", () => {
  const seen = [];
  for (const name of ["apply", "get", "0"]) {
    Object.defineProperty(Object.prototype, name, { get: () => void seen.push(name), set: () => void seen.push(name), configurable: true });
  }
  const text = [1, [2]].join();
  for (const name of ["apply", "get", "0"]) delete Object.prototype[name];
  same(text, "1,2");
  list(seen, []);
});
