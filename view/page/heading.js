// The head of what is shown in the middle: where it lies, and its views as tabs.
import { h } from "./dom.js";
import { lookUp, model } from "./model.js";
import { address, go } from "./route.js";
import { nameElement } from "./text.js";

/** The way from the origin to the place, each step a link. */
function crumbs(place) {
  const { store, database, objectStore, index } = lookUp(place);
  const steps = model.stores.size > 1 ? [["All stores", {}]] : [];
  let to = { store: place.store };
  steps.push([store.info.origin, to]);
  for (const [kind, found] of Object.entries({ database, objectStore, index })) {
    if (!found) break;
    to = { ...to, [kind]: found.id };
    steps.push([found.name, to]);
  }
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
          at === steps.length - 1
            ? h("span", { "aria-current": "page" }, nameElement(name))
            : h("a", { href: address(to), onclick: follow(to) }, nameElement(name)),
        ),
      ),
    ),
  );
}

/** A click that goes to a place without loading the page anew. */
export const follow = (to) => (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(to);
};

/** The button that leads back to the list, on narrow screens. */
export const backButton = (panel, label) =>
  h("button", { type: "button", class: "back", "data-back": panel }, `‹ ${label}`);

/** The head of a view: the way to the place, its title, and a line of tabs or tools. */
export const middleHead = (place, title, line) =>
  h(
    "div",
    { class: "middle-head" },
    backButton("places", "Stores"),
    place && crumbs(place),
    h("div", { class: "title-line" }, title),
    line,
  );

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
