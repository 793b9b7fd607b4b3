// DOMStringList (HTML, 2.6.5). Its indices are own properties that cannot be written.
export function stringList(binding) {
  const { defineProperty, includes, realm, setApart } = binding.builtIns;
  const { checkConstructor, exposeInterface, INTERNAL, requireArguments, stamp, stateOf } = binding.internals;
  const { toDOMString } = binding.webidl;

  class StringListState {
    constructor(strings) {
      this.strings = strings;
    }
  }
  setApart(StringListState);

  class DOMStringList {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "DOMStringList");
      stamp(this, state);
      for (let i = 0; i < state.strings.length; i++) {
        const value = state.strings[i];
        defineProperty(this, i, { __proto__: null, value, writable: false, enumerable: true, configurable: true });
      }
    }
    get length() {
      return stateOf(this, StringListState).strings.length;
    }
    item(index) {
      const { strings } = stateOf(this, StringListState);
      requireArguments(arguments.length, 1, "item");
      return strings[index >>> 0] ?? null;
    }
    contains(string) {
      const { strings } = stateOf(this, StringListState);
      requireArguments(arguments.length, 1, "contains");
      return includes(strings, toDOMString(string));
    }
  }
  exposeInterface(DOMStringList, "DOMStringList");
  Object.defineProperty(DOMStringList.prototype, Symbol.iterator, {
    value: realm.Array.prototype[Symbol.iterator],
    writable: true,
    enumerable: false,
    configurable: true,
  });

  // The strings are in the engine's order: by code unit.
  function createStringList(strings) {
    return new DOMStringList(INTERNAL, new StringListState(strings));
  }

  return { DOMStringList, createStringList };
}
