// What is in a blob: a picture, text, or bytes; and its download.
import { bytes as askBytes, download } from "./api.js";
import { fill, h } from "./dom.js";
import { hexOf } from "./hex.js";
import { appendText, counted, nameText, sizeText } from "./text.js";

const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon|svg\+xml)$/;
const TEXT = /^(text\/|application\/(json|xml|javascript|x-javascript|ecmascript|xhtml\+xml|ld\+json)|image\/svg\+xml)/;
const PICTURE_MAX = 32 * 1024 * 1024;
const BEGINNING = 64 * 1024;

/** The content of a blob; `where` is what `blob` is asked with, until `signal` ends it. */
export function blobView(node, external, where, signal) {
  const type = nameText(external?.type ?? node.type ?? "")
    .toLowerCase()
    .split(";")[0]
    .trim();
  const size = external?.size ?? node.size ?? 0;
  const content = h("div", {});
  const status = h("p", { class: "dim", role: "status" });
  const save = h(
    "button",
    {
      type: "button",
      onclick: () => download({ what: "blob", ...where }).catch((error) => fill(status, error.message)),
    },
    "Download",
  );
  const element = h(
    "div",
    { class: "blob" },
    h(
      "div",
      { class: "blob-tools" },
      save,
      PICTURE.test(type) && h("button", { type: "button", class: "quiet", onclick: () => load("bytes") }, "Show bytes"),
    ),
    status,
    content,
  );
  const load = async (form, length = BEGINNING) => {
    fill(status, "Loading…");
    try {
      const isWhole = form === "picture" || size <= length;
      const loaded = await askBytes("blob", isWhole ? where : { ...where, length }, { signal });
      fill(
        status,
        loaded.length < size ? `The first ${sizeText(loaded.length)} of ${sizeText(size)}. ` : "",
        loaded.length < size && h("button", { type: "button", onclick: () => load(form, length * 16) }, "Load more"),
      );
      fill(
        content,
        form === "picture"
          ? picture(loaded, type, () => load("bytes"))
          : form === "text"
            ? textOf(loaded)
            : hexOf(loaded, "Bytes of this blob"),
      );
    } catch (error) {
      if (error.name !== "AbortError")
        fill(status, h("span", { class: "bad" }, `The content cannot be shown: ${error.message}`));
    }
  };
  if (external?.error) fill(status, h("span", { class: "bad" }, `The content cannot be read: ${external.error}`));
  else if (size === 0) fill(status, "It is empty.");
  else if (PICTURE.test(type) && size <= PICTURE_MAX) load("picture");
  else load(TEXT.test(type) ? "text" : "bytes");
  return element;
}

function picture(loaded, type, onBroken) {
  const url = URL.createObjectURL(new Blob([loaded], { type }));
  const image = h("img", {
    class: "preview",
    alt: `Preview of this picture, ${counted(loaded.length, "byte")}`,
    src: url,
  });
  image.addEventListener("load", () => URL.revokeObjectURL(url));
  image.addEventListener("error", () => {
    URL.revokeObjectURL(url);
    onBroken();
  });
  return image;
}

function textOf(loaded) {
  const block = h("pre", { class: "text-content", tabindex: "0" });
  new TextDecoder()
    .decode(loaded)
    .split("\n")
    .forEach((line, at) => {
      if (at > 0) block.append("\n");
      appendText(block, line.replace(/\r$/, ""));
    });
  return block;
}
