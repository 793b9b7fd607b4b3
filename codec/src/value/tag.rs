//! The tag bytes of V8's value serialiser and of Blink's host objects, each named once.
//!
//! Sources: V8 `src/objects/value-serializer.cc`; Blink
//! `bindings/core/v8/serialization/serialization_tag.h`. The two sets overlap (`n` is a Number
//! object for V8 and a file handle for Blink); which one applies follows from the place.
//! What each tag is followed by stands in `docs/format/values.md`.

/// Tags that V8 reads.
pub(super) mod v8 {
    pub(in crate::value) const VERSION: u8 = 0xff;
    pub(in crate::value) const PADDING: u8 = 0;
    pub(in crate::value) const VERIFY_OBJECT_COUNT: u8 = b'?';
    pub(in crate::value) const HOLE: u8 = b'-';
    pub(in crate::value) const UNDEFINED: u8 = b'_';
    pub(in crate::value) const NULL: u8 = b'0';
    pub(in crate::value) const TRUE: u8 = b'T';
    pub(in crate::value) const FALSE: u8 = b'F';
    pub(in crate::value) const INT32: u8 = b'I';
    pub(in crate::value) const UINT32: u8 = b'U';
    pub(in crate::value) const DOUBLE: u8 = b'N';
    pub(in crate::value) const BIGINT: u8 = b'Z';
    pub(in crate::value) const UTF8_STRING: u8 = b'S';
    pub(in crate::value) const ONE_BYTE_STRING: u8 = b'"';
    pub(in crate::value) const TWO_BYTE_STRING: u8 = b'c';
    pub(in crate::value) const OBJECT_REFERENCE: u8 = b'^';
    pub(in crate::value) const BEGIN_OBJECT: u8 = b'o';
    pub(in crate::value) const END_OBJECT: u8 = b'{';
    pub(in crate::value) const BEGIN_SPARSE_ARRAY: u8 = b'a';
    pub(in crate::value) const END_SPARSE_ARRAY: u8 = b'@';
    pub(in crate::value) const BEGIN_DENSE_ARRAY: u8 = b'A';
    pub(in crate::value) const END_DENSE_ARRAY: u8 = b'$';
    pub(in crate::value) const DATE: u8 = b'D';
    pub(in crate::value) const TRUE_OBJECT: u8 = b'y';
    pub(in crate::value) const FALSE_OBJECT: u8 = b'x';
    pub(in crate::value) const NUMBER_OBJECT: u8 = b'n';
    pub(in crate::value) const BIGINT_OBJECT: u8 = b'z';
    pub(in crate::value) const STRING_OBJECT: u8 = b's';
    pub(in crate::value) const REGEXP: u8 = b'R';
    pub(in crate::value) const BEGIN_MAP: u8 = b';';
    pub(in crate::value) const END_MAP: u8 = b':';
    pub(in crate::value) const BEGIN_SET: u8 = b'\'';
    pub(in crate::value) const END_SET: u8 = b',';
    pub(in crate::value) const ARRAY_BUFFER: u8 = b'B';
    pub(in crate::value) const IMMUTABLE_ARRAY_BUFFER: u8 = b'C';
    pub(in crate::value) const RESIZABLE_ARRAY_BUFFER: u8 = b'~';
    pub(in crate::value) const ARRAY_BUFFER_VIEW: u8 = b'V';
    pub(in crate::value) const HOST_OBJECT: u8 = b'\\';
    pub(in crate::value) const ERROR: u8 = b'r';

    /// Tags that only occur in messages between contexts. They name something outside the bytes,
    /// so a stored value cannot contain them.
    pub(in crate::value) const TRANSFERS: [(u8, &str); 6] = [
        (b't', "transferred ArrayBuffer in a stored value"),
        (b'u', "SharedArrayBuffer in a stored value"),
        (b'E', "shared immutable ArrayBuffer in a stored value"),
        (b'p', "shared object in a stored value"),
        (b'w', "transferred WebAssembly module in a stored value"),
        (b'm', "transferred WebAssembly memory in a stored value"),
    ];
}

/// Tags inside V8's [`v8::ERROR`].
pub(super) mod error {
    pub(in crate::value) const MESSAGE: u8 = b'm';
    pub(in crate::value) const CAUSE: u8 = b'c';
    pub(in crate::value) const STACK: u8 = b's';
    pub(in crate::value) const END: u8 = b'.';
}

/// Tags that Blink reads after [`v8::HOST_OBJECT`] (before V8 version 13: in its place).
pub(super) mod host {
    pub(in crate::value) const BLOB: u8 = b'b';
    pub(in crate::value) const BLOB_INDEX: u8 = b'i';
    pub(in crate::value) const FILE: u8 = b'f';
    pub(in crate::value) const FILE_INDEX: u8 = b'e';
    pub(in crate::value) const FILE_LIST: u8 = b'l';
    pub(in crate::value) const FILE_LIST_INDEX: u8 = b'L';
    pub(in crate::value) const DOM_FILE_SYSTEM: u8 = b'd';
    pub(in crate::value) const FILE_SYSTEM_FILE_HANDLE: u8 = b'n';
    pub(in crate::value) const FILE_SYSTEM_DIRECTORY_HANDLE: u8 = b'N';
    pub(in crate::value) const IMAGE_DATA: u8 = b'#';
    pub(in crate::value) const IMAGE_BITMAP: u8 = b'g';
    pub(in crate::value) const DOM_POINT: u8 = b'Q';
    pub(in crate::value) const DOM_POINT_READ_ONLY: u8 = b'W';
    pub(in crate::value) const DOM_RECT: u8 = b'E';
    pub(in crate::value) const DOM_RECT_READ_ONLY: u8 = b'R';
    pub(in crate::value) const DOM_QUAD: u8 = b'T';
    pub(in crate::value) const DOM_MATRIX: u8 = b'Y';
    pub(in crate::value) const DOM_MATRIX_READ_ONLY: u8 = b'U';
    pub(in crate::value) const DOM_MATRIX_2D: u8 = b'I';
    pub(in crate::value) const DOM_MATRIX_2D_READ_ONLY: u8 = b'O';
    pub(in crate::value) const CRYPTO_KEY: u8 = b'K';
    pub(in crate::value) const RTC_CERTIFICATE: u8 = b'k';
    pub(in crate::value) const DOM_EXCEPTION: u8 = b'x';
    pub(in crate::value) const QUOTA_EXCEEDED_ERROR: u8 = b'q';

    /// Tags of things that can be sent but never stored.
    pub(in crate::value) const TRANSFERS: [(u8, &str); 15] = [
        (b'M', "MessagePort in a stored value"),
        (b'h', "MojoHandle in a stored value"),
        (b'G', "transferred ImageBitmap in a stored value"),
        (b'H', "OffscreenCanvas in a stored value"),
        (b'r', "ReadableStream in a stored value"),
        (b'm', "TransformStream in a stored value"),
        (b'w', "WritableStream in a stored value"),
        (b's', "MediaStreamTrack in a stored value"),
        (b'A', "RTCEncodedAudioFrame in a stored value"),
        (b'V', "RTCEncodedVideoFrame in a stored value"),
        (b'a', "AudioData in a stored value"),
        (b'v', "VideoFrame in a stored value"),
        (b'y', "EncodedAudioChunk in a stored value"),
        (b'z', "EncodedVideoChunk in a stored value"),
        (b'S', "MediaSourceHandle in a stored value"),
    ];
}
