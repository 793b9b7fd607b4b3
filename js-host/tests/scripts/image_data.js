// ImageData (HTML). All of it holds in Chromium 156's page, too.
test("images are blank, or of an array of theirs", () => {
  const blank = new ImageData(2, 3);
  same(blank.width, 2);
  same(blank.height, 3);
  check(blank.data instanceof Uint8ClampedArray && blank.data.every((n) => n === 0));
  same(blank.data.length, 24);
  same(blank.colorSpace, "srgb");
  const data = new Uint8ClampedArray(16);
  const image = new ImageData(data, 2);
  same(image.data, data);
  same(image.height, 2);
  same(new ImageData(data, 1, 4).height, 4);
  same(new ImageData(2, 1, { colorSpace: "display-p3" }).colorSpace, "display-p3");
  same(ImageData.length, 2);
  const half = new ImageData(2, 1, { pixelFormat: "rgba-float16" });
  same(half.pixelFormat, "rgba-float16");
  check(half.data instanceof Float16Array);
  throws("TypeError", () => Object.getOwnPropertyDescriptor(ImageData.prototype, "width").get.call({}));
});

test("sizes and arrays that do not fit are refused", () => {
  throws("TypeError", () => new ImageData(1));
  throws("IndexSizeError", () => new ImageData(0, 1));
  throws("IndexSizeError", () => new ImageData(1, 0));
  throws("InvalidStateError", () => new ImageData(new Uint8ClampedArray(3), 1));
  throws("InvalidStateError", () => new ImageData(new Uint8ClampedArray(0), 1));
  throws("IndexSizeError", () => new ImageData(new Uint8ClampedArray(8), 3));
  throws("IndexSizeError", () => new ImageData(new Uint8ClampedArray(8), 1, 3));
  throws("IndexSizeError", () => new ImageData(new Uint8ClampedArray(8), 0));
  throws("InvalidStateError", () => new ImageData(new Uint8ClampedArray(8), 1, 2, { pixelFormat: "rgba-float16" }));
  throws("TypeError", () => new ImageData(new Uint8ClampedArray(new ArrayBuffer(8, { maxByteLength: 16 })), 1));
  throws("TypeError", () => new ImageData(1, 1, { colorSpace: "none" }));
});

test("images are cloned with their settings, and their pixels only", () => {
  const shared = new Uint8ClampedArray(24).map((_, i) => i);
  const copy = structuredClone(new ImageData(shared.subarray(4, 12), 2, 1, { colorSpace: "display-p3" }));
  list(copy.data, [4, 5, 6, 7, 8, 9, 10, 11]);
  same(copy.data.buffer.byteLength, 8);
  same(copy.colorSpace, "display-p3");
  check(copy instanceof ImageData);
  const half = new ImageData(1, 1, { pixelFormat: "rgba-float16" });
  half.data[2] = 1.5;
  const again = structuredClone({ half }).half;
  list(again.data, [0, 0, 1.5, 0]);
  same(again.pixelFormat, "rgba-float16");
});
