// data: URLs (Fetch, 6).
import { encodeUtf8 } from "./encoding.js";

// What a data: URL stands for, { type, bytes }; undefined if it is none.
export function dataOfUrl(url) {
  const [, head, data] = /^data:([^,]*),(.*)$/s.exec(url.replace(/#.*$/s, "")) ?? [];
  if (head === undefined) return undefined;
  const isBase64 = /;\s*base64\s*$/i.test(head);
  const bytes = [];
  for (let at = 0; at < data.length; at++) {
    const hex = /^%([0-9a-f]{2})/i.exec(data.slice(at, at + 3));
    if (hex === null) bytes.push(...encodeUtf8(data[at]));
    else {
      bytes.push(parseInt(hex[1], 16));
      at += 2;
    }
  }
  const given = head.replace(/;\s*base64\s*$/i, "").trim();
  const type = given === "" ? "text/plain;charset=US-ASCII" : given.replace(/^;/, "text/plain;");
  if (!isBase64) return { type, bytes: new Uint8Array(bytes) };
  try {
    return { type, bytes: Uint8Array.fromBase64(String.fromCharCode(...bytes)) };
  } catch {
    return undefined;
  }
}
