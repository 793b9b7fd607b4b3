// The tags of Blink's objects, behind V8's `\` (before V8's version 13 in its place). Shapes: docs/format/values.md, part 3.

export const BLOB = 0x62; // b
export const BLOB_INDEX = 0x69; // i
export const FILE = 0x66; // f
export const FILE_INDEX = 0x65; // e
export const FILE_LIST = 0x6c; // l
export const FILE_LIST_INDEX = 0x4c; // L
export const DOM_FILE_SYSTEM = 0x64; // d
export const FILE_HANDLE = 0x6e; // n
export const DIRECTORY_HANDLE = 0x4e; // N
export const IMAGE_DATA = 0x23; // #
export const IMAGE_BITMAP = 0x67; // g
export const POINT = 0x51; // Q
export const POINT_READ_ONLY = 0x57; // W
export const RECT = 0x45; // E
export const RECT_READ_ONLY = 0x52; // R
export const QUAD = 0x54; // T
export const MATRIX = 0x59; // Y
export const MATRIX_READ_ONLY = 0x55; // U
export const MATRIX_2D = 0x49; // I
export const MATRIX_2D_READ_ONLY = 0x4f; // O
export const CRYPTO_KEY = 0x4b; // K
export const RTC_CERTIFICATE = 0x6b; // k
export const DOM_EXCEPTION = 0x78; // x
export const QUOTA_EXCEEDED_ERROR = 0x71; // q

// Things that can be sent but never stored.
export const TRANSFERS = {
  __proto__: null,
  0x4d: "MessagePort in a stored value",
  0x68: "MojoHandle in a stored value",
  0x47: "transferred ImageBitmap in a stored value",
  0x48: "OffscreenCanvas in a stored value",
  0x72: "ReadableStream in a stored value",
  0x6d: "TransformStream in a stored value",
  0x77: "WritableStream in a stored value",
  0x73: "MediaStreamTrack in a stored value",
  0x41: "RTCEncodedAudioFrame in a stored value",
  0x56: "RTCEncodedVideoFrame in a stored value",
  0x61: "AudioData in a stored value",
  0x76: "VideoFrame in a stored value",
  0x79: "EncodedAudioChunk in a stored value",
  0x7a: "EncodedVideoChunk in a stored value",
  0x53: "MediaSourceHandle in a stored value",
};
