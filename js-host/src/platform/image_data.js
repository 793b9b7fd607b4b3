// ImageData (HTML, 4.12.5.1.16).
import { apply, exposeInterface, INTERNAL, requireArguments, stamp, stateOf, webidl } from "./binding.js";
import { make } from "../clone/helpers.js";

const { toDictionary, toEnum } = webidl;
const { getPrototypeOf } = Reflect;
const getter = (object, name) => Object.getOwnPropertyDescriptor(object, name).get;
const tagOf = getter(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const bufferOf = getter(getPrototypeOf(Uint8Array.prototype), "buffer");
const offsetOf = getter(getPrototypeOf(Uint8Array.prototype), "byteOffset");
const lengthOf = getter(getPrototypeOf(Uint8Array.prototype), "length");
const isDetached = getter(ArrayBuffer.prototype, "detached");
const isResizable = getter(ArrayBuffer.prototype, "resizable");
const { toBase64 } = Uint8Array.prototype;
const Bytes = Uint8Array;

// Pixel formats, what their data are, and of a number of a pixel the bytes. The last one no script can make: it stands in stores of
// Chromiums that had it.
const FORMATS = {
  __proto__: null,
  "rgba-unorm8": { Data: Uint8ClampedArray, size: 1 },
  "rgba-float16": { Data: Float16Array, size: 2 },
  "rgba-float32": { Data: Float32Array, size: 4 },
};
const PIXEL_FORMATS = ["rgba-unorm8", "rgba-float16"];
const COLOR_SPACES = ["srgb", "display-p3"];
const LENGTH_MAX = 2 ** 31 - 1;

class ImageDataState {
  constructor(width, height, colorSpace, pixelFormat, data) {
    this.width = width;
    this.height = height;
    this.colorSpace = colorSpace;
    this.pixelFormat = pixelFormat;
    this.data = data;
  }

  get cloneKind() {
    return "ImageData";
  }

  cloneFields() {
    const { width, height, colorSpace, pixelFormat, data } = this;
    const buffer = apply(bufferOf, data, []);
    if (apply(isDetached, buffer, [])) return "An ImageData is detached and could not be cloned.";
    const bytes = new Bytes(buffer, apply(offsetOf, data, []), 4 * width * height * FORMATS[pixelFormat].size);
    return [width, height, colorSpace, pixelFormat, apply(toBase64, bytes, [])];
  }
}

// An unsigned long, as WebIDL has it without extended attributes.
const toSize = (value) => +value >>> 0;

function settingsOf(value) {
  const { colorSpace, pixelFormat } = toDictionary(value, "ImageDataSettings");
  return {
    colorSpace: colorSpace === undefined ? "srgb" : toEnum(colorSpace, COLOR_SPACES, "colorSpace"),
    pixelFormat: pixelFormat === undefined ? undefined : toEnum(pixelFormat, PIXEL_FORMATS, "pixelFormat"),
  };
}

function fail(name, what) {
  throw new DOMException(what, name);
}

// The pixel format that an array is the data of; undefined for all else.
function formatOf(array) {
  const tag = ArrayBuffer.isView(array) ? apply(tagOf, array, []) : undefined;
  if (tag === undefined) return undefined;
  const format = PIXEL_FORMATS.find((name) => FORMATS[name].Data.name === tag);
  if (format === undefined) throw new TypeError(`ImageData: the data are no ${PIXEL_FORMATS.map((name) => FORMATS[name].Data.name).join(" or ")}`);
  const buffer = apply(bufferOf, array, []);
  // Throws for shared memory, too.
  if (apply(isResizable, buffer, [])) throw new TypeError("ImageData: the data's buffer is resizable");
  return format;
}

function blank(sw, sh, settings) {
  const [width, height] = [toSize(sw), toSize(sh)];
  const { colorSpace, pixelFormat = "rgba-unorm8" } = settingsOf(settings);
  if (width === 0) fail("IndexSizeError", "The width is 0.");
  if (height === 0) fail("IndexSizeError", "The height is 0.");
  const { Data, size } = FORMATS[pixelFormat];
  if (4 * width * height * size > LENGTH_MAX) throw new RangeError("ImageData: the image is too large");
  return new ImageDataState(width, height, colorSpace, pixelFormat, new Data(4 * width * height));
}

function ofArray(array, format, sw, sh, settings) {
  const width = toSize(sw);
  const given = sh === undefined ? undefined : toSize(sh);
  const { colorSpace, pixelFormat = "rgba-unorm8" } = settingsOf(settings);
  if (apply(isDetached, apply(bufferOf, array, []), [])) fail("InvalidStateError", "The data are detached.");
  if (pixelFormat !== format) fail("InvalidStateError", "The data are not of the pixel format.");
  const length = apply(lengthOf, array, []);
  if (length === 0 || length % 4 !== 0) fail("InvalidStateError", "The data's length is not a multiple of 4, or 0.");
  if (width === 0 || (length / 4) % width !== 0) fail("IndexSizeError", "The data's length is not a multiple of 4 times the width.");
  const height = length / 4 / width;
  if (given !== undefined && given !== height) fail("IndexSizeError", "The data's length is not 4 times the width times the height.");
  return new ImageDataState(width, height, colorSpace, format, array);
}

export class ImageData {
  constructor(first, second, third = undefined, fourth = undefined) {
    if (first === INTERNAL) {
      stamp(this, second);
      return;
    }
    requireArguments(arguments.length, 2, "ImageData");
    const format = formatOf(first);
    stamp(this, format === undefined ? blank(first, second, third) : ofArray(first, format, second, third, fourth));
  }
  get width() {
    return stateOf(this, ImageDataState).width;
  }
  get height() {
    return stateOf(this, ImageDataState).height;
  }
  get data() {
    return stateOf(this, ImageDataState).data;
  }
  get colorSpace() {
    return stateOf(this, ImageDataState).colorSpace;
  }
  get pixelFormat() {
    return stateOf(this, ImageDataState).pixelFormat;
  }
}
exposeInterface(ImageData, "ImageData");

make.imageData = (width, height, colorSpace, pixelFormat, buffer) =>
  new ImageData(INTERNAL, new ImageDataState(width, height, colorSpace, pixelFormat, new FORMATS[pixelFormat].Data(buffer)));
