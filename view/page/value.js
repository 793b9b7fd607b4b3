// A value as a tree: every part with its type, opened as far as one looks.
import { append, h } from "./dom.js";
import { blobView } from "./blob.js";
import { elementsView } from "./elements.js";
import { fromHex, hexOf } from "./hex.js";
import { pictureView } from "./pixels.js";
import { isPrimitive, partsOf, summaryOf, survey } from "./shape.js";
import { appendText, counted, dateText, nameElement, nameText, numberText, sizeText, stringOf } from "./text.js";
import { stretches } from "./stretches.js";
import { typeName } from "./types.js";

const STRING_SHOWN = 600;
// A value with fewer parts is shown open.
const OPEN_MAX = 80;
const OPEN_DEPTH = 3;
const EXPAND_MAX = 5000;

export class ValueTree {
  /**
   * `record` as the server gives it, `where`: what it was asked with, `more(limit)` asks again with a greater limit, if `mayGrow(limit)`.
   * `signal` ends what is asked for blobs.
   */
  constructor(record, where, { more, mayGrow, signal }) {
    Object.assign(this, { record, where, more, mayGrow, signal });
    this.survey = survey(record.value);
    this.items = new Map();
    this.element = h("ul", {
      class: "value-tree",
      role: "tree",
      "aria-label": "Value",
      onkeydown: (event) => this.#key(event),
      onclick: (event) => this.#click(event),
    });
    const root = this.#item({ name: null, role: "root", node: record.value }, [], 1, 1, 1);
    this.element.append(root.element);
    root.element.tabIndex = 0;
    if (root.isOpenable) this.#open(root, this.survey.count < OPEN_MAX ? OPEN_DEPTH : 1);
  }

  /** The paths that are open, to open them again in another tree. */
  get openPaths() {
    return [...this.items.values()].filter((item) => item.isOpen).map((item) => item.path);
  }
  reopen(paths) {
    for (const path of paths) this.#openAt(path);
  }

  #item(part, path, at, of, level) {
    const { node } = part;
    const parts = isPrimitive(node) ? [] : node.t === "(stretch)" ? node.parts : partsOf(node);
    const isContent = ["(bytes)", "(blob)", "(picture)", "(elements)"].includes(node.t);
    const item = {
      part,
      node,
      path,
      level,
      parts,
      isOpenable: parts.length > 0 || isContent,
      isContent,
      isOpen: false,
    };
    const line = h(
      "div",
      { class: `line line-${part.role}` },
      h("span", { class: item.isOpenable ? "twist" : "twist none", "aria-hidden": "true" }),
      ...this.#name(part),
      ...this.#described(item),
    );
    item.element = h(
      "li",
      {
        class: "node",
        role: "treeitem",
        tabindex: "-1",
        "aria-level": level,
        "aria-posinset": at,
        "aria-setsize": of,
        "aria-expanded": item.isOpenable ? "false" : undefined,
      },
      line,
    );
    item.element.item = item;
    if (node.t !== "(stretch)") this.items.set(path.join("."), item);
    return item;
  }

  #name({ name, role, key }) {
    if (role === "keyed")
      return [h("span", { class: "name name-keyed" }, this.#primitive(key)), h("span", { class: "arrow" }, " → ")];
    if (name === null) return [];
    return [nameElement(name, { class: `name name-${role}` })];
  }

  /** What stands on the line of a node behind its name. */
  #described({ node }) {
    if (node.t === "(hole)") return [h("span", { class: "dim" }, counted(node.count, "hole"))];
    if (node.t === "(left)")
      return [
        this.#moreButton(`${counted(node.count, "part")} more ${node.count === 1 ? "is" : "are"} not loaded.`, "nodes"),
      ];
    if (node.t === "(stretch)") return [h("span", { class: "dim" }, node.label)];
    if (node.t === "(json)") return [h("span", { class: "text" }, appendText(h("bdi"), summaryOf(node)))];
    if (node.t === "(entry)") return [h("span", { class: "dim" }, "entry")];
    if (node.t.startsWith("(")) return [];
    if (node.t === "ref") return this.#reference(node);
    const type = h("span", { class: "type" }, typeName(node.t));
    const number = this.survey.referred.has(node.id)
      ? h(
          "span",
          { class: "object-number", title: "Other parts of this value refer to this object by its number." },
          `#${node.id}`,
        )
      : null;
    return [type, number, isPrimitive(node) ? this.#primitive(node) : this.#objectText(node)].filter(Boolean);
  }

  #primitive(node) {
    const element = h("bdi", { class: `text value-${node.t}` });
    switch (node.t) {
      case "string":
        this.#string(element, node);
        break;
      case "bigint":
        element.append(`${node.v}n`);
        break;
      case "undefined":
      case "null":
        element.append(node.t);
        break;
      default:
        element.append(String(node.v));
    }
    return element;
  }

  #string(element, node) {
    const text = stringOf(node);
    const show = (length) => {
      element.replaceChildren('"');
      appendText(element, text.slice(0, length), { lines: true });
      if (length >= text.length && !node.cut) element.append('"');
      else {
        element.append("…");
        if (length < text.length)
          element.append(
            h(
              "button",
              { type: "button", class: "inline", onclick: () => show(Infinity) },
              `Show all ${numberText(text.length)} units`,
            ),
          );
        else
          element.append(this.#moreButton(`${numberText(text.length)} of ${numberText(node.units)} units.`, "strings"));
      }
    };
    // A long one that is cut in two between the halves of a pair is cut before it.
    const end =
      text.length > STRING_SHOWN ? STRING_SHOWN - (/[\ud800-\udbff]/.test(text[STRING_SHOWN - 1]) ? 1 : 0) : Infinity;
    show(end);
  }

  #objectText(node) {
    const element = h("bdi", { class: `text value-${node.t}` });
    switch (node.t) {
      case "Date":
        element.append(dateText(node.v));
        element.title = `${node.v} ms since 1970`;
        break;
      case "RegExp":
        appendText(element, `/${nameText(node.source)}/${node.flags}`);
        break;
      case "BooleanObject":
      case "NumberObject":
        element.append(String(node.v));
        break;
      case "BigIntObject":
        element.append(`${node.v}n`);
        break;
      case "StringObject":
        this.#string(element, node);
        break;
      case "Error":
        element.append(node.name);
        break;
      case "CryptoKey":
        element.append(`${node.type}, ${node.algorithm?.name ?? ""}`);
        break;
      case "FileSystemFileHandle":
      case "FileSystemDirectoryHandle":
        appendText(element, `${node.kind} "${nameText(node.name)}"`);
        break;
      case "UNREADABLE":
        element.classList.add("bad");
        appendText(element, node.error ?? "");
        break;
      case "Blob":
      case "File":
        element.append(summaryOf(node));
        if (node.type) element.append(", ", nameElement(node.type));
        break;
      default:
        appendText(element, summaryOf(node));
    }
    return element;
  }

  #reference(node) {
    const target = this.survey.places.get(node.id);
    if (!target) return [h("span", { class: "text" }, `refers to #${node.id}`)];
    return [
      h("span", { class: "type" }, "reference"),
      h(
        "button",
        { type: "button", class: "inline reference", onclick: () => this.reveal(target.path) },
        `refers to #${node.id}`,
      ),
      h("span", { class: "dim" }, ` ${typeName(target.node.t)}`),
    ];
  }

  #moreButton(text, limit) {
    const button = h("button", { type: "button", class: "inline", onclick: () => this.more(limit) }, "Load more");
    return h(
      "span",
      { class: "cut" },
      `${text} `,
      this.mayGrow(limit) ? button : "The rest is too much for this page: “Save” has all of it.",
    );
  }

  /** What is shown below a node that is no list of parts. */
  #content({ node }) {
    switch (node.t) {
      case "(bytes)":
        return h("div", {}, hexOf(fromHex(node.bytes.hex ?? "")), this.#cutBytes(node.bytes));
      case "(elements)": {
        const buffer =
          node.view.buffer.t === "ref" ? this.survey.places.get(node.view.buffer.id)?.node : node.view.buffer;
        return h(
          "div",
          {},
          elementsView(node.view, fromHex(buffer?.bytes?.hex ?? "")),
          buffer?.bytes && this.#cutBytes(buffer.bytes),
        );
      }
      case "(picture)":
        return h("div", {}, pictureView(node.image, fromHex(node.bytes.hex ?? "")), this.#cutBytes(node.bytes));
      default: {
        const object = this.survey.blobs.get(node.blob);
        return blobView(
          node.blob,
          this.record.objects?.find((each) => each.object === object),
          { ...this.where, object },
          this.signal,
        );
      }
    }
  }

  #cutBytes(bytes) {
    if (!bytes.cut) return null;
    return this.#moreButton(
      `The first ${sizeText((bytes.hex ?? "").length / 2)} of ${sizeText(bytes.len)} are loaded.`,
      "bytes",
    );
  }

  #open(item, depth = 1) {
    if (!item.isOpenable) return;
    if (!item.isOpen) {
      item.isOpen = true;
      item.element.setAttribute("aria-expanded", "true");
      if (!item.group) {
        item.group = item.isContent ? h("div", { class: "content" }, this.#content(item)) : h("ul", { role: "group" });
        if (!item.isContent) {
          const children = stretches(item);
          item.children = children.map(({ part, path }, at) =>
            this.#item(part, path, at + 1, children.length, item.level + 1),
          );
          append(item.group, [item.children.map((child) => child.element)]);
        }
        item.element.append(item.group);
      }
      item.group.hidden = false;
    }
    for (const child of item.children ?? [])
      if (child.isContent || (depth > 1 && child.node.t !== "(stretch)" && (child.node.t !== "(json)" || depth > 2)))
        this.#open(child, depth - 1);
  }

  #close(item) {
    item.isOpen = false;
    item.element.setAttribute("aria-expanded", "false");
    if (item.group) item.group.hidden = true;
  }

  /** Opens all that is loaded, but for values of very many parts. */
  expandAll() {
    const open = [this.element.firstChild.item];
    for (let count = 0; open.length > 0 && count < EXPAND_MAX; count++) {
      const item = open.shift();
      this.#open(item);
      open.push(...(item.children ?? []));
    }
  }

  #openAt(path) {
    let item = this.items.get("");
    for (let at = 0; at <= path.length; at++) {
      this.#open(item);
      if (at === path.length) break;
      const name = path.slice(0, at + 1).join(".");
      while (!this.items.get(name)) {
        const stretch = item.children?.find(
          (child) =>
            child.node.t === "(stretch)" &&
            child.node.parts[0].at <= path[at] &&
            path[at] <= child.node.parts.at(-1).at,
        );
        if (!stretch) return null;
        this.#open(stretch);
        item = stretch;
      }
      item = this.items.get(name);
    }
    return item;
  }

  /** Opens what leads to a part, and marks it. */
  reveal(path) {
    if (path.length > 0) this.#openAt(path.slice(0, -1));
    const item = path.length > 0 ? (this.items.get(path.join(".")) ?? this.#openAt(path)) : this.items.get("");
    if (!item) return;
    for (const marked of this.element.querySelectorAll(".found")) marked.classList.remove("found");
    item.element.firstChild.classList.add("found");
    this.#focus(item.element);
    item.element.firstChild.scrollIntoView({ block: "center" });
  }

  #focus(element) {
    for (const before of this.element.querySelectorAll('[tabindex="0"].node')) before.tabIndex = -1;
    element.tabIndex = 0;
    element.focus({ preventScroll: true });
    element.firstChild.scrollIntoView({ block: "nearest" });
  }

  #click(event) {
    if (event.target.closest("button, .content")) return;
    const line = event.target.closest(".line");
    if (!line) return;
    const { item } = line.parentElement;
    if (item.isOpenable && getSelection().isCollapsed) item.isOpen ? this.#close(item) : this.#open(item);
    this.#focus(item.element);
  }

  #key(event) {
    const element = event.target.closest(".node");
    if (!element || event.target !== element || event.altKey || event.ctrlKey || event.metaKey) return;
    const { item } = element;
    const seen = () => [...this.element.querySelectorAll(".node")].filter((node) => node.checkVisibility());
    const step = (by) => {
      const all = seen();
      const next = all[all.indexOf(element) + by];
      if (next) this.#focus(next);
    };
    switch (event.key) {
      case "ArrowDown":
        step(1);
        break;
      case "ArrowUp":
        step(-1);
        break;
      case "Home":
        this.#focus(this.element.firstChild);
        break;
      case "End":
        this.#focus(seen().at(-1));
        break;
      case "ArrowRight":
        if (item.isOpenable && !item.isOpen) this.#open(item);
        else if (item.children?.length) this.#focus(item.children[0].element);
        break;
      case "ArrowLeft":
        if (item.isOpen) this.#close(item);
        else if (element.parentElement.closest(".node")) this.#focus(element.parentElement.closest(".node"));
        break;
      case "Enter":
      case " ":
        if (item.isOpenable) item.isOpen ? this.#close(item) : this.#open(item);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
