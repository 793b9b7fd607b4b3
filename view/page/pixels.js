// Pixels of an ImageData or ImageBitmap, on a canvas.
import { h } from "./dom.js";
import { float16 } from "./elements.js";

/** Pixels of red, green, blue and alpha on a canvas. Half and single floats are brought to bytes. */
export function pictureView(image, bytes) {
  const { width, height } = image;
  const count = width * height * 4;
  const canvas = h("canvas", {
    class: "preview",
    role: "img",
    "aria-label": `Picture of ${width} by ${height} pixels`,
  });
  if (!width || !height || count > 64 * 1024 * 1024)
    return h("p", { class: "dim" }, "The picture is too large to be shown.");
  const pixels = new Uint8ClampedArray(count);
  if (/Float/.test(image.pixel ?? "")) {
    const data = new DataView(bytes.buffer);
    const width32 = image.pixel === "Float32Array";
    for (let at = 0; at < count && (at + 1) * (width32 ? 4 : 2) <= bytes.length; at++)
      pixels[at] = 255 * (width32 ? data.getFloat32(at * 4, true) : float16(data.getUint16(at * 2, true)));
  } else pixels.set(bytes.subarray(0, count));
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
  if (width < 64 && height < 64) canvas.classList.add("small");
  return canvas;
}
