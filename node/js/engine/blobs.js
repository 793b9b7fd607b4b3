// Blobs of the runtime's, on their way into the store and out of it. Their bytes are had only asynchronously: a transaction is committed when those of its
// blobs have come.
import { CALL } from "./calls.js";

// So much is handed over at a time.
const PIECE = 1 << 20;

// Reads a blob whose record has been put, and hands its bytes over as the content of this number.
export function read(engine, number, blob) {
  const reading = bytesOf(engine.realm, blob).then(
    (bytes) => give(engine, number, bytes),
    (error) => fail(engine, number, String(error?.message ?? error)),
  );
  engine.blobs.add(reading);
  reading.finally(() => engine.blobs.delete(reading));
}

// A window of jsdom has blobs that only its own FileReader reads.
function bytesOf({ target }, blob) {
  if (typeof blob.arrayBuffer === "function") return blob.arrayBuffer().then((buffer) => new Uint8Array(buffer));
  return new Promise((resolve, reject) => {
    const reader = new target.FileReader();
    reader.onload = () => resolve(new Uint8Array(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsArrayBuffer(blob);
  });
}

function give({ wire, realm }, number, bytes) {
  let at = 0;
  do {
    const end = Math.min(at + PIECE, bytes.length);
    wire.begin(CALL.CONTENT, number, end === bytes.length ? 1 : 0);
    wire.putU32(end - at);
    wire.putBytes(bytes.subarray(at, end));
    wire.ask(realm.fail);
    at = end;
  } while (at < bytes.length);
}

function fail({ wire, realm }, number, why) {
  wire.begin(CALL.CONTENT, number, 0, 1);
  wire.putString(why);
  wire.ask(realm.fail);
}

// A blob or file that was stored. One whose content cannot be read has its size, and fails when it is read.
export function storedBlob({ global }, type, file, bytes, failure = undefined) {
  const { Blob, DOMException, File } = global;
  const parts = bytes === undefined ? [] : [bytes];
  const made =
    file === undefined ? new Blob(parts, { type }) : new File(parts, file.name, { type, lastModified: file.lastModified });
  if (failure !== undefined) unreadable(made, failure.size, () => new DOMException(failure.why, "NotReadableError"));
  return made;
}

function unreadable(blob, size, error) {
  const rejects = async () => {
    throw error();
  };
  const members = {
    size: { get: () => size },
    arrayBuffer: { value: rejects },
    bytes: { value: rejects },
    text: { value: rejects },
    stream: { value: () => new ReadableStream({ start: (controller) => controller.error(error()) }) },
    slice: { value: () => blob },
  };
  for (const name of Object.keys(members)) Object.defineProperty(blob, name, { __proto__: null, configurable: true, ...members[name] });
}
