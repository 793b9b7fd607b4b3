// A long list of rows of one height, of which only those that are seen are in the document.

// Browsers end an element at some 33 million pixels; beyond this height the list's scroll bar stands for more than it measures.
const HEIGHT_MAX = 8_000_000;
const AROUND = 8;

export class VirtualList {
  /**
   * `scroller` scrolls, `body` has the rows. `rowHeight` in pixels, `inset`: how much of the scroller a fixed header covers.
   * `row(index)` makes a row, `pinned()` is the index of a row that stays in the document, `ranged(from, to)` hears what is seen.
   */
  constructor({ scroller, body, rowHeight, inset = 0, row, pinned = () => -1, ranged = () => {} }) {
    Object.assign(this, { scroller, body, rowHeight, inset, makeRow: row, pinned, ranged });
    this.count = 0;
    this.top = 0;
    this.rows = new Map();
    body.classList.add("virtual-body");
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    scroller.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(scroller);
  }

  get viewHeight() {
    return Math.max(0, this.scroller.clientHeight - this.inset);
  }
  get #whole() {
    return this.count * this.rowHeight;
  }
  get #height() {
    return Math.min(this.#whole, HEIGHT_MAX);
  }
  get #topMax() {
    return Math.max(0, this.#whole - this.viewHeight);
  }
  /** How many pixels of the list one of the scroll bar stands for. */
  get #ratio() {
    const scrollMax = this.#height - this.viewHeight;
    return this.#whole > HEIGHT_MAX && scrollMax > 0 ? this.#topMax / scrollMax : 1;
  }

  #scrolled() {
    const { scrollTop } = this.scroller;
    if (this.expected !== undefined && Math.abs(scrollTop - this.expected) < 1) this.expected = undefined;
    else this.top = Math.min(scrollTop * this.#ratio, this.#topMax);
    this.draw();
  }

  #wheel(event) {
    if (this.#ratio === 1 || event.ctrlKey || event.deltaY === 0 || event.shiftKey) return;
    event.preventDefault();
    this.scrollTo(this.top + (event.deltaMode === 1 ? event.deltaY * this.rowHeight : event.deltaY));
  }

  /** Scrolls to a distance from the list's beginning, in pixels. */
  scrollTo(top) {
    this.top = Math.max(0, Math.min(top, this.#topMax));
    this.#fit();
    const wanted = this.top / this.#ratio;
    if (Math.abs(this.scroller.scrollTop - wanted) >= 1) {
      this.scroller.scrollTop = wanted;
      this.expected = this.scroller.scrollTop;
    }
    this.draw();
  }

  /** Scrolls so far that a row is seen. */
  show(index) {
    const begin = index * this.rowHeight;
    if (begin < this.top) this.scrollTo(begin);
    else if (begin + this.rowHeight > this.top + this.viewHeight)
      this.scrollTo(begin + this.rowHeight - this.viewHeight);
    else this.draw();
  }

  /** Takes another number of rows. Rows that look otherwise now are made anew, others stay: a click on one may have begun. */
  setCount(count) {
    this.count = count;
    this.top = Math.min(this.top, this.#topMax);
    this.#fit();
    this.draw({ anew: true });
  }

  #fit() {
    this.body.style.height = `${this.#height}px`;
  }

  get seen() {
    const from = Math.floor(this.top / this.rowHeight);
    return { from, to: Math.min(this.count, Math.ceil((this.top + this.viewHeight) / this.rowHeight)) };
  }

  /** Puts the rows that are seen into the document, and takes others out; `anew` looks at those that stay too. */
  draw({ anew = false } = {}) {
    if (this.drawing) return;
    this.drawing = true;
    const { from, to } = this.seen;
    const wanted = new Set();
    for (let index = Math.max(0, from - AROUND); index < Math.min(this.count, to + AROUND); index++) wanted.add(index);
    const pinned = this.pinned();
    if (pinned >= 0 && pinned < this.count) wanted.add(pinned);
    for (const [index, element] of this.rows) {
      if (!wanted.has(index)) {
        element.remove();
        this.rows.delete(index);
      }
    }
    const shift = this.scroller.scrollTop - this.top;
    let isOther = false;
    for (const index of wanted) {
      const transform = `translateY(${index * this.rowHeight + (this.#ratio === 1 ? 0 : shift)}px)`;
      const old = this.rows.get(index);
      if (old) old.style.transform = transform;
      if (old && !anew) continue;
      const made = this.makeRow(index);
      made.style.transform = transform;
      if (old?.isEqualNode(made)) continue;
      old?.remove();
      this.rows.set(index, made);
      isOther = true;
    }
    if (isOther) this.#place(wanted);
    this.drawing = false;
    this.ranged(from, to);
  }

  /** Rows stand in the document in their order, for screen readers. */
  #place(wanted) {
    const inOrder = [...wanted].sort((a, b) => a - b);
    let before = null;
    for (let at = inOrder.length - 1; at >= 0; at--) {
      const element = this.rows.get(inOrder[at]);
      if (element.parentNode !== this.body || element.nextSibling !== before) this.body.insertBefore(element, before);
      before = element;
    }
  }

  /** Stops watching. */
  end() {
    this.observer.disconnect();
  }
}
