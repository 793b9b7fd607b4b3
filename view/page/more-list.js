// A list that is asked for in pieces, each after the one before, with a button for the next.
import { ask } from "./api.js";
import { fill, h } from "./dom.js";
import { failed } from "./parts.js";

const LIMIT = 100;

export class MoreList {
  /**
   * `question` is asked with `where`. `take(answer)` puts a piece into the document, and gives how many it has and what the next one comes `after`.
   * `say(count, more)` is what the status says, `next` the button's label.
   */
  constructor(question, where, { take, say, next }) {
    Object.assign(this, { question, where, take, say, next });
    this.status = h("p", { class: "dim", role: "status" });
    this.more = h("div", { class: "more" });
    this.begin();
  }

  /** Asks from the beginning on. */
  begin() {
    this.stop?.abort();
    this.stop = new AbortController();
    this.count = 0;
    this.after = undefined;
    this.isWhole = false;
    this.load();
  }

  /** Asks for the next piece; `quietly` says so only when it has come. */
  async load({ quietly = false } = {}) {
    const { signal } = this.stop;
    if (this.loading === signal) return;
    this.loading = signal;
    fill(this.more);
    if (!quietly) fill(this.status, "Loading…");
    try {
      let answer;
      let count = 0;
      // A piece may have been looked through without anything in it.
      do {
        answer = await ask(this.question, { ...this.where, after: this.after, limit: LIMIT }, { signal });
        const taken = this.take(answer);
        this.after = taken.after ?? this.after;
        ({ count } = taken);
      } while (count === 0 && answer.more);
      this.count += count;
      this.isWhole = !answer.more;
      fill(this.status, this.say(this.count, answer.more));
      if (answer.more) fill(this.more, h("button", { type: "button", onclick: () => this.load() }, this.next));
    } catch (error) {
      failed(this.status, error);
    } finally {
      if (this.loading === signal) this.loading = undefined;
    }
  }

  end() {
    this.stop.abort();
  }
}
