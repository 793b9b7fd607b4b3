// The host's functions, taken off the global object before any script can see them.
export const native = globalThis.larderNative;
delete globalThis.larderNative;
