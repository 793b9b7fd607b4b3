// The host's functions, taken off the global object before any script can see them.
export const native = globalThis.larderNative;
delete globalThis.larderNative;

// Whether the global object is to be a worker's, not a window's.
export const isWorker = native.importScript !== undefined;
