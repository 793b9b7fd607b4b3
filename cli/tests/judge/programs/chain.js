// Logs, and a transaction and whatever is asked of it with a log of its own. See world.js.
'use strict';

class Log {
  constructor(world, label) {
    this.world = world;
    this.label = label;
    if (!world.logs[label]) world.logs[label] = [];
    this.lines = world.logs[label];
  }

  say(text) {
    this.world.progress++;
    this.lines.push(text);
  }

  // What a call gives; `undefined` if it throws.
  attempt(what, call) {
    try {
      return call();
    } catch (error) {
      this.say(`${what} throws ${nameOf(error)}`);
      return undefined;
    }
  }
}

// A transaction and whatever is asked of it.
class Chain extends Log {
  constructor(world, label, transaction) {
    super(world, label);
    this.transaction = transaction;
    this.requests = 0;
    this.laters = 0;
    this.event = null;
    this.cursors = [];
    this.isCommitting = false;
    this.isAborted = false;
    // The events in which it was aborted by script, and in which a handler threw.
    this.abortedIn = undefined;
    this.thrownIn = undefined;
    this.hasBlob = false;
    this.hasNewIndex = false;
    // Object stores and indexes that were got, by path: for calls after the end.
    this.held = new Map();
    world.chains.set(label, this);
    world.chainOf.set(transaction, this);
    this.finished = world.expect(`${label} ends`);
    // The first of all that could stop the event.
    transaction.addEventListener('complete', () => this.ended('complete'), true);
    transaction.addEventListener('abort', () => this.ended('abort'), true);
  }

  ended(how) {
    const { transaction } = this;
    this.say(`${how}, ${transaction.error === null ? null : nameOf(transaction.error)}`);
    if (how === 'complete' && transaction.mode === 'readwrite') this.order('complete');
    // Known difference: where a new index was not unique, Chromium takes the schema back only after the abort event.
    const isLate = this.hasNewIndex && transaction.error?.name === 'ConstraintError';
    if (transaction.mode === 'versionchange' && !isLate) this.describeHeld();
    this.finished();
  }

  // A writer's place among the writers of its object stores.
  order(what) {
    const { transaction } = this;
    for (const name of transaction.objectStoreNames) {
      new Log(this.world, `writers of ${this.world.localName(transaction.db.name)}/${name}`).say(`${this.label} ${what}`);
    }
  }

  source(path) {
    if (this.isCommitting) return this.heldSource(path);
    const [name, index] = path.split('.');
    const store = this.transaction.objectStore(name);
    if (this.transaction.objectStore(name) !== store) this.say(`${name} is another object`);
    const source = index === undefined ? store : store.index(index);
    this.held.set(path, source);
    return source;
  }

  // Known difference: between commit() and the end, Chromium's objectStore() and index() throw InvalidStateError; the specification's
  // only when the transaction has finished.
  heldSource(path) {
    const held = this.held.get(path);
    if (held === undefined) throw new RangeError('it is not held');
    return held;
  }

  during(event, body) {
    const outer = this.event;
    this.event = event;
    try {
      body();
    } finally {
      this.event = outer;
    }
  }

  // ---- requests ----

  ask(path, method, args, handlers = {}) {
    this.place(`${path}.${method}`, () => this.source(path)[method](...this.given(args)), handlers);
  }

  place(what, call, handlers) {
    const number = ++this.requests;
    const request = this.attempt(`${number} ${what}`, () => this.withoutOrder(call));
    if (request === undefined) return undefined;
    if (request.readyState !== 'pending') this.say(`${number} is ${request.readyState}`);
    this.mustThrow(`${number} result`, () => request.result);
    this.mustThrow(`${number} error`, () => request.error);
    this.world.numbers.set(request, number);
    request.onsuccess = (event) => {
      if (this.mayHaveOwnAnswer()) return;
      if (this.transaction.mode === 'readwrite' && !this.began) this.order('begins');
      this.began = true;
      this.say(`${number} ${what} ${this.told(event)} ${show(request.result)}`);
      this.during(event, () => handlers.success?.(request.result));
    };
    request.onerror = (event) => {
      if (this.mayHaveOwnAnswer()) return;
      this.say(`${number} ${what} ${this.told(event)} ${nameOf(request.error)}, ${request.result}`);
      this.during(event, () => handlers.error?.());
    };
    return request;
  }

  given(args) {
    const given = args();
    this.hasBlob ||= given[0] instanceof Blob || given[0]?.v instanceof Blob;
    return given;
  }

  // Known difference: requests behind one with a blob sometimes get their own answer in Chromium though their transaction has
  // been aborted; by the specification they were aborted with it.
  mayHaveOwnAnswer() {
    return this.hasBlob && (this.isAborted || this.transaction.error !== null);
  }

  // Known difference: Chromium clones a value before it looks whether a key may, or must, be given, and which; the specification
  // says after. So it is not compared which exception comes first, nor that getters ran before one.
  withoutOrder(call) {
    this.isOdd = false;
    this.heard = [];
    try {
      const request = call();
      this.heard.forEach((line) => this.say(line));
      return request;
    } catch (error) {
      if (this.isOdd && ['DataError', 'DataCloneError', 'Error RangeError'].includes(nameOf(error))) {
        throw new RangeError('what cloning throws, or DataError');
      }
      throw error;
    }
  }

  // A value that cannot be cloned.
  odd(value) {
    this.isOdd = true;
    return value;
  }

  mustThrow(what, call) {
    try {
      call();
      this.say(`${what} is there`);
    } catch (error) {
      if (nameOf(error) !== 'InvalidStateError') throw error;
    }
  }

  told(event) {
    const { target, currentTarget, type, bubbles, cancelable, eventPhase, isTrusted } = event;
    const flags = [bubbles && 'bubbles', cancelable && 'cancelable', !isTrusted && 'not trusted'].filter(Boolean);
    const odd = target.readyState !== 'done' || target.transaction !== this.transaction ? ' of another state' : '';
    return `${type} ${flags.join(' ')} at ${eventPhase}${target === currentTarget ? '' : ' elsewhere'}${odd}`;
  }

  // A cursor; `moves` are called one after the other, each with it, when it has come somewhere.
  cursor(path, method, args, moves, handlers = {}) {
    const what = `${path}.${method}`;
    let source, last = null;
    const request = this.place(what, () => (source = this.source(path))[method](...args()), {
      ...handlers,
      success: (cursor) => {
        if (cursor === null) return;
        if (last === null) this.say(`${cursor.direction} ${cursor.source === source} ${cursor.request === request}`);
        else if (last !== cursor) this.say('another cursor');
        last = cursor;
        if (!this.cursors.includes(cursor)) this.cursors.push(cursor);
        const move = moves.shift();
        if (move) move(cursor);
        else if (handlers.onward) this.move(cursor, 'continue');
      },
    });
  }

  move(cursor, method, args = () => []) {
    this.attempt(`cursor ${method}`, () => cursor[method](...args()));
  }

  change(cursor, method, args, handlers = {}) {
    this.place(`cursor ${method}`, () => cursor[method](...this.given(args)), handlers);
  }

  // ---- the transaction ----

  abort() {
    if (this.thrownIn === this.event) return;
    this.attempt('abort', () => {
      this.transaction.abort();
      this.isAborted = true;
      this.abortedIn = this.event;
    });
  }

  commit() {
    // Known difference: the page of a Chromium 156 dies where an upgrade commits before its new indexes are filled.
    if (this.hasNewIndex) return;
    this.attempt('commit', () => {
      this.transaction.commit();
      this.isCommitting = true;
    });
  }

  throw() {
    // Known difference: where a handler throws while the transaction commits, Chromium's has an error afterwards, though it
    // completes; the specification's has none.
    if (this.isCommitting) return;
    // Known difference: where it is aborted while an event is dispatched and a handler of that event throws, Chromium's has
    // AbortError as its error afterwards; the specification's has none, as it is not active any more.
    if (this.abortedIn === this.event) return;
    this.thrownIn = this.event;
    this.say('throws');
    throw { thrownIn: this };
  }

  prevent() {
    this.event?.preventDefault();
  }

  stop(immediately = false) {
    if (immediately) this.event?.stopImmediatePropagation();
    else this.event?.stopPropagation();
  }

  // Listens at the transaction or its database.
  listen(where, type, capture, body = () => {}) {
    const target = where === 'transaction' ? this.transaction : this.transaction.db;
    target.addEventListener(type, (event) => {
      const transaction = event.target.transaction ?? event.target;
      const chain = this.world.chainOf.get(transaction);
      // An open request's error comes after its transaction.
      if (!chain || (event.target !== transaction && chain.mayHaveOwnAnswer())) return;
      const number = this.world.numbers.get(event.target) ?? '';
      chain.say(`${where} hears ${type} ${number} at ${event.eventPhase} ${event.currentTarget === target} ${event.defaultPrevented}`);
      if (chain === this) this.during(event, body);
    }, capture);
  }

  // In a microtask, or one that comes some microtasks later.
  async soon(body, hops = 1) {
    const { event } = this;
    for (let n = 0; n < hops; n++) await null;
    this.say('a microtask');
    this.during(event, () => this.attempt('a microtask', body));
  }

  // In a task, when the transaction is not active.
  later(path, method, args) {
    const log = new Log(this.world, `${this.label} later ${++this.laters}`);
    const source = this.attempt('later', () => this.source(path));
    const done = this.world.expect('a task');
    setTimeout(() => {
      if (source) log.attempt(method, () => (source[method](...args()), log.say('no exception')));
      done();
    });
  }

  // Of another transaction, or in a handler of another.
  intrude(label, path, method, args) {
    const source = this.world.chains.get(label)?.held.get(path);
    if (source) this.attempt(`${label} ${path}.${method}`, () => (source[method](...args()), this.say('no exception')));
  }

  // A value whose cloning asks for more.
  meddling(value) {
    const chain = this;
    return {
      ...value,
      get meddling() {
        try {
          chain.held.values().next().value?.count();
          chain.heard.push('a getter runs');
        } catch (error) {
          chain.heard.push(`a getter runs, ${nameOf(error)}`);
        }
        return 'got';
      },
    };
  }

  // ---- schema ----

  createStore(name, options) {
    const store = this.attempt(`create ${name}`, () => this.transaction.db.createObjectStore(name, options));
    if (store) this.held.set(name, store);
  }

  deleteStore(name) {
    // Known difference: Chromium fills an index of a store that is deleted behind it not at all, also for requests in between.
    if (this.hasNewIndex) return;
    this.attempt(`delete ${name}`, () => this.transaction.db.deleteObjectStore(name));
  }

  createIndex(store, name, keyPath, options) {
    this.attempt(`create ${store}.${name}`, () => {
      this.held.set(`${store}.${name}`, this.source(store).createIndex(name, keyPath, options));
      this.hasNewIndex = true;
    });
  }

  deleteIndex(store, name) {
    this.attempt(`delete ${store}.${name}`, () => this.source(store).deleteIndex(name));
  }

  rename(path, name) {
    this.attempt(`rename ${path}`, () => {
      this.source(path).name = name;
    });
  }

  describe() {
    const { transaction } = this;
    this.say(`${transaction.mode} ${transaction.durability} ${transaction.db.version} of ${Array.from(transaction.objectStoreNames)}`);
    if (this.isCommitting) return;
    for (const name of transaction.objectStoreNames) this.attempt(name, () => this.say(storeText(transaction.objectStore(name))));
  }

  // Handles as they are at the end, also of what was deleted or never came to be.
  describeHeld() {
    this.say(`${this.transaction.db.version} of ${Array.from(this.transaction.db.objectStoreNames)}`);
    for (const [path, source] of this.held) {
      this.say(`${path} is ${source.name} ${source.indexNames === undefined ? '' : Array.from(source.indexNames)}`);
    }
  }

  // ---- other transactions ----

  begin(label, connection, stores, mode, options, body) {
    this.world.begin(label, connection, stores, mode, options, body);
  }
}
