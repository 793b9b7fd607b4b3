// What object stores and indexes have in common: the requests that read.
export function source(binding) {
  const { setApart } = binding.builtIns;
  const { domException, INTERNAL, peek } = binding.internals;
  const { createCursor } = binding.cursor;
  const { isPotentialKey } = binding.key;
  const { isKeyRange, toRange } = binding.keyRange;
  const { createRecord } = binding.record;
  const { IDBRequest, place, RequestState } = binding.request;
  const { toDictionary, toEnum, toUnsignedLong } = binding.webidl;

  const DIRECTIONS = ["next", "nextunique", "prev", "prevunique"];

  class SourceState {
    constructor(transaction, handle, name) {
      this.wrapper = null;
      this.transaction = transaction;
      this.handle = handle;
      this.name = name;
      this.isDeleted = false;
      this.link = transaction.link;
      this.link.releaseWhenCollected(this, handle);
    }

    requireUsable(what) {
      if (this.isGone()) throw domException("InvalidStateError", what + ": The object store or index has been deleted.");
      this.transaction.requireActive(what);
    }

    requireWritable(what) {
      this.requireUsable(what);
      if (this.transaction.mode === "readonly") {
        throw domException("ReadOnlyError", what + ": The transaction is read-only.");
      }
    }

    request(ask, convert = undefined) {
      const request = new RequestState(this.wrapper, this.transaction, convert);
      new IDBRequest(INTERNAL, request);
      return place(request, ask);
    }

    read(what, query, nullDisallowed, engineCall) {
      this.requireUsable(what);
      const range = toRange(query, nullDisallowed);
      return this.request((number) => engineCall(number, this.handle, range));
    }

    get(query) {
      return this.read("get", query, true, this.link.engine.get);
    }

    getKey(query) {
      return this.read("getKey", query, true, this.link.engine.getKey);
    }

    count(query) {
      return this.read("count", query, false, this.link.engine.count);
    }

    // `what` is the engine's call: getAll, getAllKeys or getAllRecords.
    getAll(what, queryOrOptions, count, onlyOptions) {
      let options = { query: queryOrOptions, count, direction: "next" };
      if (onlyOptions || !(isKeyRange(queryOrOptions) || isPotentialKey(queryOrOptions))) {
        options = toGetAllOptions(queryOrOptions);
      }
      this.requireUsable(what);
      const range = toRange(options.query, false);
      const convert = what === "getAllRecords" ? toRecords : undefined;
      const limit = options.count;
      return this.request(
        (number) => this.link.engine[what](number, this.handle, range, limit, options.direction),
        convert,
      );
    }

    openCursor(what, query, direction, withValue) {
      this.requireUsable(what);
      const range = toRange(query, false);
      const request = new RequestState(this.wrapper, this.transaction);
      new IDBRequest(INTERNAL, request);
      const cursor = createCursor(this, request, direction, withValue);
      request.convert = (handle) => cursor.moved(handle);
      return place(request, (number) =>
        this.link.engine.openCursor(number, this.handle, range, direction, withValue),
      );
    }
  }
  setApart(SourceState);

  function toRecords(found) {
    for (let i = 0; i < found.length; i++) found[i] = createRecord(found[i][0], found[i][1], found[i][2]);
    return found;
  }

  // IDBGetAllOptions; members in WebIDL's order.
  function toGetAllOptions(value) {
    const { count, direction, query } = toDictionary(value, "IDBGetAllOptions");
    return {
      count: count === undefined ? undefined : toUnsignedLong(count, "count"),
      direction: direction === undefined ? "next" : toEnum(direction, DIRECTIONS, "IDBCursorDirection"),
      query,
    };
  }

  function toCount(value) {
    return value === undefined ? undefined : toUnsignedLong(value, "count");
  }

  function toDirection(value) {
    return toEnum(value, DIRECTIONS, "IDBCursorDirection");
  }

  function isSource(object) {
    return peek(object) instanceof SourceState;
  }

  return { DIRECTIONS, SourceState, toCount, toDirection, isSource };
}
