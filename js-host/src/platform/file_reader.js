// FileReader (File API, 6.2).
import { createEvent, defineHandlers, dispatch, EventTarget, EventTargetState, exposeInterface, INTERNAL, requireArguments, stateOf, webidl } from "./binding.js";
import { blobBytes, blobType } from "./blob.js";
import { latin1, TextDecoder } from "./encoding.js";
import { queueTask } from "./event_loop.js";

const STATES = { EMPTY: 0, LOADING: 1, DONE: 2 };

class ReaderState extends EventTargetState {
  constructor() {
    super();
    this.readyState = STATES.EMPTY;
    this.result = null;
    this.error = null;
    this.turn = 0;
  }

  read(blob, convert) {
    if (this.readyState === STATES.LOADING) {
      throw new DOMException("The reader is busy reading.", "InvalidStateError");
    }
    blobType(blob);
    this.readyState = STATES.LOADING;
    this.result = null;
    this.error = null;
    this.turn += 1;
    const { turn } = this;
    queueTask(() => {
      if (turn !== this.turn) return;
      this.fire("loadstart");
      if (turn !== this.turn) return;
      this.readyState = STATES.DONE;
      try {
        this.result = convert(blobBytes(blob));
      } catch (error) {
        this.error = error;
      }
      this.fire(this.error === null ? "load" : "error");
      if (this.readyState !== STATES.LOADING) this.fire("loadend");
    });
  }

  fire(type) {
    dispatch(this, createEvent(type, false, false), true);
  }

  abort() {
    if (this.readyState !== STATES.LOADING) {
      this.result = null;
      return;
    }
    this.turn += 1;
    this.readyState = STATES.DONE;
    this.result = null;
    this.error = new DOMException("The reading was aborted.", "AbortError");
    this.fire("abort");
    if (this.readyState !== STATES.LOADING) this.fire("loadend");
  }
}

// The decoder of a label; UTF-8's if there is no encoding of that label.
function decoder(label) {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

export class FileReader extends EventTarget {
  constructor() {
    super(INTERNAL, new ReaderState());
  }
  readAsArrayBuffer(blob) {
    const state = stateOf(this, ReaderState);
    requireArguments(arguments.length, 1, "readAsArrayBuffer");
    state.read(blob, (bytes) => bytes);
  }
  readAsText(blob, encoding = "utf-8") {
    const state = stateOf(this, ReaderState);
    requireArguments(arguments.length, 1, "readAsText");
    const label = webidl.toDOMString(encoding);
    state.read(blob, (bytes) => decoder(label).decode(bytes));
  }
  readAsDataURL(blob) {
    const state = stateOf(this, ReaderState);
    requireArguments(arguments.length, 1, "readAsDataURL");
    const type = blobType(blob) || "application/octet-stream";
    state.read(blob, (bytes) => `data:${type};base64,${new Uint8Array(bytes).toBase64()}`);
  }
  readAsBinaryString(blob) {
    const state = stateOf(this, ReaderState);
    requireArguments(arguments.length, 1, "readAsBinaryString");
    state.read(blob, (bytes) => latin1(new Uint8Array(bytes)));
  }
  abort() {
    stateOf(this, ReaderState).abort();
  }
  get readyState() {
    return stateOf(this, ReaderState).readyState;
  }
  get result() {
    return stateOf(this, ReaderState).result;
  }
  get error() {
    return stateOf(this, ReaderState).error;
  }
}
exposeInterface(FileReader, "FileReader", STATES);
defineHandlers(FileReader, ReaderState, ["loadstart", "progress", "load", "abort", "error", "loadend"]);
