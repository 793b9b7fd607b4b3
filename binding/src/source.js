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

    // A request by a function of the engine's, which gets what follows.
    request(call, a, b, c) {
      const request = new RequestState(this.wrapper, this.transaction);
      new IDBRequest(INTERNAL, request);
      return place(request, call, this.handle, a, b, c);
    }

    read(what, query, nullDisallowed, call) {
      this.requireUsable(what);
      return this.request(call, toRange(query, nullDisallowed));
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
      const request = new RequestState(this.wrapper, this.transaction);
      new IDBRequest(INTERNAL, request);
      if (what === "getAllRecords") request.convert = toRecords;
      return place(request, this.link.engine[what], this.handle, range, options.count, options.direction);
    }

    openCursor(what, query, direction, withValue) {
      this.requireUsable(what);
      const range = toRange(query, false);
      const request = new RequestState(this.wrapper, this.transaction);
      new IDBRequest(INTERNAL, request);
      const cursor = createCursor(this, request, direction, withValue);
      request.convert = (handle) => cursor.moved(handle);
      return place(request, this.link.engine.openCursor, this.handle, range, direction, withValue);
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
