// IDBKeyRange (specification, 4.7).
export function keyRange(binding) {
  const { setApart } = binding.builtIns;
  const { checkConstructor, domException, exposeInterface, INTERNAL, peek, requireArguments, stamp, stateOf } = binding.internals;
  const { host } = binding;
  const { toKey } = binding.key;

  // A range as the engine takes it: bounds (undefined for none) and these bits.
  const LOWER_OPEN = 1;
  const UPPER_OPEN = 2;
  // One key: the lower bound.
  const ONLY = 4;

  class KeyRangeState {
    constructor(lower, upper, flags) {
      this.lower = lower;
      this.upper = upper;
      this.flags = flags;
      // Bounds as values, made when asked for, the same object each time.
      this.lowerValue = undefined;
      this.upperValue = undefined;
    }
  }
  setApart(KeyRangeState);
  // A range of another realm is one here, too.
  KeyRangeState.prototype.isKeyRange = true;

  const ALL = new KeyRangeState(undefined, undefined, 0);

  function create(lower, upper, flags) {
    return new IDBKeyRange(INTERNAL, new KeyRangeState(lower, upper, flags));
  }

  class IDBKeyRange {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBKeyRange");
      stamp(this, state);
    }
    get lower() {
      const state = stateOf(this, KeyRangeState);
      if (state.lower === undefined) return undefined;
      return (state.lowerValue ??= host.keyToValue(state.lower));
    }
    get upper() {
      const state = stateOf(this, KeyRangeState);
      const upper = state.flags & ONLY ? state.lower : state.upper;
      if (upper === undefined) return undefined;
      return (state.upperValue ??= host.keyToValue(upper));
    }
    get lowerOpen() {
      const { lower, flags } = stateOf(this, KeyRangeState);
      return lower === undefined || (flags & LOWER_OPEN) !== 0;
    }
    get upperOpen() {
      const { upper, flags } = stateOf(this, KeyRangeState);
      return (flags & ONLY) === 0 && (upper === undefined || (flags & UPPER_OPEN) !== 0);
    }
    includes(key) {
      const { lower, upper, flags } = stateOf(this, KeyRangeState);
      requireArguments(arguments.length, 1, "includes");
      const given = toKey(key);
      if (lower !== undefined) {
        const order = host.compare(given, lower);
        if (flags & ONLY) return order === 0;
        if (order < 0 || (order === 0 && flags & LOWER_OPEN)) return false;
      }
      if (upper === undefined) return true;
      const order = host.compare(given, upper);
      return order < 0 || (order === 0 && (flags & UPPER_OPEN) === 0);
    }
    static only(value) {
      requireArguments(arguments.length, 1, "only");
      return create(toKey(value), undefined, ONLY);
    }
    static lowerBound(lower, open = false) {
      requireArguments(arguments.length, 1, "lowerBound");
      return create(toKey(lower), undefined, open ? LOWER_OPEN : 0);
    }
    static upperBound(upper, open = false) {
      requireArguments(arguments.length, 1, "upperBound");
      return create(undefined, toKey(upper), open ? UPPER_OPEN : 0);
    }
    static bound(lower, upper, lowerOpen = false, upperOpen = false) {
      requireArguments(arguments.length, 2, "bound");
      const from = toKey(lower);
      const to = toKey(upper);
      const order = host.compare(from, to);
      if (order > 0) throw domException("DataError", "The lower key is greater than the upper key.");
      if (order === 0 && (lowerOpen || upperOpen)) {
        throw domException("DataError", "The lower key and upper key are equal and one of the bounds is open.");
      }
      return create(from, to, (lowerOpen ? LOWER_OPEN : 0) | (upperOpen ? UPPER_OPEN : 0));
    }
  }
  exposeInterface(IDBKeyRange, "IDBKeyRange");

  function isKeyRange(value) {
    return peek(value)?.isKeyRange === true;
  }

  // "Convert a value to a key range".
  function toRange(value, nullDisallowed) {
    const state = peek(value);
    if (state?.isKeyRange === true) return state;
    if (value === undefined || value === null) {
      if (nullDisallowed) throw domException("DataError", "No key or key range specified.");
      return ALL;
    }
    return { lower: toKey(value), upper: undefined, flags: ONLY };
  }

  return { LOWER_OPEN, UPPER_OPEN, ONLY, IDBKeyRange, isKeyRange, toRange };
}
