// IDBOpenDBRequest (specification, 4.1) and the course of opening and deleting (5.1, 5.7, 5.8).
import { checkConstructor, exposeInterface, INTERNAL } from "./internals.js";
import { createEvent } from "./event.js";
import { defineHandlers } from "./event_target.js";
import { createVersionChangeEvent } from "./version_change_event.js";
import { createDatabase } from "./database.js";
import { createTransaction } from "./transaction.js";
import { IDBRequest, RequestState, unwatch, watch } from "./request.js";

class OpenRequestState extends RequestState {
  constructor() {
    super(null, null);
    this.number = 0;
    this.database = null;
  }

  // An event on the way to the result.
  notify(kind, a, b, c, d, e) {
    this[kind](a, b, c, d, e);
  }

  blocked(oldVersion, newVersion) {
    this.fire(createVersionChangeEvent("blocked", oldVersion, newVersion));
  }

  upgrade(connection, handle, name, oldVersion, newVersion) {
    this.database = createDatabase(connection, name, newVersion);
    const transaction = createTransaction(this.database, handle, "versionchange", null, "default");
    transaction.upgrades(this, oldVersion);
    this.result = this.database.wrapper;
    this.transaction = transaction;
    this.done = true;
    transaction.begin();
    const event = createVersionChangeEvent("upgradeneeded", oldVersion, newVersion);
    this.fire(event);
    transaction.afterUpgradeNeeded(event);
  }

  // The upgrade's transaction has ended.
  upgraded(aborted) {
    this.transaction = null;
    if (aborted) {
      this.result = undefined;
      this.done = false;
    }
  }

  opened(error, connection, name, version) {
    unwatch(this.number);
    this.transaction = null;
    this.done = true;
    if (error === undefined) {
      this.database ??= createDatabase(connection, name, version);
      this.result = this.database.wrapper;
      this.error = null;
      this.fire(createEvent("success", false, false));
    } else {
      this.result = undefined;
      this.error = error;
      this.fire(createEvent("error", true, true));
    }
  }

  deleted(error, oldVersion) {
    unwatch(this.number);
    this.done = true;
    if (error === undefined) {
      this.result = undefined;
      this.fire(createVersionChangeEvent("success", oldVersion, null));
    } else {
      this.error = error;
      this.fire(createEvent("error", true, true));
    }
  }
}

export class IDBOpenDBRequest extends IDBRequest {
  constructor(token = undefined, state = undefined) {
    checkConstructor(token, "IDBOpenDBRequest");
    super(token, state);
  }
}
exposeInterface(IDBOpenDBRequest, "IDBOpenDBRequest");
defineHandlers(IDBOpenDBRequest, OpenRequestState, ["blocked", "upgradeneeded"]);

export function createOpenRequest(ask) {
  const state = new OpenRequestState();
  state.number = watch(state);
  try {
    ask(state.number);
  } catch (error) {
    unwatch(state.number);
    throw error;
  }
  return new IDBOpenDBRequest(INTERNAL, state);
}
