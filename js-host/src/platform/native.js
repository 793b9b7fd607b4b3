// The host's functions, taken off the global object before any script can see them.
export const native = globalThis.larderNative;
delete globalThis.larderNative;

// Text goes to the host as UTF-8, which has no unpaired surrogates.
const { print, uncaught } = native;
native.print = (isError, text) => print(isError, text.toWellFormed());
native.uncaught = (text) => uncaught(text.toWellFormed());

// Whether the global object is to be a worker's, not a window's.
export const isWorker = native.loadScript !== undefined;
