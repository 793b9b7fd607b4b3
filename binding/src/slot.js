// The internal slots of platform objects. One class of slots serves all realms, so that an object of one is known in another.

class Returned {
  constructor(object) {
    return object;
  }
}

// A private field stamped onto any object: cannot be seen, forged or removed by script.
class Slot extends Returned {
  #state;
  constructor(object, state) {
    super(object);
    this.#state = state;
  }
  static of(object) {
    return #state in object ? object.#state : undefined;
  }
}

// Passed to constructors that script must not call.
export const INTERNAL = Symbol("internal");

// Gives an object its state.
export function stamp(object, state) {
  new Slot(object, state);
}

// Gives an object its state, and the state a reference to the object. The two are a cycle then, which goes only when garbage is
// collected, not with the last reference from elsewhere.
export function attach(object, state) {
  new Slot(object, state);
  state.wrapper = object;
}

// The state of a platform object; undefined for all else.
export function peek(object) {
  return object !== null && (typeof object === "object" || typeof object === "function") ? Slot.of(object) : undefined;
}
