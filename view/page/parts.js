// Parts that several views are made of.
import { download } from "./api.js";
import { fill, h } from "./dom.js";
import { appendText } from "./text.js";

/** A word with its explanation behind a question mark. */
export function explained(word, help) {
  return h(
    "span",
    { class: "explained" },
    word,
    " ",
    h(
      "details",
      { class: "help" },
      h("summary", { "aria-label": `What "${word}" means` }, "?"),
      h("span", { class: "help-text" }, help),
    ),
  );
}

/** A line of a list of facts, for a `dl`; nothing where there is no value. */
export const fact = (name, value, help) =>
  value === undefined || value === null || value === false || value === ""
    ? null
    : [h("dt", {}, help ? explained(name, help) : name), h("dd", {}, value)];

/** Texts of a store as a list. */
export const textList = (texts, attributes = {}) =>
  h(
    "ul",
    attributes,
    texts.map((text) => appendText(h("li", {}), text)),
  );

/** A table with its head; columns named in `numbers` are aligned at their end. */
export const plainTable = (columns, body, numbers = []) =>
  h(
    "table",
    { class: "plain-table" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map((label) => h("th", { scope: "col", class: numbers.includes(label) && "number" }, label)),
      ),
    ),
    body,
  );

/** Says in `status` that work is running, with a button that stops it. Gives the element whose text says how far it is. */
export function running(status, text, stop) {
  const progress = h("span", {}, text);
  fill(
    status,
    h("span", { class: "spinner", "aria-hidden": "true" }),
    progress,
    " ",
    h("button", { type: "button", class: "cancel", onclick: stop }, "Stop"),
  );
  return progress;
}

/** Says in `status` why work has failed; work that was given up has not. */
export function failed(status, error) {
  if (error.name !== "AbortError") fill(status, h("span", { class: "bad" }, error.message));
}

/** A button that saves an archive of what `where` names, and what is said if that fails. */
export function archiveButton(label, where) {
  const status = h("p", { role: "status" });
  const save = () => download({ what: "archive", ...where }).catch((error) => fill(status, error.message));
  return [h("p", {}, h("button", { type: "button", onclick: save }, label)), status];
}
