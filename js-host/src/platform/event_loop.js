// Tasks and timers (HTML, 8.1.7, 8.7). The host calls `turn` again and again.
import { list } from "./binding.js";
import { native } from "./native.js";
import { reportError } from "./report_error.js";

// What can run, in the order in which it could: tasks, timers that are due, and answers of the engine's. Whatever their sources, each has
// its turn, as in browsers' queues of one priority.
const ready = list();
let head = 0;

// Stands for the oldest answer of the engine's, which the host has.
const ANSWER = Symbol("answer");

function append(entry) {
  ready[ready.length] = entry;
}

export function queueTask(run) {
  append(run);
}

// The oldest; undefined if there is none.
function next() {
  if (head === ready.length) return undefined;
  const entry = ready[head];
  ready[head] = undefined;
  head += 1;
  // Not more often than so many are left: each is moved a few times at most.
  if (head === ready.length || (head > 1024 && head > ready.length / 2)) {
    const left = ready.length - head;
    for (let i = 0; i < left; i++) ready[i] = ready[head + i];
    ready.length = left;
    head = 0;
  }
  return entry;
}

function guarded(run) {
  try {
    run();
  } catch (error) {
    reportError(error);
  }
}

// Timers that are not due, in the order in which they will be, in a binary heap. Each has its place in `at`, so that one that is
// cleared goes at once.
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
// Timers that are started by timers, and so on: above this level they wait at least so long (HTML, 8.7).
const LEVEL_MAX = 5;
const NESTED_DELAY_MIN = 4;
// The level of the timer that is running.
let level = 0;

function start(handler, delay, args, repeats, id) {
  let ms = Math.trunc(+delay);
  if (!(ms >= 0 && ms <= DELAY_MAX)) ms = 0;
  if (level > LEVEL_MAX) ms = Math.max(ms, NESTED_DELAY_MIN);
  const timer = { id, handler, args, ms, repeats, level: level + 1, due: 0, order: 0, at: -1 };
  live.set(id, timer);
  if (ms === 0) {
    append(timer);
  } else {
    order += 1;
    timer.order = order;
    timer.due = native.now() + ms;
    placeUp(timer, heap.length);
  }
  return id;
}

function clear(id) {
  const number = id | 0;
  const timer = live.get(number);
  if (timer === undefined) return;
  live.delete(number);
  if (timer.at >= 0) removeTimer(timer);
}

function runTimer(timer) {
  // It may have been cleared when it was due.
  if (live.get(timer.id) !== timer) return;
  level = timer.level;
  if (!timer.repeats) live.delete(timer.id);
  guarded(() => {
    if (typeof timer.handler === "function") Reflect.apply(timer.handler, globalThis, timer.args);
    else (0, eval)(String(timer.handler));
  });
  if (timer.repeats && live.get(timer.id) === timer) start(timer.handler, timer.ms, timer.args, true, timer.id);
}

// Those that are due can run. Milliseconds until another is.
function makeReady() {
  if (heap.length === 0) return Infinity;
  const now = native.now();
  while (heap.length > 0 && heap[0].due <= now) {
    const timer = heap[0];
    removeTimer(timer);
    timer.at = -1;
    append(timer);
  }
  return heap.length === 0 ? Infinity : heap[0].due - now;
}

const RAN = -1;
const DELIVER = -2;

// Runs what is first. So many answers have come since the last turn. RAN if there was something; DELIVER if an answer is first, which the
// host is to hand over; else milliseconds until there may be something.
export function turn(arrived) {
  level = 0;
  const wait = makeReady();
  for (let i = 0; i < arrived; i++) append(ANSWER);
  const entry = next();
  if (entry === undefined) return wait;
  if (entry === ANSWER) return DELIVER;
  if (typeof entry === "function") guarded(entry);
  else runTimer(entry);
  return RAN;
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
