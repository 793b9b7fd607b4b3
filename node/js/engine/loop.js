// `Loop`: the way between the native half and the event loop of one thread.
//
// What was asked for is executed here when the task that asked is over, and each answer is a task of its own: after each of its listeners the microtasks run.
// Several answers come in one turn of the runtime's loop, but no turn takes longer than TURN_MS.
import { performance } from "node:perf_hooks";

import { ANSWER } from "./calls.js";
import { deliver } from "./deliver.js";
import { afterMicrotasks, report, runMicrotasks, setImmediate } from "./runtime.js";
import { Wire } from "./wire.js";

const TURN_MS = 4;
// The clock is looked at after so many answers. A test's clock may stand still: so many are enough.
const ANSWERS_BETWEEN = 16;
const ANSWERS_MAX = 1 << 14;

const now = performance.now.bind(performance);

export class Loop {
  // Requests that are not answered yet: as long as there are any, the event loop stays alive. So does one that is blocked: another thread's connection may
  // be closed at any time.
  #left = 0;
  #isHeld = false;
  #isScheduled = false;
  #isRunning = false;
  #cleanups = [];
  #areCleanupsDue = false;
  #hasThrown = false;
  #thrown = undefined;

  constructor(start) {
    // Of engines, by number of the native half's.
    this.seats = [];
    // In a task of the runtime's own: what is thrown in a callback of Node-API's is lost.
    this.wire = new Wire(start, () => this.#schedule());
    this.pump = () => {
      this.#isScheduled = false;
      this.#run();
    };
    // What a binding asks of its host.
    this.host = {
      __proto__: null,
      reportError: report,
      microtaskCheckpoint: () => this.#checkpoint(),
      now,
    };
  }

  // A request has been made.
  asked() {
    this.#left += 1;
    if (!this.#isRunning) this.#schedule();
  }

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.pump);
  }

  answered() {
    this.#left -= 1;
  }

  // The checkpoint that ends the current task, or is the next within it, ends with this.
  wantCleanup(cleanup) {
    if (!this.#cleanups.includes(cleanup)) this.#cleanups.push(cleanup);
    if (this.#isRunning || this.#areCleanupsDue) return;
    this.#areCleanupsDue = true;
    afterMicrotasks(() => {
      this.#areCleanupsDue = false;
      this.#cleanUp();
    });
  }

  #cleanUp() {
    while (this.#cleanups.length > 0) this.#cleanups.pop()();
  }

  // What a script's tick throws is thrown again at the end of this turn. The runtime puts its own stack of asynchronous contexts in order then, which it cannot
  // in a task of another.
  #checkpoint() {
    try {
      runMicrotasks();
    } catch (error) {
      this.#keep(error);
    }
    if (this.#cleanups.length > 0) this.#cleanUp();
  }

  #keep(error) {
    if (this.#hasThrown) {
      report(error);
      return;
    }
    this.#hasThrown = true;
    this.#thrown = error;
  }

  #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { wire } = this;
    const end = now() + TURN_MS;
    let isOver = false;
    try {
      for (let count = 1; ; count++) {
        const kind = wire.next();
        if (kind === ANSWER.NONE) break;
        if (kind < 0) continue;
        deliver(this, kind);
        // A transaction that was made by the answer, and by no listener.
        if (this.#cleanups.length > 0) this.#checkpoint();
        if (this.#hasThrown || (count % ANSWERS_BETWEEN === 0 && (now() > end || count >= ANSWERS_MAX))) {
          isOver = true;
          break;
        }
      }
      wire.shrink();
    } catch (error) {
      // A defect: what is left is not asked for again and again.
      report(error);
    } finally {
      this.#isRunning = false;
    }
    if (isOver) this.#schedule();
    const mustHold = this.#left > 0;
    if (mustHold !== this.#isHeld) {
      this.#isHeld = mustHold;
      wire.exchange(mustHold);
    }
    if (this.#hasThrown) {
      const error = this.#thrown;
      this.#hasThrown = false;
      this.#thrown = undefined;
      throw error;
    }
  }
}
