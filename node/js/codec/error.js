// What is wrong with bytes that are no value, and where.

export class CodecError extends Error {
  // `kind` says what to make of it:
  //   "Truncated"      the bytes end too early
  //   "Invalid"        a number or text that is not allowed where it stands
  //   "UnknownTag"     a tag that is none, or that only messages have
  //   "Trailing"       something is left behind the value
  //   "LimitExceeded"  more than is taken: depth
  //   "Unsupported"    a value that this runtime has no class for, or no room
  //   "Elsewhere"      the bytes say only where the value is: in a blob
  // `offset` counts bytes from the start of the value, or of what it was unpacked to. `found` is the number or tag that was met.
  constructor(kind, offset, what, found = undefined) {
    super(`${what}: ${describe(kind, found)} at offset ${offset}`);
    this.kind = kind;
    this.offset = offset;
    this.what = what;
    this.found = found;
  }

  get name() {
    return "CodecError";
  }
}

function describe(kind, found) {
  switch (kind) {
    case "Truncated":
      return "the bytes end too early";
    case "Invalid":
      return found === undefined ? "not allowed" : `${found} is not allowed`;
    case "UnknownTag":
      return `unknown tag ${found}`;
    case "Trailing":
      return `${found} bytes are left`;
    case "LimitExceeded":
      return `more than ${found}`;
    case "Elsewhere":
      return "it lies in a blob";
    default:
      return "not supported here";
  }
}

export const truncated = (offset, what) => new CodecError("Truncated", offset, what);
export const invalid = (offset, what, found = undefined) => new CodecError("Invalid", offset, what, found);
export const unknownTag = (offset, what, found) => new CodecError("UnknownTag", offset, what, found);
export const unsupported = (offset, what) => new CodecError("Unsupported", offset, what);
