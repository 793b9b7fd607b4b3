// Answers of the native half, as the binding takes them (binding/README.md).
import { ANSWER, CALL } from "./calls.js";
import { OWN } from "./engine.js";
import { readValue } from "./value.js";
import { AGAIN } from "./wire.js";

// Which parts of records a list has.
const VALUES = 0;
const PRIMARY_KEYS = 1;

export function deliver(loop, kind) {
  const { wire } = loop;
  const { words } = wire;
  const { engine } = loop.seats[words[1]];
  const number = words[2];
  // Of the others more may come.
  if (kind < ANSWER.BLOCKED || kind === ANSWER.CHANGES || kind === ANSWER.OPENED || kind === ANSWER.DELETED || kind === ANSWER.OPEN_FAILED) (engine ?? loop).answered();
  // What comes of an engine that has been collected: that it is closed, and what no script can see.
  if (engine === undefined) return;
  if (kind >= ANSWER.BLOCKED && kind !== ANSWER.CHANGES) {
    notify(engine, wire, kind, number);
    return;
  }
  let error;
  let result;
  try {
    result = RESULTS[kind](engine, wire);
  } catch (thrown) {
    // It has failed, or its value could not be made.
    error = asException(engine.realm, thrown);
  }
  if (number < OWN) engine.link.complete(number, error, result);
  else engine.settle(number, error);
}

function exception({ DOMException }, wire) {
  const name = wire.string();
  return new DOMException(wire.string(), name);
}

// What the codec says of bytes that are no value, as a page has it.
function asException({ DOMException }, thrown) {
  return thrown instanceof DOMException ? thrown : new DOMException(String(thrown?.message ?? thrown), "UnknownError");
}

// What makes the result of an answer, by its kind.
const RESULTS = [];
RESULTS[ANSWER.NOTHING] = () => undefined;
RESULTS[ANSWER.FAILED] = ({ realm }, wire) => {
  throw exception(realm, wire);
};
RESULTS[ANSWER.KEY] = ({ realm }, wire) => wire.key(realm);
RESULTS[ANSWER.VALUE] = readValue;
RESULTS[ANSWER.NUMBER] = (engine, wire) => wire.number();
RESULTS[ANSWER.LIST] = list;
RESULTS[ANSWER.CURSOR] = (engine, { words }) => (words[3] === 0 ? null : words[4]);
RESULTS[ANSWER.DATABASES] = databases;
RESULTS[ANSWER.CHANGES] = batch;

function databases({ realm }, wire) {
  const found = realm.newArray();
  for (let left = wire.u32(); left > 0; left--) {
    const version = wire.number();
    realm.append(found, [wire.string(), version]);
  }
  return found;
}

// All records of a list, of which the memory has some at a time.
function list(engine, wire) {
  const { realm } = engine;
  const count = wire.words[3];
  const parts = wire.words[4];
  const all = realm.newArray();
  let failed;
  for (let left = count; left > 0; ) {
    wire.begin(CALL.MORE);
    const some = wire.ask(realm.fail);
    if (some === AGAIN) continue;
    left -= some;
    // The rest is read though one of them cannot be: the native half waits for it.
    if (failed !== undefined) continue;
    try {
      for (let i = 0; i < some; i++) realm.append(all, record(engine, wire, parts));
    } catch (error) {
      failed = error;
    }
  }
  if (failed !== undefined) throw failed;
  return all;
}

function record(engine, wire, parts) {
  if (parts === PRIMARY_KEYS) return wire.key(engine.realm);
  if (parts === VALUES) return readValue(engine, wire);
  const key = wire.key(engine.realm);
  const primaryKey = wire.key(engine.realm);
  return [key, primaryKey, readValue(engine, wire)];
}

// Transactions of a change feed, as `changes.js` of the binding takes them.
function batch(engine, wire) {
  const found = [wire.number()];
  for (let left = wire.u32(); left > 0; left--) {
    const position = wire.number();
    const committed = wire.number();
    const fromSource = wire.byte() !== 0;
    const transaction = [position, committed === committed ? committed : undefined, fromSource];
    for (let revisions = wire.u32(); revisions > 0; revisions--) {
      const revision = [wire.number(), wire.string(), wire.string(), wire.key(engine.realm)];
      if (wire.byte() !== 0) revision.push(readValue(engine, wire));
      transaction.push(revision);
    }
    found.push(transaction);
  }
  return found;
}

// A version; null for none.
const version = (number) => (number === number ? number : null);

function notify({ link, realm }, wire, kind, watch) {
  const { words } = wire;
  switch (kind) {
    case ANSWER.BLOCKED: {
      const old = wire.number();
      link.notify(watch, "blocked", old, version(wire.number()));
      break;
    }
    case ANSWER.UPGRADE: {
      const old = wire.number();
      const next = wire.number();
      link.notify(watch, "upgrade", words[3], words[4], wire.string(), old, next);
      break;
    }
    case ANSWER.OPENED: {
      const found = wire.number();
      link.notify(watch, "opened", undefined, words[3], wire.string(), found);
      break;
    }
    case ANSWER.DELETED:
      link.notify(watch, "deleted", undefined, wire.number());
      break;
    case ANSWER.OPEN_FAILED: {
      const kindOf = words[3] === 0 ? "opened" : "deleted";
      link.notify(watch, kindOf, exception(realm, wire));
      break;
    }
    case ANSWER.VERSION_CHANGE: {
      const old = wire.number();
      link.notify(watch, "versionChange", old, version(wire.number()), words[3]);
      break;
    }
    case ANSWER.CLOSED:
      link.notify(watch, "close");
      break;
  }
}
