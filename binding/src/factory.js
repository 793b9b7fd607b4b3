// IDBFactory (specification, 4.3).
export function factory(binding) {
  const { defineProperty, newObject, Promise, setApart, TypeError } = binding.builtIns;
  const { checkConstructor, exposeInterface, INTERNAL, requireArguments, stamp, stateOf } = binding.internals;
  const { host } = binding;
  const { toKey } = binding.key;
  const { createOpenRequest } = binding.openRequest;
  const { toDOMString, toUnsignedLongLong } = binding.webidl;

  class FactoryState {
    constructor(link) {
      this.link = link;
    }
  }

  // IDBDatabaseInfo.
  function infoOf(name, version) {
    const info = newObject();
    defineProperty(info, "name", { __proto__: null, value: name, writable: true, enumerable: true, configurable: true });
    return defineProperty(info, "version", { __proto__: null, value: version, writable: true, enumerable: true, configurable: true });
  }

  function toDatabases(found) {
    for (let i = 0; i < found.length; i++) found[i] = infoOf(found[i][0], found[i][1]);
    return found;
  }
  setApart(FactoryState);

  class IDBFactory {
    constructor(token = undefined, link = undefined) {
      checkConstructor(token, "IDBFactory");
      stamp(this, new FactoryState(link));
    }
    open(name, version = undefined) {
      const { link } = stateOf(this, FactoryState);
      requireArguments(arguments.length, 1, "open");
      const string = toDOMString(name);
      const number = version === undefined ? undefined : toUnsignedLongLong(version, "The version");
      if (number === 0) throw new TypeError("The version provided must not be 0.");
      return createOpenRequest(link, (request) => link.engine.openDatabase(request, string, number));
    }
    deleteDatabase(name) {
      const { link } = stateOf(this, FactoryState);
      requireArguments(arguments.length, 1, "deleteDatabase");
      const string = toDOMString(name);
      return createOpenRequest(link, (request) => link.engine.deleteDatabase(request, string));
    }
    databases() {
      return new Promise((resolve, reject) => {
        let link;
        try {
          ({ link } = stateOf(this, FactoryState));
        } catch (error) {
          // An operation that gives a promise throws nothing.
          reject(error);
          return;
        }
        const answer = (error, found) => (error === undefined ? resolve(toDatabases(found)) : reject(error));
        link.engine.databases(link.expect({ answer }));
      });
    }
    cmp(first, second) {
      stateOf(this, FactoryState);
      requireArguments(arguments.length, 2, "cmp");
      const a = toKey(first);
      const b = toKey(second);
      return host.compare(a, b);
    }
  }
  exposeInterface(IDBFactory, "IDBFactory");

  function createFactory(link) {
    return new IDBFactory(INTERNAL, link);
  }

  return { FactoryState, IDBFactory, createFactory };
}
