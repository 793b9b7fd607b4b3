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
  // Not more often than so many are left: each is moved a few times at most.
  if (head === tasks.length || head > Math.max(1024, tasks.length / 2)) {
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

// Timers in the order in which they are due, in a binary heap. Each knows its place: one that is cleared goes at once.
const heap = [];
// Those that are to run, by id.
const live = new Map();
let lastId = 0;
let order = 0;

const before = (a, b) => (a.due === b.due ? a.order < b.order : a.due < b.due);

function place(timer, at) {
  heap[at] = timer;
  timer.at = at;
}

// Puts a timer in from `at` on upwards.
function placeUp(timer, at) {
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(timer, heap[parent])) break;
    place(heap[parent], at);
    at = parent;
  }
  place(timer, at);
}

function placeDown(timer, at) {
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child += 1;
    if (!before(heap[child], timer)) break;
    place(heap[child], at);
    at = child;
  }
  place(timer, at);
}

function removeTimer(timer) {
  const last = heap.pop();
  if (last === timer) return;
  if (before(last, timer)) placeUp(last, timer.at);
  else placeDown(last, timer.at);
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
  placeUp(timer, heap.length);
  return id;
}

function clear(id) {
  const number = id | 0;
  const timer = live.get(number);
  if (timer === undefined) return;
  live.delete(number);
  removeTimer(timer);
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
  if (heap.length === 0) return Infinity;
  const first = heap[0];
  const wait = first.due - native.now();
  if (wait > 0) return wait;
  removeTimer(first);
  runTimer(first);
  return -1;
}

const then = Promise.prototype.then;
const resolved = Promise.resolve();

export const functions = {
  setTimeout: (handler, delay = 0, ...args) => start(handler, delay, args, false, (lastId += 1)),
  setInterval: (handler, delay = 0, ...args) => start(handler, delay, args, true, (lastId += 1)),
  clearTimeout: (id = 0) => clear(id),
  clearInterval: (id = 0) => clear(id),
  queueMicrotask(callback) {
    if (typeof callback !== "function") throw new TypeError("queueMicrotask: the callback is not a function");
    Reflect.apply(then, resolved, [() => guarded(callback)]);
  },
};
