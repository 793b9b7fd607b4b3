// The change feed of a database as a line of time: what changed, oldest first.
import { ask } from "./api.js";
import { append, fill, h } from "./dom.js";
import { keyElement } from "./keys.js";
import { appendText, counted, nameElement } from "./text.js";

const LIMIT = 100;
const WORDS = { creation: "new", modification: "changed", removal: "removed" };

export class Feed {
  constructor(where) {
    this.where = where;
    this.stop = new AbortController();
    this.status = h("p", { class: "dim", role: "status" });
    this.list = h("ol", { class: "timeline" });
    this.more = h("div", { class: "more" });
    this.count = 0;
    this.element = h(
      "div",
      { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Changes of this database" },
      h("p", { class: "lead" }, "What has changed in this database, transaction by transaction, the oldest first."),
      this.list,
      this.status,
      this.more,
    );
    this.#load();
  }

  async #load() {
    if (this.loading) return;
    this.loading = true;
    fill(this.more);
    try {
      const answer = await ask(
        "feed",
        { ...this.where, after: this.after, limit: LIMIT },
        { signal: this.stop.signal },
      );
      this.after = answer.transactions.at(-1)?.position ?? this.after;
      this.count += answer.transactions.length;
      append(this.list, [answer.transactions.map((transaction) => this.#transaction(transaction))]);
      this.isWhole = !answer.more;
      fill(
        this.status,
        this.count === 0
          ? "No changes are recorded."
          : `${counted(this.count, "transaction")}${answer.more ? " so far" : ", the last one is the latest"}.`,
      );
      if (answer.more)
        fill(this.more, h("button", { type: "button", onclick: () => this.#load() }, "Show later changes"));
    } catch (error) {
      if (error.name !== "AbortError") fill(this.status, h("span", { class: "bad" }, error.message));
    } finally {
      this.loading = false;
    }
  }

  #transaction({ position, committed, fromSource, revisions }) {
    const date = committed === undefined ? null : new Date(committed);
    return h(
      "li",
      { class: "transaction" },
      h(
        "div",
        { class: "transaction-head" },
        h("strong", {}, `#${position}`),
        " ",
        date && h("time", { datetime: date.toISOString(), title: date.toISOString() }, date.toLocaleString()),
        fromSource &&
          h(
            "span",
            { class: "tag", title: "This change was brought here from another copy of the database." },
            "from a source",
          ),
      ),
      h(
        "ul",
        { class: "revisions" },
        revisions.map((revision) => this.#revision(revision)),
      ),
    );
  }

  #revision({ operation, objectStore, key, changed, value }) {
    return h(
      "li",
      {},
      h("span", { class: `tag operation-${operation}` }, WORDS[operation] ?? operation),
      " ",
      nameElement(objectStore),
      " › ",
      keyElement(key),
      changed?.length > 0 &&
        h(
          "span",
          { class: "dim" },
          " changed: ",
          changed.flatMap((name, at) => [at > 0 ? ", " : "", nameElement(name)]),
        ),
      value && appendText(h("div", { class: "mono revision-value" }), value.text),
    );
  }

  renew() {
    if (this.isWhole) this.#load();
  }
  end() {
    this.stop.abort();
  }
}
