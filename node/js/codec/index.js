// A codec for Chromium's values: Blink's envelope and V8's wire format (docs/format/values.md) to and from values of JavaScript.
export { CodecError } from "./error.js";
export { blobOf } from "./envelope.js";
export { Codec, fit } from "./codec.js";
export { Stored, StoredFileList } from "./stored.js";
