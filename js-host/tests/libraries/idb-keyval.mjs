import { clear, del, entries, get, set, setMany, update } from "idb-keyval";

const equal = (actual, expected) => {
  if (String(actual) !== expected) throw new Error(`${actual} is not ${expected}`);
};
await set("a", { x: 1 });
await setMany([
  ["b", 2],
  ["c", new Map([[1, 2]])],
]);
await update("b", (value) => (value ?? 0) + 1);
equal([(await get("a")).x, await get("b"), (await get("c")).get(1)], "1,3,2");
await del("a");
equal((await entries()).map(([key]) => key), "b,c");
await clear();
equal((await entries()).length, "0");
console.log("came to its end");
