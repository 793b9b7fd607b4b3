// An environment whose global object has little of Node's, as that of a window.
const { TestEnvironment } = require("jest-environment-node");

module.exports = class extends TestEnvironment {
  async setup() {
    await super.setup();
    for (const name of ["TextDecoder", "TextEncoder", "Buffer", "clearImmediate", "setImmediate", "structuredClone", "ReadableStream"]) {
      delete this.global[name];
    }
  }
};
