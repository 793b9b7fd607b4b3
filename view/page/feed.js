// The change feed of a database as a line of time: what changed, oldest first.
import { h } from "./dom.js";
import { keyElement } from "./keys.js";
import { MoreList } from "./more-list.js";
import { appendText, counted, nameElement } from "./text.js";

const WORDS = { creation: "new", modification: "changed", removal: "removed" };

export class Feed {
  constructor(where) {
    this.timeline = h("ol", { class: "timeline" });
    this.list = new MoreList("feed", where, {
      take: ({ transactions }) => {
        this.timeline.append(...transactions.map((transaction) => this.#transaction(transaction)));
        return { count: transactions.length, after: transactions.at(-1)?.position };
      },
      say: (count, more) =>
        count === 0
          ? "No changes are recorded."
          : `${counted(count, "transaction")}${more ? " so far" : ", the last one is the latest"}.`,
      next: "Show later changes",
    });
    this.element = h(
      "div",
      { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Changes of this database" },
      h("p", { class: "lead" }, "What has changed in this database, transaction by transaction, the oldest first."),
      this.timeline,
      this.list.status,
      this.list.more,
    );
  }

  #transaction({ position, committed, fromSource, revisions }) {
    const date = committed === undefined ? null : new Date(committed);
    return h(
      "li",
      { class: "transaction" },
      h(
        "div",
        {},
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

  /** The files have changed: what has come is behind what is shown. */
  renew() {
    if (this.list.isWhole) this.list.load({ quietly: true });
  }
  end() {
    this.list.end();
  }
}
