// What the binding asks of its host and engine. It knows neither: whoever takes it over (this host,
// a Node package) calls `setHooks` once, before anything else, with an object of this shape.
//
// The host:
//   reportError(error)          an exception that nobody caught
//   microtaskCheckpoint()       run all microtasks, then `runCheckpointCleanup` if it was wanted
//   wantCheckpointCleanup()     the next checkpoint is to end with `runCheckpointCleanup`
//   now()                       milliseconds for Event.timeStamp
//   isProxy(value)              whether an object is a proxy
//   serialize(value)            structured serialisation for storage; gives something only for `engine`
// The engine, with numbers as handles (see engine/*.rs in this package for each call's meaning):
//   engine.*                    each may throw the exception that a page is to see; what takes time
//                               takes a request number and ends in `complete` of requests.js
export const hooks = {};

export function setHooks(given) {
  Object.assign(hooks, given);
}

// Tells the engine that nobody can name something any more.
const collected = new FinalizationRegistry((handle) => hooks.engine.release(handle));

export function releaseWhenCollected(owner, handle) {
  if (handle !== undefined) collected.register(owner, handle);
}

// Transactions that script has made in the current task: they turn inactive at the end of the
// microtask checkpoint (HTML, "clean up Indexed Database transactions").
const cleanups = [];

export function atEndOfCheckpoint(transaction) {
  cleanups[cleanups.length] = transaction;
  hooks.wantCheckpointCleanup();
}

export function runCheckpointCleanup() {
  while (cleanups.length > 0) {
    const all = cleanups.splice(0);
    for (let i = 0; i < all.length; i++) all[i].deactivateAfterCreation();
  }
}
