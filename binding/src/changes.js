// Change feeds for scripts: what changed in a database, and following it (docs/format/feed.md has the feed). No interface of a browser's: a host gives scripts
// what is here under names of its own. Names of members are those of `larder feed`, and where they fit those of the observers that WICG had proposed.
export function changes(binding) {
  const { Promise, TypeError } = binding.builtIns;
  const { peek } = binding.internals;
  const { DatabaseState } = binding.database;
  const { FactoryState } = binding.factory;
  const { toRange } = binding.keyRange;
  const { toDOMString } = binding.webidl;

  const OPERATIONS = ["creation", "modification", "removal"];

  // An answer of the engine's.
  const asked = (link, ask) =>
    new Promise((resolve, reject) => {
      const number = link.expect({ answer: (error, result) => (error === undefined ? resolve(result) : reject(error)) });
      try {
        ask(number);
      } catch (error) {
        link.settle(number);
        reject(error);
      }
    });

  // Turns the feed of a database of a factory's on, or off.
  function setChangeFeed(factory, name, isOn = true) {
    const state = peek(factory);
    if (!(state instanceof FactoryState)) throw new TypeError("setChangeFeed: the first argument is an IDBFactory");
    const { link } = state;
    return asked(link, (request) => link.engine.setChangeFeed(request, toDOMString(name), !!isOn));
  }

  function list(given, what) {
    if (given === undefined) return undefined;
    const all = typeof given === "string" ? [given] : [...given].map(toDOMString);
    if (what !== undefined) {
      for (const name of all) if (!what.includes(name)) throw new TypeError(`changes: '${name}' is none of ${what.join(", ")}`);
    }
    return all;
  }

  function position(given) {
    const number = Number(given);
    if (!Number.isSafeInteger(number) || number < 0) {
      throw new RangeError(`changes: after is the number of a revision, or 0, not ${String(given)}`);
    }
    return number;
  }

  class Reading {
    constructor(link, connection, options) {
      this.link = link;
      const { after, consumer, stores, range, operationTypes, values } = options;
      if (after !== undefined && consumer !== undefined) {
        throw new TypeError("changes: a consumer has its own position: leave out after");
      }
      this.consumer = consumer === undefined ? undefined : toDOMString(consumer);
      this.handle = this.link.engine.openChanges(connection, {
        after: position(after ?? 0),
        consumer: this.consumer,
        stores: list(stores),
        range: range === undefined ? undefined : toRange(range),
        operationTypes: list(operationTypes, OPERATIONS),
        values: !!values,
      });
      link.releaseWhenCollected(this, this.handle);
      // What was handed out last, and what was acknowledged: positions.
      this.handed = 0;
      this.acknowledged = 0;
    }

    next(isLive) {
      return asked(this.link, (request) => this.link.engine.nextChanges(request, this.handle, isLive));
    }

    async acknowledge(position) {
      await asked(this.link, (request) => this.link.engine.acknowledgeChanges(request, this.handle, position));
      this.acknowledged = position;
    }

    transaction([position, committed, fromSource, ...revisions]) {
      const changes = revisions.map(([revision, operation, store, key, ...rest]) => {
        const change = { revision, operation, store, key };
        if (rest.length > 0) [change.value] = rest;
        return change;
      });
      const transaction = { position, committed, fromSource, changes };
      if (this.consumer !== undefined) transaction.acknowledge = () => this.acknowledge(position);
      return transaction;
    }

    async *transactions(isLive, signal) {
      const stop = () => this.link.engine.stopChanges(this.handle);
      signal?.throwIfAborted();
      signal?.addEventListener("abort", stop);
      try {
        for (;;) {
          const batch = await this.next(isLive);
          signal?.throwIfAborted();
          if (batch === undefined) return;
          const [end, ...all] = batch;
          // What a filter has left out is behind the last that it has not, and is acknowledged with that.
          if (all.length > 0) all.at(-1)[0] = end;
          else if (this.consumer !== undefined && this.acknowledged === this.handed) {
            await this.acknowledge(end);
            this.handed = end;
          }
          for (const parts of all) {
            [this.handed] = parts;
            yield this.transaction(parts);
            signal?.throwIfAborted();
          }
        }
      } catch (error) {
        // Waiting ends with an error of its own.
        signal?.throwIfAborted();
        throw error;
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    }
  }

  // The transactions of a database's change feed, as an async iterator: those that there are, and then those that come, unless `live` is false.
  function changesOf(database, options = {}) {
    const state = peek(database);
    if (!(state instanceof DatabaseState)) throw new TypeError("changes: the first argument is an IDBDatabase");
    const { live = true, signal } = options;
    return new Reading(state.link, state.connection, options).transactions(!!live, signal);
  }

  return { changes: changesOf, setChangeFeed };
}
