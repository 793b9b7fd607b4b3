// A button with something that opens below it.
import { fill, h, newId } from "./dom.js";

/** A menu of buttons, `[label, work]`, and of texts beside them. */
export const menuOf = (label, items, attributes) =>
  menu(
    label,
    (close) =>
      h(
        "div",
        { class: "menu-items" },
        items.map((item) => {
          if (typeof item === "string") return h("p", { class: "dim" }, item);
          const [name, work] = item;
          const choose = () => {
            close();
            work();
          };
          return h("button", { type: "button", onclick: choose }, name);
        }),
      ),
    attributes,
  );

/** `content(close)` is made each time it opens. */
export function menu(label, content, attributes = {}) {
  const id = newId("menu");
  const sheet = h("div", { class: "menu-sheet", id, hidden: true });
  const button = h(
    "button",
    { type: "button", "aria-expanded": "false", "aria-controls": id, class: "menu-button", ...attributes },
    label,
    h("span", { class: "caret", "aria-hidden": "true" }),
  );
  const root = h("div", { class: "menu" }, button, sheet);
  const set = (open) => {
    button.setAttribute("aria-expanded", String(open));
    sheet.hidden = !open;
    if (open)
      fill(
        sheet,
        content(() => set(false)),
      );
    document[open ? "addEventListener" : "removeEventListener"]("pointerdown", outside);
  };
  const outside = (event) => {
    if (!root.contains(event.target)) set(false);
  };
  button.addEventListener("click", () => set(sheet.hidden));
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || sheet.hidden) return;
    event.stopPropagation();
    set(false);
    button.focus();
  });
  return root;
}
