// What differs between Node, Bun and Deno, taken before a script can replace it (fake timers do).
import { createRequire } from "node:module";
import process from "node:process";
import timers from "node:timers";

// As they are now: what fake timers put on these modules is not called.
const { nextTick } = process;
const { queueMicrotask } = globalThis;
export const { setImmediate } = timers;

const runMicrotasks = microtasks();

// Runs all microtasks, and what stands with them in Node's own queue. No runtime has a public function for it. Within a microtask it does nothing.
function microtasks() {
  const { Bun, Deno } = globalThis;
  if (Bun !== undefined) {
    const { drainMicrotasks } = createRequire(import.meta.url)("bun:jsc");
    return drainMicrotasks;
  }
  if (Deno !== undefined) {
    const { core } = Deno[Deno.internal];
    return () => core.runMicrotasks();
  }
  return () => process._tickCallback();
}

export { runMicrotasks };

// An exception that is nothing to do with what runs now: to the runtime it is an uncaught one.
export function report(error) {
  setImmediate(() => {
    throw error;
  });
}

// Calls back when the microtasks that there are now, and those that they lead to, have run.
export function afterMicrotasks(callback) {
  // A task's ticks come before its microtasks, but a tick that a microtask asks for comes behind all of them.
  nextTick(() => queueMicrotask(() => nextTick(callback)));
}
