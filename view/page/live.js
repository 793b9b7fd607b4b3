// Follows the files: asks every two seconds whether they have changed, while the page is seen, and says whether the server answers.
import { ask, lines, server } from "./api.js";
import { byId, fill, h } from "./dom.js";
import { announceInUse, model } from "./model.js";

const EVERY_MS = 2000;

export class Live {
  /** `changed(store)` hears which store's files have changed. */
  constructor(changed) {
    this.changed = changed;
    this.on = true;
    this.generations = new Map();
    this.button = byId("live-switch");
    this.button.addEventListener("click", () => this.#switch());
    this.#draw();
    setInterval(() => this.#ask(), EVERY_MS);
    document.addEventListener("visibilitychange", () => this.#ask());
    server.addEventListener("away", () => this.#banner("away"));
    server.addEventListener("here", () => {
      if (this.state === "away") this.#banner(null);
    });
    server.addEventListener("refused", () => this.#banner("refused"));
    this.#hold();
  }

  #switch() {
    this.on = !this.on;
    this.#draw();
    this.#ask();
  }

  #draw() {
    this.button.setAttribute("aria-pressed", String(this.on));
    this.button.classList.toggle("away", Boolean(this.state));
    fill(
      this.button,
      h("span", { class: "live-dot", "aria-hidden": "true" }),
      this.state ? "Not connected" : this.on ? "Live" : "Paused",
    );
    this.button.title = this.on
      ? "What a browser writes is shown by itself. Press to pause."
      : "The page stays as it is. Press to follow what a browser writes.";
  }

  async #ask() {
    const isSomethingOpen = [...model.stores.values()].some(({ opened }) => opened);
    if (!this.on || !isSomethingOpen || this.asking || document.hidden || this.state === "refused") return;
    this.asking = true;
    try {
      const { stores } = await ask("state");
      for (const { store, generation, inUse } of stores) {
        const known = model.stores.get(store)?.opened;
        if (known && known.inUse !== inUse) announceInUse(store, inUse);
        if (known && known.generation !== generation && this.on && this.generations.get(store) !== generation) {
          this.generations.set(store, generation);
          this.changed(store);
        }
      }
    } catch {
      /* The banner says it. */
    } finally {
      this.asking = false;
    }
  }

  /** Holds a line to the server, by which the command hears that the page is open, and the page that the server is there. */
  async #hold() {
    try {
      for await (const line of lines("alive")) void line;
    } catch {
      /* The next question says whether the server is away. */
    }
    // An address that is refused stays so.
    if (this.state !== "refused") setTimeout(() => this.#hold(), EVERY_MS * 2);
  }

  #banner(state) {
    if (this.state === state) return;
    this.state = state;
    this.#draw();
    const banner = byId("banner");
    banner.hidden = state === null;
    if (state === "away") {
      fill(
        banner,
        h("strong", {}, "Larder does not answer. "),
        "The command may have been ended. Start ",
        h("code", {}, "larder view"),
        " again and open the address that it prints; if it is still running, this goes away by itself. What you see is what was there before.",
      );
    } else if (state === "refused") {
      fill(
        banner,
        h("strong", {}, "This page has no right to ask any more. "),
        "Its address belonged to an earlier ",
        h("code", {}, "larder view"),
        ". Open the address that the command has printed.",
      );
    } else fill(banner);
  }
}
