// The head of what is shown in the middle: where it lies, and its views as tabs.
import { h } from "./dom.js";
import { lookUp, model } from "./model.js";
import { address, go } from "./route.js";
import { nameElement } from "./text.js";

/** The way from the origin to the place, each step a link. */
export function crumbs(place) {
  const { database, objectStore, index } = lookUp(place);
  const { info } = model.stores.get(place.store);
  const steps = model.stores.size > 1 ? [["All stores", {}]] : [];
  steps.push([info.origin, { store: place.store }]);
  if (database) steps.push([database.name, { store: place.store, database: place.database }]);
  if (objectStore)
    steps.push([objectStore.name, { store: place.store, database: place.database, objectStore: place.objectStore }]);
  if (index)
    steps.push([
      index.name,
      { store: place.store, database: place.database, objectStore: place.objectStore, index: place.index },
    ]);
  return h(
    "nav",
    { class: "crumbs", "aria-label": "Where this is" },
    h(
      "ol",
      {},
      steps.map(([name, to], at) =>
        h(
          "li",
          {},
          nameElementIn(
            at === steps.length - 1
              ? h("span", { "aria-current": "page" })
              : h("a", { href: address(to), onclick: follow(to) }),
            name,
          ),
        ),
      ),
    ),
  );
}

const nameElementIn = (element, name) => {
  element.append(nameElement(name));
  return element;
};

/** A click that goes to a place without loading the page anew. */
export const follow = (to) => (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(to);
};

/** The button that leads back to the list, on narrow screens. */
export const backButton = (panel, label) =>
  h("button", { type: "button", class: "back", "data-back": panel }, `‹ ${label}`);

/** Tabs: `[view, label]`, the first has no view in the address. What else is there stands at the end of the line. */
export function tabs(place, views, ...others) {
  const current = views.some(([view]) => view === place.view) ? place.view : undefined;
  const { key, view, ...rest } = place;
  return h(
    "div",
    { class: "tabs" },
    h(
      "div",
      { role: "group", "aria-label": "Views" },
      views.map(([to, label]) =>
        h(
          "button",
          {
            type: "button",
            class: "tab",
            "aria-pressed": String(to === current),
            onclick: () => go({ ...rest, view: to }),
          },
          label,
        ),
      ),
    ),
    others.length > 0 && h("div", { class: "tabs-end" }, others),
  );
}

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
