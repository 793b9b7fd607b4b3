// Blink's objects: a tag, then the fields listed in docs/format/values.md, part 3, to and from descriptions (stored.js). What a runtime has
// a class for is platform.js's business.
import { invalid, unknownTag } from "../error.js";
import { needsOfKey, readKey, writeKey } from "./crypto_key.js";
import { readFile, readHandle, readList, writeFile } from "./files.js";
import { needsOfBitmap, needsOfImageData, readBitmap, readImageData, writeBitmap, writeImageData } from "./images.js";
import { readMatrix, readNumbers, writeMatrix, writeNumbers } from "./geometry.js";
import * as tags from "./tags.js";

// Versions before 6 had no external objects.
const INDEX_VERSION_MIN = 6;

const POINT = ["x", "y", "z", "w"];
const RECT = ["x", "y", "width", "height"];
const CORNERS = ["p1", "p2", "p3", "p4"];

// Reads one, beginning with its tag. `version` is Blink's.
export function readHost(reader, version) {
  const start = reader.at;
  const tag = reader.byte("host object tag");
  const index = () => {
    if (version < INDEX_VERSION_MIN) throw invalid(start, "wire version of an external object", version);
    return reader.varint("external object index");
  };
  switch (tag) {
    case tags.BLOB_INDEX:
      return { class: "Blob", index: index() };
    case tags.FILE_INDEX:
      return { class: "File", index: index() };
    case tags.FILE_LIST_INDEX:
      return { class: "FileList", indices: readList(reader, index) };
    case tags.BLOB:
      return { class: "LegacyBlob", uuid: reader.utf8("blob UUID"), type: reader.utf8("blob type"), size: reader.wideVarint("blob size") };
    case tags.FILE:
      return { class: "LegacyFile", ...readFile(reader, version) };
    case tags.FILE_LIST:
      return { class: "LegacyFileList", files: readList(reader, () => readFile(reader, version)) };
    case tags.FILE_HANDLE:
      return readHandle(reader, "FileSystemFileHandle", "file");
    case tags.DIRECTORY_HANDLE:
      return readHandle(reader, "FileSystemDirectoryHandle", "directory");
    case tags.DOM_FILE_SYSTEM:
      return {
        class: "DOMFileSystem",
        type: reader.varint("file system type"),
        name: reader.utf8("file system name"),
        root: reader.utf8("file system root"),
      };
    case tags.IMAGE_DATA:
      return readImageData(reader, version);
    case tags.IMAGE_BITMAP:
      return readBitmap(reader, version);
    case tags.POINT:
      return { class: "DOMPoint", ...readNumbers(reader, POINT) };
    case tags.POINT_READ_ONLY:
      return { class: "DOMPointReadOnly", ...readNumbers(reader, POINT) };
    case tags.RECT:
      return { class: "DOMRect", ...readNumbers(reader, RECT) };
    case tags.RECT_READ_ONLY:
      return { class: "DOMRectReadOnly", ...readNumbers(reader, RECT) };
    case tags.QUAD: {
      const quad = { class: "DOMQuad" };
      for (const corner of CORNERS) quad[corner] = readNumbers(reader, POINT);
      return quad;
    }
    case tags.MATRIX:
      return readMatrix(reader, "DOMMatrix", false);
    case tags.MATRIX_READ_ONLY:
      return readMatrix(reader, "DOMMatrixReadOnly", false);
    case tags.MATRIX_2D:
      return readMatrix(reader, "DOMMatrix", true);
    case tags.MATRIX_2D_READ_ONLY:
      return readMatrix(reader, "DOMMatrixReadOnly", true);
    case tags.CRYPTO_KEY:
      return readKey(reader);
    case tags.RTC_CERTIFICATE:
      return { class: "RTCCertificate", privateKey: reader.utf8("private key"), certificate: reader.utf8("certificate") };
    case tags.DOM_EXCEPTION:
      return {
        class: "DOMException",
        name: reader.utf8("DOMException name"),
        message: reader.utf8("DOMException message"),
        stack: reader.utf8("DOMException stack"),
      };
    case tags.QUOTA_EXCEEDED_ERROR:
      return {
        class: "QuotaExceededError",
        message: reader.utf8("QuotaExceededError message"),
        stack: reader.utf8("QuotaExceededError stack"),
        quota: optional(reader),
        requested: optional(reader),
      };
    default:
      throw unknownTag(start, tags.TRANSFERS[tag] ?? "host object tag", tag);
  }
}

// Whether there is a number, and the number, which is written either way.
function optional(reader) {
  const present = reader.bool("QuotaExceededError flag");
  const number = reader.f64("QuotaExceededError number");
  return present ? number : null;
}

const TAGS = {
  __proto__: null,
  Blob: tags.BLOB_INDEX,
  File: tags.FILE_INDEX,
  FileList: tags.FILE_LIST_INDEX,
  LegacyBlob: tags.BLOB,
  LegacyFile: tags.FILE,
  LegacyFileList: tags.FILE_LIST,
  FileSystemFileHandle: tags.FILE_HANDLE,
  FileSystemDirectoryHandle: tags.DIRECTORY_HANDLE,
  DOMFileSystem: tags.DOM_FILE_SYSTEM,
  ImageData: tags.IMAGE_DATA,
  ImageBitmap: tags.IMAGE_BITMAP,
  DOMPoint: tags.POINT,
  DOMPointReadOnly: tags.POINT_READ_ONLY,
  DOMRect: tags.RECT,
  DOMRectReadOnly: tags.RECT_READ_ONLY,
  DOMQuad: tags.QUAD,
  DOMMatrix: tags.MATRIX,
  DOMMatrixReadOnly: tags.MATRIX_READ_ONLY,
  CryptoKey: tags.CRYPTO_KEY,
  RTCCertificate: tags.RTC_CERTIFICATE,
  DOMException: tags.DOM_EXCEPTION,
  QuotaExceededError: tags.QUOTA_EXCEEDED_ERROR,
};

// Writes one, beginning with V8's tag. False, with nothing written, if values have no form for it.
export function writeHost(writer, described) {
  const needed = needsOf(described);
  if (needed === null) return false;
  if (needed !== undefined) writer.needs(...needed);
  let tag = TAGS[described.class];
  if (described.is2D === true) tag = described.class === "DOMMatrix" ? tags.MATRIX_2D : tags.MATRIX_2D_READ_ONLY;
  writer.hostTag(tag);
  WRITERS[described.class](writer, described);
  return true;
}

const texts = (...names) => (writer, described) => names.forEach((name) => writer.utf8(described[name]));
const numbers = (names) => (writer, described) => writeNumbers(writer, described, names);
const handle = (writer, { name, tokenIndex }) => {
  writer.utf8(name);
  writer.varint(tokenIndex);
};
const index = (writer, described) => writer.varint(described.index);

const WRITERS = {
  __proto__: null,
  Blob: index,
  File: index,
  FileList(writer, { indices }) {
    writer.varint(indices.length);
    indices.forEach((index) => writer.varint(index));
  },
  LegacyBlob(writer, { uuid, type, size }) {
    writer.utf8(uuid);
    writer.utf8(type);
    writer.varint(size);
  },
  LegacyFile: writeFile,
  LegacyFileList(writer, { files }) {
    writer.varint(files.length);
    files.forEach((file) => writeFile(writer, file));
  },
  FileSystemFileHandle: handle,
  FileSystemDirectoryHandle: handle,
  DOMFileSystem(writer, { type, name, root }) {
    writer.varint(type);
    writer.utf8(name);
    writer.utf8(root);
  },
  ImageData: writeImageData,
  ImageBitmap: writeBitmap,
  DOMPoint: numbers(POINT),
  DOMPointReadOnly: numbers(POINT),
  DOMRect: numbers(RECT),
  DOMRectReadOnly: numbers(RECT),
  DOMQuad(writer, quad) {
    for (const corner of CORNERS) writeNumbers(writer, quad[corner], POINT);
  },
  DOMMatrix: writeMatrix,
  DOMMatrixReadOnly: writeMatrix,
  CryptoKey: writeKey,
  RTCCertificate: texts("privateKey", "certificate"),
  DOMException: texts("name", "message", "stack"),
  QuotaExceededError(writer, described) {
    writer.utf8(described.message);
    writer.utf8(described.stack);
    for (const number of [described.quota, described.requested]) {
      writer.varint(number === null ? 0 : 1);
      writer.f64(number ?? 0);
    }
  },
};

// The least versions for what not every version has a form for; null if none has.
function needsOf(described) {
  switch (described.class) {
    case "FileSystemFileHandle":
    case "FileSystemDirectoryHandle":
      return [14, 20, "a FileSystemHandle"];
    case "ImageData":
      return needsOfImageData(described);
    case "ImageBitmap":
      return needsOfBitmap(described);
    case "CryptoKey":
      return needsOfKey(described);
    case "DOMException":
      return [13, 20, "a DOMException"];
    case "QuotaExceededError":
      return [16, 21, "a QuotaExceededError"];
    default:
      if (TAGS[described.class] === undefined) return null;
      return described.class.startsWith("DOM") && described.class !== "DOMFileSystem" ? [13, 18, "a geometry object"] : undefined;
  }
}
