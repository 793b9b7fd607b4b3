// The records of an object store or index, in pages that are asked for by key: pages far from what is seen keep only how long they are.
import { ask } from "./api.js";

const LIMIT = 200;
// How many pages on either side of what is seen keep their rows.
const KEPT = 5;
const REVERSE = { next: "prev", prev: "next", nextunique: "prevunique", prevunique: "nextunique" };

/** Where a row stands, as it is asked for. */
export const positionOf = (row) => (row ? { primaryKey: row.primaryKeyHex, key: row.keyHex } : undefined);
const same = (a, b) => a?.primaryKey === b?.primaryKey && a?.key === b?.key;
/** What a row is recognised by when it is asked for again. */
export const identity = (row) => `${row.primaryKeyHex} ${row.keyHex ?? ""}`;

export class Pages extends EventTarget {
  /** `query`: what `records` is asked with, without place and limit. Events: `change` (`added`: how many rows came above), `problem`. */
  constructor(query) {
    super();
    this.query = query;
    this.pages = [];
    this.above = false;
    this.below = false;
    this.busy = null;
    this.problems = [];
    this.stop = new AbortController();
  }

  get isDescending() {
    return this.query.direction.startsWith("prev");
  }
  get count() {
    return this.pages.reduce((sum, page) => sum + page.count, 0);
  }

  /** The rows that are loaded. */
  get loaded() {
    return this.pages.flatMap((page) => page.rows ?? []);
  }

  #offsets() {
    let at = 0;
    return this.pages.map((page) => {
      const from = at;
      at += page.count;
      return from;
    });
  }

  /** The row at an index, if it is loaded. */
  row(index) {
    let at = index;
    for (const page of this.pages) {
      if (at < page.count) return page.rows?.[at];
      at -= page.count;
    }
    return undefined;
  }

  /** The index of the first loaded row that `isWanted`, or -1. */
  findIndex(isWanted) {
    let from = 0;
    for (const page of this.pages) {
      const at = page.rows?.findIndex(isWanted) ?? -1;
      if (at >= 0) return from + at;
      from += page.count;
    }
    return -1;
  }

  async #ask(members) {
    const answer = await ask("records", { ...this.query, limit: LIMIT, ...members }, { signal: this.stop.signal });
    if (answer.problems?.length) {
      this.problems = [...new Set([...this.problems, ...answer.problems])];
    }
    return answer;
  }

  #page(answer, begin) {
    const rows = answer.records;
    return {
      rows,
      count: rows.length,
      first: positionOf(rows[0]),
      end: answer.after ?? positionOf(rows.at(-1)),
      begin,
    };
  }

  /** Asks in the other direction; the rows come back in this one's. */
  async #askBefore(position) {
    const answer = await this.#ask({ direction: REVERSE[this.query.direction], after: position });
    const begin = answer.after ?? positionOf(answer.records.at(-1));
    const rows = answer.records.reverse();
    return {
      page: {
        rows,
        count: rows.length,
        first: positionOf(rows[0]) ?? begin,
        end: positionOf(rows.at(-1)),
        before: position,
        reach: begin,
      },
      more: answer.more,
    };
  }

  /** Loads the first page: at the beginning, at the `end`, or from a key on (`key`: text, as `--from` takes it; `hex`: its bytes). */
  async begin({ at, key, hex } = {}) {
    if (at === "end") {
      const { page, more } = await this.#askBefore(undefined);
      this.#start([page], more, false);
    } else if (key !== undefined || hex !== undefined) {
      const side = this.isDescending ? "upper" : "lower";
      const begin = { [side]: key === undefined ? { hex, open: false } : { text: key, open: false } };
      const answer = await this.#ask(begin);
      this.asked = answer[`${side}Hex`];
      this.#start([this.#page(answer, begin)], true, answer.more);
    } else {
      const answer = await this.#ask({});
      this.#start([this.#page(answer, {})], false, answer.more);
    }
  }

  #start(pages, above, below) {
    Object.assign(this, { pages, above, below });
  }

  #changed(added = 0) {
    this.dispatchEvent(new CustomEvent("change", { detail: { added } }));
  }

  /** Sees to it that the rows from one index to another are loaded, and what comes next. */
  need(from, to) {
    this.wanted = { from, to };
    if (!this.busy)
      this.busy = this.#work().finally(() => {
        this.busy = null;
      });
  }

  async #work() {
    try {
      while (!this.stop.signal.aborted && (await this.#step())) {
        /* One page after the other: what is wanted may have changed. */
      }
    } catch (error) {
      if (error.name !== "AbortError") this.dispatchEvent(new CustomEvent("problem", { detail: error }));
    }
  }

  /** Loads one page, the most wanted; false if nothing is missing. */
  async #step() {
    if (this.renewing) return false;
    const { from, to } = this.wanted;
    const offsets = this.#offsets();
    const missing = this.pages.findIndex(
      (page, at) => !page.rows && offsets[at] < to + 50 && offsets[at] + page.count > from - 50,
    );
    if (missing >= 0) {
      await this.#reload(missing);
      this.#changed();
      return true;
    }
    if (this.below && to + 100 > this.count) {
      const answer = await this.#ask({ after: this.pages.at(-1)?.end });
      this.pages.push(this.#page(answer));
      this.below = answer.more;
      this.#drop();
      this.#changed();
      return true;
    }
    if (this.above && from < 100) {
      const first = this.pages[0];
      const { page, more } = await this.#askBefore(first.reach ?? first.first);
      this.pages.unshift(page);
      this.above = more;
      this.wanted = { from: from + page.count, to: to + page.count };
      this.#drop();
      this.#changed(page.count);
      return true;
    }
    return false;
  }

  async #reload(at) {
    const page = this.pages[at];
    if (at > 0 && this.pages[at - 1].end) {
      this.#replace(at, await this.#ask({ after: this.pages[at - 1].end }), page);
    } else if (page.begin) {
      this.#replace(at, await this.#ask(page.begin), page);
    } else if (!this.above) {
      this.#replace(at, await this.#ask({}), page);
    } else {
      const { page: again, more } = await this.#askBefore(page.before);
      this.pages[at] = again;
      this.above = more;
    }
  }

  /** Puts what came in the place of a page. If it ends elsewhere now, later pages are asked for anew, from there. */
  #replace(at, answer, { begin }) {
    const page = this.#page(answer, begin);
    const isLast = at === this.pages.length - 1;
    if (isLast || !same(page.end, this.pages[at].end)) {
      this.pages.length = at + 1;
      this.below = answer.more;
    }
    this.pages[at] = page;
    this.#drop();
  }

  /** Rows of pages far from what is wanted go out of memory. */
  #drop() {
    const { from, to } = this.wanted ?? { from: 0, to: 0 };
    const around = KEPT * LIMIT;
    const offsets = this.#offsets();
    this.pages.forEach((page, at) => {
      if (offsets[at] + page.count < from - around || offsets[at] > to + around) page.rows = null;
    });
  }

  /** Asks again for the pages that are seen, and says what is new, changed and gone among their rows. */
  async renew(from, to) {
    this.renewing = true;
    try {
      await this.busy;
      const before = new Map();
      for (const row of this.loaded) before.set(identity(row), row.digest);
      const wasWhole = !this.below;
      const offsets = this.#offsets();
      const seen = this.pages.map((page, at) => offsets[at] < to + 1 && offsets[at] + page.count >= from);
      const first = Math.max(0, seen.indexOf(true));
      const last = Math.max(first, seen.lastIndexOf(true));
      const looked = this.pages.slice(first, last + 1).flatMap((page) => (page.rows ?? []).map(identity));
      this.problems = [];
      this.pages.forEach((page, at) => {
        if (at < first || at > last) page.rows = null;
      });
      for (let at = first; at <= last && at < this.pages.length; at++) await this.#reload(at);
      return this.#compare({ before, wasWhole, looked, first });
    } finally {
      this.renewing = false;
    }
  }

  #compare({ before, wasWhole, looked, first }) {
    const marks = new Map();
    const rows = this.pages.slice(first).flatMap((page) => page.rows ?? []);
    const end = rows.findLastIndex((row) => before.has(identity(row)));
    rows.forEach((row, at) => {
      const name = identity(row);
      if (!before.has(name)) {
        // Behind the last row that had been loaded, a row may have been there before.
        if (wasWhole || at < end) marks.set(name, "new");
      } else if (before.get(name) !== row.digest) marks.set(name, "changed");
    });
    // Behind the last row that is still there, rows may have moved on to a page that is not loaded.
    const there = new Set(rows.map(identity));
    const last = this.below ? looked.findLastIndex((name) => there.has(name)) : looked.length;
    return { marks, gone: looked.slice(0, last + 1).filter((name) => !there.has(name)).length };
  }

  /** Asks for nothing any more. */
  end() {
    this.stop.abort();
  }
}
