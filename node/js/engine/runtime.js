// What differs between Node, Bun and Deno, taken before a script can replace it (fake timers do).
import { createRequire } from "node:module";
import process from "node:process";
import timers from "node:timers";
import { MessageChannel } from "node:worker_threads";

// As they are now: what fake timers put on these modules later is not called.
const { nextTick } = process;
const { queueMicrotask } = globalThis;
// Fake timers that are there already (jest can have them from the start) stand still.
const areFake = [timers.setImmediate, nextTick, queueMicrotask].some((found) => "clock" in found || found._isMockFunction === true);

// Calls back in a task of its own.
export const setImmediate = areFake ? tasksOfAChannel() : timers.setImmediate;

// Tasks that no fake timer has a hand in. They cost more.
function tasksOfAChannel() {
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.on("message", () => {
    const callback = waiting.shift();
    if (waiting.length === 0) port1.unref();
    callback();
  });
  port1.unref();
  return (callback) => {
    waiting.push(callback);
    port1.ref();
    port2.postMessage(undefined);
  };
}

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
  if (areFake) {
    setImmediate(callback);
    return;
  }
  // A task's ticks come before its microtasks, but a tick that a microtask asks for comes behind all of them.
  nextTick(() => queueMicrotask(() => nextTick(callback)));
}
