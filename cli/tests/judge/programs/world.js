// What programs are made of. Every step says into a log what came of it, exceptions' names among it, so that a program goes on
// whatever happens and any step can be left out of it.
//
// There are many logs, one for each chain of events whose order the specification fixes: each transaction has one, each database's
// connection queue (opened, blocked, versionchange), and each object store one of the writers' order. Between logs nothing is compared.
'use strict';

function indexText(index) {
  return `${index.name} ${show(index.keyPath)} ${index.unique} ${index.multiEntry}`;
}

function storeText(store) {
  const indexes = Array.from(store.indexNames, (name) => indexText(store.index(name)));
  return `${store.name} ${show(store.keyPath)} ${store.autoIncrement} [${indexes.join('; ')}]`;
}

class World {
  constructor(prefix) {
    this.prefix = String(prefix);
    this.logs = {};
    this.progress = 0;
    this.chains = new Map();
    this.chainOf = new WeakMap();
    this.numbers = new WeakMap();
    this.connections = new Map();
    this.all = [];
    this.pending = new Map();
    this.looks = new Log(this, 'looks');
  }

  name(local) {
    return `${this.prefix}:${local}`;
  }

  localName(name) {
    return name.slice(this.prefix.length + 1);
  }

  // Something that a phase waits for; the function says that it has come.
  expect(what) {
    const key = {};
    this.pending.set(key, what);
    return () => {
      this.pending.delete(key);
      if (this.pending.size === 0 && this.rested) this.rested();
    };
  }

  // Runs steps, and waits until everything that they began has ended.
  async phase(body) {
    const done = this.expect('the phase itself');
    const rest = new Promise((resolve) => (this.rested = resolve));
    this.looks.attempt('phase', body);
    done();
    await rest;
  }

  task() {
    return new Promise((resolve) => setTimeout(resolve));
  }

  look(call) {
    const value = this.looks.attempt('look', () => show(call()));
    if (value !== undefined) this.looks.say(value);
  }

  databases() {
    const done = this.expect('databases');
    indexedDB.databases().then((all) => {
      const own = all.filter(({ name }) => name.startsWith(`${this.prefix}:`)).map((info) => `${this.localName(info.name)} ${info.version}`);
      this.looks.say(`databases ${own.sort()}`);
      done();
    });
  }

  // ---- connections ----

  open(label, name, version, upgrade, policy) {
    const queue = new Log(this, `queue of ${name}`);
    const request = queue.attempt(`${label} open`, () => indexedDB.open(this.name(name), version));
    if (request) this.course(queue, label, name, request, (event) => this.upgrade(label, request, event, upgrade, policy));
  }

  remove(label, name) {
    const queue = new Log(this, `queue of ${name}`);
    this.course(queue, label, name, indexedDB.deleteDatabase(this.name(name)));
  }

  course(queue, label, name, request, upgrade) {
    const done = this.expect(`${label} of ${name}`);
    const versions = (event) => `${event.type} ${event.oldVersion} ${event.newVersion} ${event.constructor.name}`;
    request.onblocked = (event) => {
      queue.say(`${label} ${versions(event)}`);
      for (const connection of this.all) if (connection.name === name) connection.makeWay();
    };
    request.onupgradeneeded = (event) => {
      queue.say(`${label} ${versions(event)} ${show(request.result)} ${request.transaction.mode}`);
      upgrade(event);
    };
    request.onsuccess = (event) => {
      queue.say(`${label} ${versions(event)} ${show(request.result)} ${request.result?.version} ${request.transaction}`);
      if (request.result) this.opened(queue, label, name, request.result);
      done();
    };
    request.onerror = (event) => {
      queue.say(`${label} ${versions(event)} ${nameOf(request.error)} ${request.result} ${request.transaction}`);
      // What fails in another way than by script is for the log only.
      event.preventDefault();
      done();
    };
  }

  upgrade(label, request, event, body, policy) {
    const chain = new Chain(this, `upgrade ${label}`, request.transaction);
    this.policies ??= new Map();
    this.policies.set(label, policy);
    chain.during(event, () => body(chain));
  }

  opened(queue, label, name, database) {
    const policy = this.policies?.get(label) ?? 'close';
    const connection = { name, database };
    connection.makeWay = () => {
      if (policy === 'late') setTimeout(() => database.close());
      else database.close();
    };
    database.onversionchange = (event) => {
      queue.say(`${label} hears ${event.type} ${event.oldVersion} ${event.newVersion} ${event.constructor.name}`);
      if (policy === 'close') database.close();
    };
    database.onclose = () => queue.say(`${label} hears close`);
    this.connections.set(label, connection);
    this.all.push(connection);
  }

  close(label) {
    this.connections.get(label)?.database.close();
  }

  begin(label, connectionLabel, stores, mode, options, body) {
    const connection = this.connections.get(connectionLabel);
    if (!connection) return;
    const transaction = this.looks.attempt(label, () => connection.database.transaction(stores, mode, options));
    if (!transaction) return;
    const chain = new Chain(this, label, transaction);
    chain.say(`${transaction.mode} ${transaction.durability} ${Array.from(transaction.objectStoreNames)} ${transaction.db === connection.database}`);
    chain.attempt('its creation', () => body(chain));
  }

  // What can be asked of a transaction that has ended.
  stale(label) {
    const chain = this.chains.get(label);
    if (!chain) return;
    const { transaction } = chain;
    const log = new Log(this, `${label} stale`);
    log.say(`${transaction.error === null ? null : nameOf(transaction.error)} ${Array.from(transaction.objectStoreNames)}`);
    for (const method of ['abort', 'commit']) log.attempt(method, () => transaction[method]());
    log.attempt('objectStore', () => transaction.objectStore('s'));
    for (const [path, source] of chain.held) {
      log.say(`${path} ${source.name} ${show(source.keyPath)} ${source.indexNames === undefined ? '' : Array.from(source.indexNames)}`);
      for (const method of ['get', 'count', 'openCursor', 'delete', 'createIndex', 'deleteIndex', 'put', 'index']) {
        if (source[method]) log.attempt(`${path}.${method}`, () => source[method]('i', 'x'));
      }
    }
    for (const cursor of chain.cursors) {
      log.say(show(cursor.key));
      for (const method of ['continue', 'delete']) log.attempt(`cursor ${method}`, () => cursor[method]());
      log.attempt('cursor advance', () => cursor.advance(1));
      log.attempt('cursor update', () => cursor.update(1));
    }
  }

  // ---- the end ----

  // All that the databases hold, as requests find it.
  async readBack() {
    for (const { database } of this.all) database.close();
    const infos = await indexedDB.databases();
    const names = infos.map(({ name }) => name).filter((name) => name.startsWith(`${this.prefix}:`));
    for (const name of names.sort()) {
      const log = new Log(this, `content of ${this.localName(name)}`);
      const database = await result(indexedDB.open(name));
      log.say(`version ${database.version}`);
      for (const store of database.objectStoreNames) await this.readStore(log, database.transaction(store).objectStore(store));
      database.close();
    }
  }

  async readStore(log, store) {
    log.say(storeText(store));
    const [keys, values] = [await result(store.getAllKeys()), await result(store.getAll())];
    keys.forEach((key, n) => log.say(`${show(key)}: ${show(values[n])}`));
    for (const name of store.indexNames) {
      log.say(name);
      await new Promise((resolve) => {
        store.index(name).openKeyCursor().onsuccess = ({ target: { result: cursor } }) => {
          if (cursor === null) return resolve();
          log.say(`${show(cursor.key)} -> ${show(cursor.primaryKey)}`);
          cursor.continue();
        };
      });
    }
  }
}

function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// What handlers throw on purpose is heard of here.
self.addEventListener('error', (event) => {
  const chain = event.error?.thrownIn;
  if (!chain) return;
  chain.say('uncaught');
  event.preventDefault();
});

const AsyncFunction = (async () => {}).constructor;

// Resolves when nothing has been logged for so long.
async function comesToAStop(world, patienceMs) {
  for (let seen = -1; seen !== world.progress; ) {
    seen = world.progress;
    await new Promise((resolve) => (world.timer = setTimeout(resolve, patienceMs)));
  }
  world.logs.stuck = [...world.pending.values()];
}

// Runs one program, the body of an async function of `world`: all its logs.
async function run(prefix, source, patienceMs) {
  const world = new World(prefix);
  const course = async () => {
    try {
      await new AsyncFunction('world', source)(world);
      await world.readBack();
    } catch (error) {
      world.logs.failed = [`${error}\n${error?.stack}`];
    }
  };
  await Promise.race([course(), comesToAStop(world, patienceMs)]);
  clearTimeout(world.timer);
  return world.logs;
}
