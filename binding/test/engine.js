// The least engine that the contract allows (README.md): object stores of values in memory, without indexes, ranges or cursors. What it is
// asked is written down in `calls`.

export class Engine {
  constructor() {
    this.calls = [];
    this.tasks = [];
    this.databases_ = new Map();
    this.handles = [];
    for (const name of Object.getOwnPropertyNames(Engine.prototype)) {
      if (name === "constructor" || name === "run") continue;
      const call = this[name].bind(this);
      this[name] = (...args) => {
        this.calls.push([name, ...args]);
        return call(...args);
      };
    }
  }

  // Answers everything, each answer as a task, until nothing is left.
  run(link, checkpoint) {
    while (this.tasks.length > 0) {
      const [call, ...args] = this.tasks.shift();
      link[call](...args);
      checkpoint();
    }
  }

  handle(object) {
    return this.handles.push(object) - 1;
  }
  later(...task) {
    this.tasks.push(task);
  }

  openDatabase(watch, name, version = 1) {
    const old = this.databases_.get(name)?.version ?? 0;
    const database = this.databases_.get(name) ?? { stores: new Map() };
    this.databases_.set(name, database);
    database.version = version;
    const connection = this.handle(database);
    if (old === version) return this.later("notify", watch, "opened", undefined, connection, name, version);
    const done = () => this.later("notify", watch, "opened", undefined, connection, name, version);
    const transaction = this.handle({ database, done });
    return this.later("notify", watch, "upgrade", connection, transaction, name, old, version);
  }
  databases(request) {
    this.later("complete", request, undefined, [...this.databases_].map(([name, { version }]) => [name, version]));
  }
  watchConnection() {}
  closeConnection() {}
  objectStoreNames(connection) {
    return [...this.handles[connection].stores.keys()].sort();
  }
  beginTransaction(connection) {
    return this.handle({ database: this.handles[connection], done() {} });
  }
  watchTransaction(transaction, request) {
    this.handles[transaction].request = request;
  }
  commit(transaction) {
    const { request, done } = this.handles[transaction];
    this.later("complete", request);
    done();
  }
  abort(transaction) {
    this.later("complete", this.handles[transaction].request, new DOMException("aborted", "AbortError"));
  }
  objectStore(transaction, name) {
    return [this.handle(this.handles[transaction].database.stores.get(name)), null, false];
  }
  createObjectStore(transaction, name) {
    const records = new Map();
    this.handles[transaction].database.stores.set(name, records);
    return this.handle(records);
  }
  indexNames() {
    return [];
  }
  put(request, store, clone, key) {
    this.handles[store].set(key, clone);
    this.later("complete", request, undefined, key);
  }
  get(request, store, range) {
    this.later("complete", request, undefined, this.handles[store].get(range.lower));
  }
  release() {}
}
