// Tasks, timers and microtasks (HTML, 8.1.7, 8.6, 8.7). The host calls `turn` again and again.
import { native } from "./native.js";
import { reportError } from "./report_error.js";

const tasks = [];
let head = 0;

export function queueTask(run) {
  tasks[tasks.length] = run;
}

// Runs the oldest task; whether there was one.
function runTask() {
  if (head === tasks.length) return false;
  const run = tasks[head];
  tasks[head] = undefined;
  head += 1;
  if (head === tasks.length || head > 1024) {
    tasks.splice(0, head);
    head = 0;
  }
  guarded(run);
  return true;
}

function guarded(run) {
  try {
    run();
  } catch (error) {
    reportError(error);
  }
}

// Timers in the order in which they are due, in a binary heap; `live` has those not cleared.
const heap = [];
const live = new Map();
let lastId = 0;
let order = 0;

const before = (a, b) => (a.due === b.due ? a.order < b.order : a.due < b.due);

function pushTimer(timer) {
  let at = heap.length;
  heap[at] = timer;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(heap[at], heap[parent])) break;
    [heap[at], heap[parent]] = [heap[parent], heap[at]];
    at = parent;
  }
}

function popTimer() {
  const first = heap[0];
  const last = heap.pop();
  if (heap.length > 0) {
    heap[0] = last;
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && before(heap[child], heap[least])) least = child;
      }
      if (least === at) break;
      [heap[at], heap[least]] = [heap[least], heap[at]];
      at = least;
    }
  }
  return first;
}

const DELAY_MAX = 0x7fffffff;
// HTML lets a host wait longer: what another thread has just been asked for may come before.
const DELAY_MIN = 1;

function start(handler, delay, args, repeats, id) {
  let ms = Math.trunc(+delay);
  if (!(ms >= 0 && ms <= DELAY_MAX)) ms = 0;
  order += 1;
  const timer = { id, handler, args, ms, repeats, due: native.now() + Math.max(ms, DELAY_MIN), order };
  live.set(id, timer);
  pushTimer(timer);
  return id;
}

function runTimer(timer) {
  if (timer.repeats) start(timer.handler, timer.ms, timer.args, true, timer.id);
  else live.delete(timer.id);
  guarded(() => {
    if (typeof timer.handler === "function") Reflect.apply(timer.handler, globalThis, timer.args);
    else (0, eval)(String(timer.handler));
  });
}

// One task, or one timer that is due. -1 if there was one, else milliseconds to the next timer.
export function turn() {
  if (runTask()) return -1;
  while (heap.length > 0) {
    const first = heap[0];
    if (live.get(first.id) !== first) {
      popTimer();
      continue;
    }
    const wait = first.due - native.now();
    if (wait > 0) return wait;
    runTimer(popTimer());
    return -1;
  }
  return Infinity;
}

const then = Promise.prototype.then;
const resolved = Promise.resolve();

export const functions = {
  setTimeout: (handler, delay = 0, ...args) => start(handler, delay, args, false, (lastId += 1)),
  setInterval: (handler, delay = 0, ...args) => start(handler, delay, args, true, (lastId += 1)),
  clearTimeout: (id = 0) => void live.delete(id),
  clearInterval: (id = 0) => void live.delete(id),
  queueMicrotask(callback) {
    if (typeof callback !== "function") throw new TypeError("queueMicrotask: the callback is not a function");
    Reflect.apply(then, resolved, [() => guarded(callback)]);
  },
};
