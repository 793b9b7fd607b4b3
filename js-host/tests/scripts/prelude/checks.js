// What the scripts beside this folder are written with: `test(name, run)` one after the other, `check`.
{
  let made = 0;
  let last = Promise.resolve();
  const fail = (what) => {
    throw new Error(what);
  };
  globalThis.check = (condition, what) => {
    made += 1;
    if (!condition) fail(what ?? "a check failed");
  };
  globalThis.same = (actual, expected, what = "") => {
    made += 1;
    if (!Object.is(actual, expected)) fail(`${what}: ${String(actual)} is not ${String(expected)}`);
  };
  globalThis.list = (actual, expected, what = "") => same(JSON.stringify([...actual]), JSON.stringify(expected), what);
  globalThis.throws = (name, run, what = name) => {
    made += 1;
    try {
      run();
    } catch (error) {
      if (error.name !== name) fail(`${what}: threw ${error}, not ${name}`);
      return error;
    }
    return fail(`${what}: did not throw`);
  };
  globalThis.test = (name, run) => {
    last = last.then(run).catch((error) => console.error(`${name}: ${error}\n${error?.stack}`));
    const mine = last;
    last.then(() => {
      if (mine === last) console.log(`checks made: ${made}`);
    });
  };
  // The result of a request.
  globalThis.done = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = (event) => {
        event.preventDefault();
        reject(request.error);
      };
    });
  globalThis.ended = (transaction) =>
    new Promise((resolve) => {
      transaction.oncomplete = () => resolve("complete");
      transaction.onabort = () => resolve("abort");
    });
  globalThis.openWith = (name, version, upgrade) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = (event) => upgrade?.(request.result, request.transaction, event);
    return done(request);
  };
}
