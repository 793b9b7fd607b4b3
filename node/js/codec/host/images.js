// ImageData and ImageBitmap: settings, size, pixels. Pixels are not converted here.
import { invalid } from "../error.js";

const SETTINGS_VERSION_MIN = 18;
// In this version 8-bit pixels of a bitmap have a number of their own; before, they were "the platform's own" (0).
const RGBA8_VERSION_MIN = 20;
// In this version bitmaps have an orientation.
const ORIENTATION_VERSION_MIN = 21;
// By number. 0 is the "legacy" space of before Chromium 65, which Chromium reads as sRGB.
const COLOR_SPACES = ["srgb", "srgb", "rec2020", "display-p3", "rec2100-hlg", "rec2100-pq", "srgb-linear"];
// ImageData's by number: the name, and bytes of a pixel.
const DATA_FORMATS = [
  ["rgba-unorm8", 4],
  ["rgba-float16", 8],
  ["rgba-float32", 16],
];
// ImageBitmap's by number. 0 was "the platform's own": RGBA, as Chromium has it on a little-endian machine other than Windows and Mac.
const BITMAP_FORMATS = [
  ["rgba8", 4],
  ["rgba-float16", 8],
  ["rgba8", 4],
  ["bgra8", 4],
  ["rgbx8", 4],
];

function readSettings(reader, forBitmap) {
  const settings = { colorSpace: "srgb", parametric: undefined, bitmapFormat: 0, dataFormat: 0 };
  Object.assign(settings, { originClean: false, premultiplied: false, opaque: true, orientation: 0 });
  for (;;) {
    const start = reader.at;
    const setting = reader.varint("image setting");
    if (setting === 0) return settings;
    if (setting === 1) settings.colorSpace = readColorSpace(reader);
    else if (setting === 3 && !forBitmap) settings.dataFormat = reader.varint("pixel format");
    else if (setting === 3 || !forBitmap || setting > 8) throw invalid(start, "image setting", setting);
    else readBitmapSetting(reader, setting, settings);
  }
}

function readBitmapSetting(reader, setting, settings) {
  switch (setting) {
    case 2:
      settings.bitmapFormat = reader.varint("pixel format");
      break;
    case 4:
      settings.originClean = reader.bool("origin-clean flag");
      break;
    case 5:
      settings.premultiplied = reader.bool("premultiplied flag");
      break;
    case 6:
      // Unsaid, it means opaque.
      settings.opaque = reader.bool("opacity flag");
      break;
    case 7:
      settings.parametric = Array.from({ length: 16 }, () => reader.f64("parametric colour space"));
      break;
    default:
      settings.orientation = reader.varint("image orientation");
  }
}

function readColorSpace(reader) {
  const start = reader.at;
  const id = reader.varint("colour space");
  if (id >= COLOR_SPACES.length) throw invalid(start, "colour space", id);
  return COLOR_SPACES[id];
}

// Width, height and pixels, whose number must follow from size and format; where the pixels lie is given as [at, length].
function readPixels(reader, pixelLength, what) {
  const width = reader.varint(`${what} width`);
  const height = reader.varint(`${what} height`);
  const start = reader.at;
  const length = reader.wideVarint(`${what} pixels`);
  if (BigInt(width) * BigInt(height) * BigInt(pixelLength) !== BigInt(length)) throw invalid(start, `${what} pixels`, length);
  return { width, height, pixels: reader.take(length, `${what} pixels`) };
}

// `data` has the pixels as bytes; platform.js makes the array of them that scripts see.
export function readImageData(reader, version) {
  const start = reader.at;
  const settings = version >= SETTINGS_VERSION_MIN ? readSettings(reader, false) : { colorSpace: "srgb", dataFormat: 0 };
  const format = DATA_FORMATS[settings.dataFormat];
  if (format === undefined) throw invalid(start, "ImageData format", settings.dataFormat);
  const { width, height, pixels } = readPixels(reader, format[1], "ImageData");
  return { class: "ImageData", width, height, colorSpace: settings.colorSpace, pixelFormat: format[0], data: pixels };
}

const colorSpaceId = (name) => COLOR_SPACES.lastIndexOf(name);
const formatId = (formats, name) => formats.findLastIndex((format) => format[0] === name);

export function writeImageData(writer, { width, height, colorSpace, pixelFormat, data }) {
  writeSettings(writer, [
    [1, colorSpaceId(colorSpace)],
    [3, formatId(DATA_FORMATS, pixelFormat)],
  ]);
  writePixels(writer, width, height, data);
}

// Null for a colour space or format that is none.
export function needsOfImageData({ colorSpace, pixelFormat }) {
  if (colorSpaceId(colorSpace) < 0 || formatId(DATA_FORMATS, pixelFormat) < 0) return null;
  if (pixelFormat === "rgba-unorm8") {
    if (colorSpace === "srgb") return [13, SETTINGS_VERSION_MIN, "an ImageData"];
    if (colorSpace === "display-p3") return [15, 21, "an ImageData of display-p3"];
  }
  return [16, 21, "an ImageData of a newer colour space or format"];
}

export function readBitmap(reader, version) {
  const start = reader.at;
  let settings;
  if (version >= SETTINGS_VERSION_MIN) {
    settings = readSettings(reader, true);
  } else {
    const [originClean, premultiplied] = [reader.bool("origin-clean flag"), reader.bool("premultiplied flag")];
    settings = { colorSpace: "srgb", parametric: undefined, bitmapFormat: 0, originClean, premultiplied, opaque: true, orientation: 0 };
  }
  const format = BITMAP_FORMATS[settings.bitmapFormat];
  if (format === undefined) throw invalid(start, "ImageBitmap format", settings.bitmapFormat);
  if (settings.orientation > 7) throw invalid(start, "image orientation", settings.orientation);
  const { colorSpace, parametric, originClean, premultiplied, opaque, orientation } = settings;
  const flags = { originClean, premultiplied, opaque, orientation };
  return { class: "ImageBitmap", ...readPixels(reader, format[1], "ImageBitmap"), colorSpace, parametric, format: format[0], ...flags };
}

export function needsOfBitmap({ colorSpace, parametric, orientation, format }) {
  if (colorSpaceId(colorSpace) < 0 || formatId(BITMAP_FORMATS, format) < 0) return null;
  if (parametric !== undefined) return [15, 21, "an ImageBitmap"];
  if (colorSpace === "srgb" && orientation === 0) return [13, 20, "an ImageBitmap"];
  if (colorSpace === "srgb" || colorSpace === "display-p3") return [15, 21, "an ImageBitmap"];
  return [16, 21, "an ImageBitmap of a newer colour space"];
}

export function writeBitmap(writer, bitmap) {
  const blink = writer.version >> 8;
  let format = formatId(BITMAP_FORMATS, bitmap.format);
  if (bitmap.format === "rgba8" && blink < RGBA8_VERSION_MIN) format = 0;
  if (bitmap.parametric === undefined) {
    writer.varint(1);
    writer.varint(colorSpaceId(bitmap.colorSpace));
  } else {
    writer.varint(7);
    bitmap.parametric.forEach((number) => writer.f64(number));
  }
  const settings = [
    [2, format],
    [6, Number(bitmap.opaque)],
    [4, Number(bitmap.originClean)],
    [5, Number(bitmap.premultiplied)],
  ];
  writeSettings(writer, blink >= ORIENTATION_VERSION_MIN ? [...settings, [8, bitmap.orientation]] : settings);
  writePixels(writer, bitmap.width, bitmap.height, bitmap.pixels);
}

function writeSettings(writer, settings) {
  settings.flat().forEach((number) => writer.varint(number));
  writer.varint(0);
}

function writePixels(writer, width, height, pixels) {
  writer.varint(width);
  writer.varint(height);
  writer.varint(pixels.byteLength);
  writer.raw(new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.byteLength));
}
