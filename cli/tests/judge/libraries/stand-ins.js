// The first script of each run. The host has no network: PouchDB, which can use one, asks for this when it is loaded.
self.fixture = {};
self.Headers ??= class Headers {};
