// Change feeds: what larder-js-host's own test script sees of them is seen here.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as larder from "../js/index.js";

const SCRIPT = "../../js-host/tests/changes/follow.mjs";

// A page's worker, on this thread: the script asks for one that writes.
class Worker {
  #database;
  constructor(url) {
    fetch(url)
      .then((response) => response.text())
      .then((source) => new Function("indexedDB", source)({ open: (name) => this.#open(name) }));
  }
  #open(name) {
    const request = indexedDB.open(name);
    request.addEventListener("success", () => (this.#database = request.result));
    return request;
  }
  terminate() {
    this.#database.close();
  }
}

for (const place of ["memory", "a folder"]) {
  test(`a script follows what it and others change, in ${place}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "larder-changes-"));
    const factory = place === "memory" ? new larder.IDBFactory() : larder.open({ folder });
    const { changes, IDBKeyRange } = larder;
    const setChangeFeed = (name, isOn) => larder.setChangeFeed(name, isOn, factory);
    Object.assign(globalThis, { larder: { changes, setChangeFeed }, indexedDB: factory, IDBKeyRange, Worker });
    const said = [];
    const { log } = console;
    console.log = (text) => said.push(text);
    try {
      await import(`${SCRIPT}?${place}`);
    } finally {
      console.log = log;
    }
    assert.deepEqual(said, ["followed"]);
    await larder.close(factory);
    rmSync(folder, { recursive: true });
  });
}
