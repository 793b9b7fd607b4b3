// IDBCursor (specification, 4.8): keys only. Where a cursor stands is the engine's knowledge.
export function cursor(binding) {
  const { setApart, TypeError } = binding.builtIns;
  const { attach, checkConstructor, domException, exposeInterface, INTERNAL, requireArguments, stateOf } = binding.internals;
  const { toKey } = binding.key;
  const { IDBRequest, place, RequestState } = binding.request;
  const { toUnsignedLong } = binding.webidl;

  class CursorState {
    constructor(source, request, direction, withValue) {
      this.wrapper = null;
      // The state of an object store or index.
      this.source = source;
      this.request = request;
      this.direction = direction;
      this.withValue = withValue;
      this.transaction = source.transaction;
      this.link = source.link;
      this.handle = undefined;
      this.gotValue = false;
      // Made when asked for, and the same until it moves.
      this.cached = null;
    }

    get store() {
      return this.source.store ?? this.source;
    }

    // The engine has moved it: null at the end.
    moved(handle) {
      this.cached = null;
      if (handle === null) {
        this.gotValue = false;
        return null;
      }
      if (this.handle === undefined) this.link.releaseWhenCollected(this, handle);
      this.handle = handle;
      this.gotValue = true;
      return this.wrapper;
    }

    at(what) {
      if (this.handle === undefined) return undefined;
      this.cached ??= { __proto__: null };
      if (!(what in this.cached)) this.cached[what] = this.link.engine[what](this.handle);
      return this.cached[what];
    }

    requireUsable(what) {
      this.transaction.requireActive(what);
      if (this.source.isGone()) {
        throw domException("InvalidStateError", what + ": The cursor's source or effective object store has been deleted.");
      }
    }

    requireValue(what) {
      if (!this.gotValue) {
        throw domException("InvalidStateError", what + ": The cursor is being iterated or has iterated past its end.");
      }
    }

    move(call, a, b) {
      place(this.request, call, this.handle, a, b);
      this.gotValue = false;
    }

    advance(count) {
      if (count === 0) throw new TypeError("A count argument with value 0 (zero) was supplied, must be greater than 0.");
      this.requireUsable("advance");
      this.requireValue("advance");
      this.move(this.link.engine.advanceCursor, count);
    }

    continue(key) {
      this.requireUsable("continue");
      this.requireValue("continue");
      const given = key === undefined || key === null ? undefined : toKey(key);
      this.move(this.link.engine.continueCursor, given);
    }

    continuePrimaryKey(key, primaryKey) {
      this.requireUsable("continuePrimaryKey");
      if (this.source === this.store || (this.direction !== "next" && this.direction !== "prev")) {
        throw domException("InvalidAccessError", "continuePrimaryKey needs an index and a direction of next or prev.");
      }
      this.requireValue("continuePrimaryKey");
      const to = toKey(key);
      const primary = toKey(primaryKey);
      this.move(this.link.engine.continueCursorPrimaryKey, to, primary);
    }

    requireWritable(what) {
      this.transaction.requireActive(what);
      if (this.transaction.mode === "readonly") {
        throw domException("ReadOnlyError", what + ": The transaction is read-only.");
      }
      this.requireUsable(what);
      this.requireValue(what);
      if (!this.withValue) throw domException("InvalidStateError", what + ": The cursor is a key cursor.");
    }

    write(call, clone) {
      const request = new RequestState(this.wrapper, this.transaction);
      new IDBRequest(INTERNAL, request);
      return place(request, call, this.handle, clone);
    }

    update(value) {
      this.requireWritable("update");
      return this.write(this.link.engine.updateCursor, this.transaction.serialize(value));
    }

    delete() {
      this.requireWritable("delete");
      return this.write(this.link.engine.deleteCursor);
    }
  }
  setApart(CursorState);

  class IDBCursor {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBCursor");
      attach(this, state);
    }
    get source() {
      return stateOf(this, CursorState).source.wrapper;
    }
    get direction() {
      return stateOf(this, CursorState).direction;
    }
    get key() {
      return stateOf(this, CursorState).at("cursorKey");
    }
    get primaryKey() {
      return stateOf(this, CursorState).at("cursorPrimaryKey");
    }
    get request() {
      return stateOf(this, CursorState).request.wrapper;
    }
    advance(count) {
      const state = stateOf(this, CursorState);
      requireArguments(arguments.length, 1, "advance");
      state.advance(toUnsignedLong(count, "count"));
    }
    continue(key = undefined) {
      stateOf(this, CursorState).continue(key);
    }
    continuePrimaryKey(key, primaryKey) {
      const state = stateOf(this, CursorState);
      requireArguments(arguments.length, 2, "continuePrimaryKey");
      state.continuePrimaryKey(key, primaryKey);
    }
    update(value) {
      const state = stateOf(this, CursorState);
      requireArguments(arguments.length, 1, "update");
      return state.update(value);
    }
    delete() {
      return stateOf(this, CursorState).delete();
    }
  }
  exposeInterface(IDBCursor, "IDBCursor");

  class IDBCursorWithValue extends IDBCursor {
    constructor(token = undefined, state = undefined) {
      checkConstructor(token, "IDBCursorWithValue");
      super(token, state);
    }
    get value() {
      return stateOf(this, CursorState).at("cursorValue");
    }
  }
  exposeInterface(IDBCursorWithValue, "IDBCursorWithValue");

  function createCursor(source, request, direction, withValue) {
    const state = new CursorState(source, request, direction, withValue);
    if (withValue) new IDBCursorWithValue(INTERNAL, state);
    else new IDBCursor(INTERNAL, state);
    return state;
  }

  return { CursorState, IDBCursor, IDBCursorWithValue, createCursor };
}
