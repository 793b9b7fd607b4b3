// The listeners of an event target, in the order in which they came.
export function listeners(binding) {
  const { OwnMap, setApart } = binding.builtIns;

  class Listener {
    constructor(type, callback) {
      this.type = type;
      this.callback = callback;
      this.order = 0;
      this.next = null;
    }
  }
  setApart(Listener);
  // Most are like this: what they have of their own is little.
  Object.assign(Listener.prototype, { capture: false, once: false, passive: false, removed: false, handler: false });

  // From so many on, they are found by type and callback, not one by one.
  const INDEXED_FROM = 16;

  // The listeners of one type, by callback.
  class Indexed {
    constructor() {
      this.handler = undefined;
      this.capturing = new OwnMap();
      this.others = new OwnMap();
    }
  }
  setApart(Indexed);

  // A list linked in one direction, without cycles, so that no garbage collection is needed. A dispatch may be at a listener when that is
  // removed: the removed one keeps its link, so the dispatch goes on from it. It ends at the listener that was last when it began.
  class Listeners {
    constructor() {
      this.first = null;
      this.last = null;
      this.order = 0;
      this.count = 0;
    }

    add(listener) {
      this.order += 1;
      listener.order = this.order;
      if (this.last === null) this.first = listener;
      else this.last.next = listener;
      this.last = listener;
      this.count += 1;
      if (listener.capture) this.capturing += 1;
      if (this.index !== null) this.put(listener);
      else if (this.count >= INDEXED_FROM) this.makeIndex();
    }

    remove(listener) {
      if (listener.removed) return;
      listener.removed = true;
      this.count -= 1;
      if (listener.capture) this.capturing -= 1;
      this.removed += 1;
      if (this.index !== null) this.takeOut(listener);
      if (this.removed > this.count) this.sweep();
    }

    sweep() {
      let last = null;
      for (let one = this.first; one !== null; one = one.next) {
        if (one.removed) continue;
        if (last === null) this.first = one;
        else last.next = one;
        last = one;
      }
      if (last === null) this.first = null;
      else last.next = null;
      this.last = last;
      this.removed = 0;
    }

    find(type, callback, capture) {
      if (this.index !== null) {
        const indexed = this.index.get(type);
        return indexed === undefined ? undefined : (capture ? indexed.capturing : indexed.others).get(callback);
      }
      for (let one = this.first; one !== null; one = one.next) {
        const is = one.callback === callback && one.type === type && one.capture === capture;
        if (is && !one.handler && !one.removed) return one;
      }
      return undefined;
    }

    findHandler(type) {
      if (this.index !== null) return this.index.get(type)?.handler;
      for (let one = this.first; one !== null; one = one.next) {
        if (one.handler && one.type === type && !one.removed) return one;
      }
      return undefined;
    }

    makeIndex() {
      this.index = new OwnMap();
      for (let one = this.first; one !== null; one = one.next) if (!one.removed) this.put(one);
    }

    put(listener) {
      const { type, callback, capture } = listener;
      let indexed = this.index.get(type);
      if (indexed === undefined) {
        indexed = new Indexed();
        this.index.set(type, indexed);
      }
      if (listener.handler) indexed.handler = listener;
      else (capture ? indexed.capturing : indexed.others).set(callback, listener);
    }

    takeOut(listener) {
      const { type, callback, capture } = listener;
      const indexed = this.index.get(type);
      if (listener.handler) indexed.handler = undefined;
      else (capture ? indexed.capturing : indexed.others).delete(callback);
    }
  }
  setApart(Listeners);
  // What few have: so many that capture, so many that were removed and are linked still, an index.
  Object.assign(Listeners.prototype, { capturing: 0, removed: 0, index: null });

  return { Listener, Listeners };
}
