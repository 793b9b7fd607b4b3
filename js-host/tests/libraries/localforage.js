// After dist/localforage.js, a classic script.
const equal = (actual, expected) => {
  if (String(actual) !== expected) throw new Error(`${actual} is not ${expected}`);
};
(async () => {
  localforage.config({ name: "forage", driver: localforage.INDEXEDDB });
  await localforage.setItem("k", [1, "two", new Blob(["three"])]);
  const value = await localforage.getItem("k");
  equal([value[1], await value[2].text(), await localforage.length()], "two,three,1");
  equal(localforage.driver(), localforage.INDEXEDDB);
  await localforage.removeItem("k");
  equal((await localforage.keys()).length, "0");
  console.log("came to its end");
})();
