// Files of before version 6, lists, handles of the file system.
import { invalid } from "../error.js";
import { append } from "../list.js";

// 3 took up UUIDs, 4 completed the fields, 7 added visibility, 8 went from seconds to milliseconds.
export function readFile(reader, version) {
  if (version < 3) throw invalid(reader.at, "wire version of a file", version);
  const complete = version >= 4;
  const path = reader.utf8("file path");
  const name = complete ? reader.utf8("file name") : undefined;
  const relativePath = complete ? reader.utf8("file relative path") : undefined;
  const uuid = reader.utf8("file UUID");
  const type = reader.utf8("file type");
  let snapshot;
  if (complete && reader.varint("file snapshot flag") !== 0) {
    const size = reader.wideVarint("file size");
    const modified = reader.f64("file modification time");
    snapshot = [size, version < 8 ? modified * 1000 : modified];
  }
  if (version >= 7) reader.varint("file visibility");
  return { path, name, relativePath, uuid, type, snapshot };
}

// The fields of today: complete, in milliseconds, with visibility.
export function writeFile(writer, { path, name, relativePath, uuid, type, snapshot }) {
  for (const text of [path, name ?? "", relativePath ?? "", uuid, type]) writer.utf8(text);
  writer.varint(snapshot === undefined ? 0 : 1);
  if (snapshot !== undefined) {
    writer.varint(snapshot[0]);
    writer.f64(snapshot[1]);
  }
  writer.varint(1);
}

// A count, then that many entries. Each takes at least a byte, so the input bounds the list.
export function readList(reader, read) {
  const count = reader.varint("FileList length");
  const list = [];
  for (let i = 0; i < count; i++) append(list, read());
  return list;
}

export function readHandle(reader, name, kind) {
  return { class: name, kind, name: reader.utf8("handle name"), tokenIndex: reader.varint("handle token index") };
}
