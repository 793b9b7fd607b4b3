// IDBVersionChangeEvent (specification, 4.2).
export function versionChangeEvent(binding) {
  const { asUintN, BigInt, isFinite, MAX_SAFE_INTEGER, Number, trunc } = binding.builtIns;
  const { exposeInterface, INTERNAL, requireArguments, stateOf } = binding.internals;
  const { EventState, extended } = binding.event;
  const { Base, first, second, adopt, inherit } = extended;
  const { toDictionary, toDOMString } = binding.webidl;

  // States of these events, for the brand check.
  class VersionChangeState {
    static [Symbol.hasInstance](state) {
      return state instanceof EventState && state.versions !== null;
    }
  }

  // Not [EnforceRange] here: modulo 2^64, as ToBigUint64 of the integer part.
  function toVersion(value) {
    const number = trunc(+value);
    if (!isFinite(number)) return 0;
    return number >= 0 && number <= MAX_SAFE_INTEGER ? number + 0 : Number(asUintN(64, BigInt(number)));
  }

  class IDBVersionChangeEvent extends Base {
    constructor(type, init = undefined) {
      if (type === INTERNAL) {
        super(first(init), second(init));
        adopt(this, init);
        return;
      }
      requireArguments(arguments.length, 1, "IDBVersionChangeEvent");
      const name = toDOMString(type);
      const options = toDictionary(init, "IDBVersionChangeEventInit");
      const bubbles = !!options.bubbles;
      const cancelable = !!options.cancelable;
      const composed = !!options.composed;
      const newVersion = options.newVersion === undefined || options.newVersion === null ? null : toVersion(options.newVersion);
      const oldVersion = options.oldVersion === undefined ? 0 : toVersion(options.oldVersion);
      const state = new EventState(name, bubbles, cancelable, { __proto__: null, oldVersion, newVersion });
      state.composed = composed;
      super(first(state), second(state));
      adopt(this, state);
    }
    get oldVersion() {
      return stateOf(this, VersionChangeState).versions.oldVersion;
    }
    get newVersion() {
      return stateOf(this, VersionChangeState).versions.newVersion;
    }
  }
  exposeInterface(inherit(IDBVersionChangeEvent), "IDBVersionChangeEvent");

  function createVersionChangeEvent(type, oldVersion, newVersion) {
    const state = new EventState(type, false, false, { __proto__: null, oldVersion, newVersion });
    state.trusted = true;
    return new IDBVersionChangeEvent(INTERNAL, state);
  }

  return { IDBVersionChangeEvent, createVersionChangeEvent };
}
