// Objects of the web platform that stand in stores and of which this host can make nothing: a script gets them with their class and a few
// attributes, and can store them again as they were. What would use them is missing.
import { checkConstructor, defineProperty, exposeInterface, INTERNAL, stamp, stateOf } from "./binding.js";
import { make } from "../clone/helpers.js";

class OpaqueState {
  constructor(bytes, token, attributes) {
    // A serialised value that is this object alone.
    this.bytes = bytes;
    // For a file system handle, the token by which the browser finds the file; it lies beside the value.
    this.token = token;
    this.attributes = attributes;
  }

  get cloneKind() {
    return "opaque";
  }

  cloneFields() {
    return [this.bytes, this.token ?? null];
  }
}

// Each has a state of its own, so that no attribute answers for another class.
function opaque(name, attributes, Base = undefined) {
  const State = { [name]: class extends (Base === undefined ? OpaqueState : Base.State) {} }[name];
  const Interface =
    Base === undefined
      ? class {
          constructor(token = undefined, state = undefined) {
            checkConstructor(token, name);
            stamp(this, state);
          }
        }
      : class extends Base.Interface {
          constructor(token = undefined, state = undefined) {
            checkConstructor(token, name);
            super(token, state);
          }
        };
  attributes.forEach((attribute, at) => {
    const { get } = Object.getOwnPropertyDescriptor(
      {
        get [attribute]() {
          return stateOf(this, State).attributes[at];
        },
      },
      attribute,
    );
    defineProperty(Interface.prototype, attribute, { get, set: undefined, enumerable: true, configurable: true });
  });
  exposeInterface(Interface, name);
  return { Interface, State };
}

const handle = opaque("FileSystemHandle", ["kind", "name"]);
const classes = {
  __proto__: null,
  DOMFileSystem: opaque("DOMFileSystem", ["name"]),
  FileSystemDirectoryHandle: opaque("FileSystemDirectoryHandle", [], handle),
  FileSystemFileHandle: opaque("FileSystemFileHandle", [], handle),
  ImageBitmap: opaque("ImageBitmap", ["width", "height"]),
  RTCCertificate: opaque("RTCCertificate", []),
};
// Old and without an interface object.
const { DOMFileSystem, ...exposed } = classes;
export const interfaces = { FileSystemHandle: handle.Interface };
for (const name in exposed) interfaces[name] = exposed[name].Interface;

make.opaque = (name, bytes, token, first, second) => {
  const { Interface, State } = classes[name];
  return new Interface(INTERNAL, new State(bytes, token, [first, second]));
};
