// performance (High Resolution Time, 8; Performance Timeline, 4; User Timing, 3): the clock, marks and measures.
import { EventTarget, EventTargetState, exposeInterface, INTERNAL, requireArguments, stamp, stateOf, webidl } from "./binding.js";
import { native } from "./native.js";

const { toDictionary, toDOMString } = webidl;
const TIME_ORIGIN = Date.now() - native.now();

class EntryState {
  constructor(name, type, start, duration, detail) {
    Object.assign(this, { name, type, start, duration, detail });
  }
}

export class PerformanceEntry {
  constructor(token = undefined, state = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: PerformanceEntry");
    stamp(this, state);
  }
  get name() {
    return stateOf(this, EntryState).name;
  }
  get entryType() {
    return stateOf(this, EntryState).type;
  }
  get startTime() {
    return stateOf(this, EntryState).start;
  }
  get duration() {
    return stateOf(this, EntryState).duration;
  }
  toJSON() {
    const { name, type, start, duration } = stateOf(this, EntryState);
    return { name, entryType: type, startTime: start, duration };
  }
}
exposeInterface(PerformanceEntry, "PerformanceEntry");

const copyOf = (detail) => (detail === undefined || detail === null ? null : native.clone(detail));

// A double that is neither infinite nor no number.
function toTime(value) {
  const time = +value;
  if (!Number.isFinite(time)) throw new TypeError("a time is no finite number");
  return time;
}

export class PerformanceMark extends PerformanceEntry {
  constructor(name, options = undefined) {
    requireArguments(arguments.length, 1, "PerformanceMark");
    const text = toDOMString(name);
    const { detail, startTime } = toDictionary(options, "PerformanceMarkOptions");
    const start = startTime === undefined ? native.now() : toTime(startTime);
    if (start < 0) throw new TypeError(`The mark '${text}' has a negative start time.`);
    super(INTERNAL, new EntryState(text, "mark", start, 0, copyOf(detail)));
  }
  get detail() {
    return stateOf(this, EntryState).detail;
  }
}
exposeInterface(PerformanceMark, "PerformanceMark");

export class PerformanceMeasure extends PerformanceEntry {
  get detail() {
    return stateOf(this, EntryState).detail;
  }
}
exposeInterface(PerformanceMeasure, "PerformanceMeasure");

class PerformanceState extends EventTargetState {
  // In the order in which they were made.
  entries = [];

  // Those that are wanted, by their times.
  found(isWanted) {
    const found = this.entries.filter((entry) => isWanted(stateOf(entry, EntryState)));
    return found.sort((a, b) => stateOf(a, EntryState).start - stateOf(b, EntryState).start);
  }

  remove(type, name) {
    const goes = (entry) => entry.type === type && (name === undefined || entry.name === name);
    this.entries = this.entries.filter((entry) => !goes(stateOf(entry, EntryState)));
  }

  // The time of a mark's name, the last of that name, or a time.
  timeOf(mark) {
    if (typeof mark === "number") {
      if (toTime(mark) < 0) throw new TypeError("a time is negative");
      return mark;
    }
    const name = toDOMString(mark);
    const found = this.entries.findLast((entry) => {
      const state = stateOf(entry, EntryState);
      return state.type === "mark" && state.name === name;
    });
    if (found === undefined) throw new DOMException(`The mark '${name}' does not exist.`, "SyntaxError");
    return stateOf(found, EntryState).start;
  }
}

// What `measure` gets in its second place: a mark, or what is measured.
function toMeasured(value, end) {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" && typeof value !== "function") return { start: toDOMString(value) };
  const { detail, duration, end: until, start } = value;
  const given = { detail, duration, end: until, start };
  if (Object.values(given).every((part) => part === undefined)) return {};
  if (end !== undefined) throw new TypeError("If an object is given, no end mark is.");
  if (start === undefined && until === undefined) throw new TypeError("Of start and end one is needed.");
  if (start !== undefined && until !== undefined && duration !== undefined) {
    throw new TypeError("Of start, end and duration one is too many.");
  }
  return given;
}

export class Performance extends EventTarget {
  constructor(token = undefined, state = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: Performance");
    super(token, state);
  }
  get timeOrigin() {
    stateOf(this, PerformanceState);
    return TIME_ORIGIN;
  }
  now() {
    stateOf(this, PerformanceState);
    return native.now();
  }
  toJSON() {
    stateOf(this, PerformanceState);
    return { timeOrigin: TIME_ORIGIN };
  }
  mark(name, options = undefined) {
    const state = stateOf(this, PerformanceState);
    requireArguments(arguments.length, 1, "mark");
    const mark = new PerformanceMark(name, options);
    state.entries.push(mark);
    return mark;
  }
  measure(name, startOrOptions = undefined, endMark = undefined) {
    const state = stateOf(this, PerformanceState);
    requireArguments(arguments.length, 1, "measure");
    const text = toDOMString(name);
    const { detail, duration, end, start } = toMeasured(startOrOptions, endMark);
    const length = duration === undefined ? undefined : toTime(duration);
    let until;
    if (endMark !== undefined) until = state.timeOf(endMark);
    else if (end !== undefined) until = state.timeOf(end);
    else if (start !== undefined && length !== undefined) until = state.timeOf(start) + length;
    else until = native.now();
    let from = 0;
    if (start !== undefined) from = state.timeOf(start);
    else if (length !== undefined) from = until - length;
    const measure = new PerformanceMeasure(INTERNAL, new EntryState(text, "measure", from, until - from, copyOf(detail)));
    state.entries.push(measure);
    return measure;
  }
  clearMarks(name = undefined) {
    stateOf(this, PerformanceState).remove("mark", name === undefined ? undefined : toDOMString(name));
  }
  clearMeasures(name = undefined) {
    stateOf(this, PerformanceState).remove("measure", name === undefined ? undefined : toDOMString(name));
  }
  getEntries() {
    return stateOf(this, PerformanceState).found(() => true);
  }
  getEntriesByType(type) {
    const state = stateOf(this, PerformanceState);
    requireArguments(arguments.length, 1, "getEntriesByType");
    const wanted = toDOMString(type);
    return state.found((entry) => entry.type === wanted);
  }
  getEntriesByName(name, type = undefined) {
    const state = stateOf(this, PerformanceState);
    requireArguments(arguments.length, 1, "getEntriesByName");
    const [text, kind] = [toDOMString(name), type === undefined ? undefined : toDOMString(type)];
    return state.found((entry) => entry.name === text && (kind === undefined || entry.type === kind));
  }
}
exposeInterface(Performance, "Performance");

export const performance = new Performance(INTERNAL, new PerformanceState());
