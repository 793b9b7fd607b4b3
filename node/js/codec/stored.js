// Objects of the web platform as data: what a value says of them, in a plain description, and the class of what this runtime has no
// class for. A description has `class`, the interface's name, and:
//
//   Blob, File                    index: place in the value's list of blobs
//   FileList                      indices: places of its files
//   LegacyBlob                    uuid, type, size (before version 6, as the next two)
//   LegacyFile                    path, name, relativePath, uuid, type, snapshot: [size, lastModified] or undefined
//   LegacyFileList                files: descriptions like LegacyFile's
//   FileSystemFileHandle,
//   FileSystemDirectoryHandle     kind, name, tokenIndex: place in the value's list of tokens; in a Stored object token: its bytes
//   DOMFileSystem                 type, name, root
//   ImageData                     width, height, colorSpace, pixelFormat, data: an array of the class that pixels of the format have
//   ImageBitmap                   width, height (as stored), colorSpace, parametric: 16 numbers or undefined, format, originClean,
//                                 premultiplied, opaque, orientation, pixels: bytes
//   DOMPoint[ReadOnly]            x, y, z, w
//   DOMRect[ReadOnly]             x, y, width, height
//   DOMQuad                       p1, p2, p3, p4: {x, y, z, w}
//   DOMMatrix[ReadOnly]           is2D, members: m11, m12, ... m44
//   CryptoKey                     type, extractable, usages, algorithm: as Web Cryptography has it, data: bytes (raw, SPKI, PKCS #8)
//   RTCCertificate                privateKey, certificate: PEM
//   DOMException                  name, message, stack
//   QuotaExceededError            message, stack, quota, requested: numbers or null

const { defineProperty } = Object;

export class Stored {
  #description;

  // With the members of the description, to be read.
  constructor(description) {
    this.#description = description;
    for (const name in description) {
      if (name === "class") continue;
      defineProperty(this, name, { __proto__: null, value: description[name], enumerable: true, configurable: true });
    }
  }

  get [Symbol.toStringTag]() {
    return this.#description.class;
  }

  // What an object was made of; undefined for other objects.
  static describe(object) {
    return #description in object ? object.#description : undefined;
  }
}

// A list of files as scripts use it.
export class StoredFileList extends Stored {
  constructor(description) {
    super(description);
    description.files.forEach((file, at) => defineProperty(this, at, { __proto__: null, value: file, enumerable: true, configurable: true }));
  }

  get length() {
    return this.files.length;
  }

  item(at) {
    return this.files[at] ?? null;
  }

  [Symbol.iterator]() {
    return this.files[Symbol.iterator]();
  }
}
