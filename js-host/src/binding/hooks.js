// What the binding asks of its host and engine. It names neither: what takes it over (this host,
// a Node package) calls `setHooks` once, before anything else, with an object of this shape.
//
// The host:
//   reportError(error)          an exception that was not caught
//   microtaskCheckpoint()       run all microtasks, then `runCheckpointCleanup` if it was wanted
//   wantCheckpointCleanup()     the next checkpoint is to end with `runCheckpointCleanup`
//   now()                       milliseconds for Event.timeStamp
//   isProxy(value)              whether an object is a proxy
//   serialize(value)            structured serialisation for storage; gives something only for `engine`
// The engine, with numbers as handles (see engine/*.rs in this package for each call's meaning):
//   engine.*                    each may throw the exception that a page is to see; what takes time
//                               takes a request number and ends in `complete` of requests.js
import { list, onCollected } from "./built_ins.js";
export const hooks = {};

export function setHooks(given) {
  Object.assign(hooks, given);
}

// Releases a handle of the engine's once script can no longer reach its object.
const onceCollected = onCollected((handle) => hooks.engine.release(handle));

export function releaseWhenCollected(owner, handle) {
  if (handle !== undefined) onceCollected(owner, handle);
}

// Transactions that script has made in the current task: they turn inactive at the end of the
// microtask checkpoint (HTML, "clean up Indexed Database transactions").
const cleanups = list();

export function atEndOfCheckpoint(transaction) {
  cleanups[cleanups.length] = transaction;
  hooks.wantCheckpointCleanup();
}

export function runCheckpointCleanup() {
  for (let i = 0; i < cleanups.length; i++) cleanups[i].deactivateAfterCreation();
  cleanups.length = 0;
}
