// How long plain values take, beside V8's own serialiser: `node js/codec/bench.js`. Least CPU time of 25 rounds of 10,000 values.
import process from "node:process";
import v8 from "node:v8";

import { Codec } from "./index.js";

const COUNT = 10_000;
const ROUNDS = 25;
const VALUES = {
  "5 properties": (i) => ({ id: i, name: `name ${i}`, email: `user${i}@example.org`, active: i % 2 === 0, score: i / 3 }),
  "nested, 11 properties": (i) => ({ id: i, name: `name ${i}`, tags: ["a", "b", "c"], address: { street: `Main ${i}`, city: "Town", zip: 12345 }, active: true }),
  "of a class": (i) => new Point(i, i / 2),
  "8 integers": (i) => [i, 2, 3, 4, 5, 6, 7, 8],
  "a number": (i) => i * 1.5,
  "a string": (i) => `some text of a record ${i}`,
};

class Point {
  constructor(x, y) {
    Object.assign(this, { x, y, z: 0 });
  }
}

function microseconds(run, list) {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    for (const item of list) run(item);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / COUNT);
  }
  return least.toFixed(3);
}

const codec = new Codec();
console.log(`${process.release?.name ?? "?"} ${process.version}: microseconds per value`);
console.log("| value | encode | encode, copied | v8.serialize | decode | v8.deserialize |\n|---|---|---|---|---|---|");
for (const name in VALUES) {
  const values = Array.from({ length: COUNT }, (_, i) => VALUES[name](i));
  const [ours, theirs] = [values.map((value) => codec.encode(value).bytes), values.map((value) => v8.serialize(value))];
  const columns = [
    microseconds((value) => codec.reuse(codec.encoded(value)), values),
    microseconds((value) => codec.encode(value), values),
    microseconds((value) => v8.serialize(value), values),
    microseconds((bytes) => codec.decode(bytes), ours),
    microseconds((bytes) => v8.deserialize(bytes), theirs),
  ];
  console.log(`| ${name} | ${columns.join(" | ")} |`);
}
