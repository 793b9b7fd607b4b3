// Files that scripts may read: those below the folder that the host's owner gives, and no others. They have `file:` URLs, and are
// what the origin serves: `data.json` is a file in the folder.
import { Blob } from "./blob.js";
import { native } from "./native.js";
import { URL } from "./url.js";

const TYPES = {
  css: "text/css", csv: "text/csv", gif: "image/gif", htm: "text/html", html: "text/html", jpeg: "image/jpeg", jpg: "image/jpeg",
  js: "text/javascript", json: "application/json", md: "text/markdown", mjs: "text/javascript", pdf: "application/pdf", png: "image/png",
  svg: "image/svg+xml", txt: "text/plain", wasm: "application/wasm", webp: "image/webp", xml: "text/xml",
};

const typeOf = (path) => {
  const extension = /\.([a-z0-9]+)$/i.exec(path)?.[1].toLowerCase();
  return Object.hasOwn(TYPES, extension) ? TYPES[extension] : "";
};

// The content of the file that a URL names, as a blob; undefined for the URL of no file. Throws a TypeError for one that is not
// to be had.
export function fileOfUrl(text) {
  const url = new URL(text, native.href);
  const isOwn = url.origin === native.origin && url.origin !== "null";
  if (!isOwn && url.protocol !== "file:") return undefined;
  const { buffer, why } = native.readFile(isOwn ? "" : url.href.replace(/[?#].*/s, ""), url.pathname);
  if (why !== undefined) throw new TypeError(`Failed to fetch ${text}: ${why}`);
  return new Blob([buffer], { type: typeOf(url.pathname) });
}
