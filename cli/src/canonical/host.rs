//! Objects of the web platform in canonical JSON.

use larder_codec::value::{
    Builder, CryptoKey, CryptoKeyAlgorithm, Decoder, DomMatrix, DomPoint, DomRect, Envelope,
    HandleKind, HostObject, ImageBitmap, ImageData, JsStr, Object, PixelFormat,
};

use super::error::Error;
use super::text::{
    push, push_hex, push_json_str, push_member, push_name, push_number, push_stream,
};
use super::value::Writer;
use crate::external_blob::ExternalBlob;

/// The `t` of a host object.
pub(super) fn name_of(host: &HostObject<'_>) -> &'static str {
    match host {
        HostObject::Blob(_) | HostObject::LegacyBlob { .. } => "Blob",
        HostObject::File(_) | HostObject::LegacyFile(_) => "File",
        HostObject::FileList(_) | HostObject::LegacyFileList(_) => "FileList",
        HostObject::FileSystemHandle(handle) => match handle.kind {
            HandleKind::File => "FileSystemFileHandle",
            HandleKind::Directory => "FileSystemDirectoryHandle",
        },
        HostObject::DomFileSystem { .. } => "DOMFileSystem",
        HostObject::ImageData(_) => "ImageData",
        HostObject::ImageBitmap(_) => "ImageBitmap",
        HostObject::DomPoint(_) => "DOMPoint",
        HostObject::DomPointReadOnly(_) => "DOMPointReadOnly",
        HostObject::DomRect(_) => "DOMRect",
        HostObject::DomRectReadOnly(_) => "DOMRectReadOnly",
        HostObject::DomQuad(_) => "DOMQuad",
        HostObject::DomMatrix(_) => "DOMMatrix",
        HostObject::DomMatrixReadOnly(_) => "DOMMatrixReadOnly",
        HostObject::CryptoKey(_) => "CryptoKey",
        HostObject::RtcCertificate { .. } => "RTCCertificate",
        // A QuotaExceededError is a DOMException of that name.
        HostObject::DomException { .. } | HostObject::QuotaExceededError { .. } => "DOMException",
        _ => "unknown",
    }
}

/// Writes the members behind `{"t":…,"id":…` and the closing brace.
pub(super) fn write(
    writer: &mut Writer<'_, '_, '_>,
    object: &Object<'_>,
    host: &HostObject<'_>,
) -> Result<(), Error> {
    match host {
        HostObject::Blob(index) => external(writer, *index, false)?,
        HostObject::File(index) => external(writer, *index, true)?,
        HostObject::FileList(indices) => {
            push_member(writer.out, "files");
            for (at, index) in indices.iter().enumerate() {
                writer.out.push(if at == 0 { b'[' } else { b',' });
                let id = writer.take_id();
                push(writer.out, format_args!("{{\"t\":\"File\",\"id\":{id}"));
                external(writer, *index, true)?;
                writer.out.push(b'}');
            }
            writer
                .out
                .extend_from_slice(if indices.is_empty() { b"[]" } else { b"]" });
        }
        other => without_content(writer, other)?,
    }
    if writer.whole.is_some() && says_less_than_is_stored(host) {
        stored(writer, object);
    }
    writer.out.push(b'}');
    Ok(())
}

/// Whether a page is shown less of an object than there is: keys are not, pictures only through a canvas.
fn says_less_than_is_stored(host: &HostObject<'_>) -> bool {
    !matches!(
        host,
        HostObject::Blob(_)
            | HostObject::File(_)
            | HostObject::FileList(_)
            | HostObject::FileSystemHandle(_)
            | HostObject::ImageData(_)
            | HostObject::DomPoint(_)
            | HostObject::DomPointReadOnly(_)
            | HostObject::DomRect(_)
            | HostObject::DomRectReadOnly(_)
            | HostObject::DomQuad(_)
            | HostObject::DomMatrix(_)
            | HostObject::DomMatrixReadOnly(_)
    )
}

/// Writes the member `stored`: the object in the form of JSON Lines, which has everything
/// (`docs/format/jsonl-values.md`).
fn stored(writer: &mut Writer<'_, '_, '_>, object: &Object<'_>) {
    let mut bytes = Vec::new();
    let mut builder = Builder::begin(&mut bytes);
    builder.leaf(object);
    builder.end();
    let mut unpacked = Vec::new();
    // An object that was read can be written and read again.
    let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut unpacked) else {
        return;
    };
    if let Ok(tree) = Decoder::new().decode(&payload) {
        push_member(writer.out, "stored");
        // Writing into a vector cannot fail, and every tree is JSON.
        drop(serde_json::to_writer(&mut *writer.out, &tree));
    }
}

/// Host objects whose bytes are all in the value.
fn without_content(writer: &mut Writer<'_, '_, '_>, host: &HostObject<'_>) -> Result<(), Error> {
    let version = writer.tree.versions().blink;
    let shows_color_space = writer.browser.shows_color_space(writer.tree.versions());
    let out = &mut *writer.out;
    match host {
        HostObject::FileSystemHandle(handle) => {
            let kind = match handle.kind {
                HandleKind::File => "file",
                HandleKind::Directory => "directory",
            };
            push_member(out, "name");
            push_name(out, handle.name);
            push(out, format_args!(",\"kind\":\"{kind}\""));
        }
        HostObject::ImageData(image) => image_data(writer, image, shows_color_space)?,
        HostObject::ImageBitmap(image) => image_bitmap(writer, image, version)?,
        HostObject::DomPoint(p) | HostObject::DomPointReadOnly(p) => json(out, |out| point(out, p)),
        HostObject::DomRect(r) | HostObject::DomRectReadOnly(r) => json(out, |out| rect(out, r)),
        HostObject::DomQuad(points) => json(out, |out| quad(out, points)),
        HostObject::DomMatrix(m) | HostObject::DomMatrixReadOnly(m) => {
            json(out, |out| matrix(out, m));
        }
        HostObject::CryptoKey(key) => crypto_key(out, key),
        HostObject::DomException { name, message, .. } => exception(out, *name, *message),
        HostObject::QuotaExceededError { message, .. } => {
            exception(out, JsStr::from("QuotaExceededError"), *message);
        }
        _ => {}
    }
    Ok(())
}

/// A blob or file: what the record's list says, and its content.
fn external(writer: &mut Writer<'_, '_, '_>, index: u32, is_file: bool) -> Result<(), Error> {
    let opened = match writer.blobs.open(index) {
        Ok(Some(blob)) => Ok(blob),
        Ok(None) => Err(Error::MissingBlob { index }),
        Err(error) => Err(error.into()),
    };
    let mut blob = match opened {
        Ok(blob) => blob,
        Err(error) if writer.whole.is_some() => {
            push_problem(writer.out, &mut writer.problems, error);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let out = &mut *writer.out;
    if is_file {
        let (name, modified) = match &blob.file {
            Some(file) => (file.name.as_slice(), file.last_modified_ms),
            None => (&[][..], 0.0),
        };
        push_member(out, "name");
        push_units_name(out, name);
        push(out, format_args!(",\"lastModified\":{modified}"));
    }
    push_member(out, "type");
    push_units_name(out, &blob.mime_type);
    if let Some(pieces) = &mut writer.whole {
        if pieces.limits.bytes < usize::MAX {
            if let Some(size) = blob.size {
                push(out, format_args!(",\"size\":{size}"));
            }
            push(out, format_args!(",\"object\":{index}"));
            return Ok(());
        }
        out.extend_from_slice(b",\"bytes\":{");
        let (found, failed) = pieces.hex_member(out, &mut blob.content)?;
        push(out, format_args!(",\"len\":{found}}},\"size\":{found}"));
        let problem = match failed {
            Some(error) => Some(error.into()),
            None => wrong_size(&blob, index, found),
        };
        if let Some(problem) = problem {
            push_problem(out, &mut writer.problems, problem);
        }
        return Ok(());
    }
    // The size stands in front of the bytes, and may only be known from them.
    let mut bytes = Vec::new();
    let found = push_stream(&mut bytes, &mut blob.content)?;
    if let Some(problem) = wrong_size(&blob, index, found) {
        return Err(problem);
    }
    push(out, format_args!(",\"size\":{found},\"bytes\":"));
    out.extend_from_slice(&bytes);
    Ok(())
}

fn wrong_size(blob: &ExternalBlob<'_>, index: u32, found: u64) -> Option<Error> {
    let expected = blob.size.filter(|&expected| expected != found)?;
    Some(Error::BlobSize {
        index,
        expected,
        found,
    })
}

/// Writes the member `error` and notes what it says.
fn push_problem(out: &mut Vec<u8>, problems: &mut Vec<Error>, problem: Error) {
    push_member(out, "error");
    push_json_str(out, &problem.to_string());
    problems.push(problem);
}

fn push_units_name(out: &mut Vec<u8>, units: &[u16]) {
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    push_name(out, JsStr::Utf16Le(&bytes));
}

fn image_data(
    writer: &mut Writer<'_, '_, '_>,
    image: &ImageData<'_>,
    shows_color_space: bool,
) -> Result<(), Error> {
    let out = &mut *writer.out;
    push(
        out,
        format_args!(",\"width\":{},\"height\":{}", image.width, image.height),
    );
    if shows_color_space {
        push(
            out,
            format_args!(",\"colorSpace\":\"{}\"", image.color_space.name()),
        );
    }
    push(
        out,
        format_args!(",\"pixel\":\"{}\",\"bytes\":", image.array_name()),
    );
    writer.bytes(image.pixels)
}

fn image_bitmap(
    writer: &mut Writer<'_, '_, '_>,
    image: &ImageBitmap<'_>,
    version: u32,
) -> Result<(), Error> {
    // Chromium 64 (version 18) called its pixels RGBA whatever they were.
    const RGBA_VERSION_MIN: u32 = 20;
    let (width, height) = image.size();
    let out = &mut *writer.out;
    push(out, format_args!(",\"width\":{width},\"height\":{height}"));
    if version >= RGBA_VERSION_MIN
        && let Some(rgba) = rgba(image)
    {
        push_member(out, "rgba");
        writer.bytes(&rgba)?;
    }
    Ok(())
}

/// The picture as bytes of red, green, blue and alpha, not premultiplied; for the formats where
/// that takes no knowledge of colours.
fn rgba(image: &ImageBitmap<'_>) -> Option<Vec<u8>> {
    if image.orientation != 0 {
        return None;
    }
    let (pixels, _) = image.pixels.as_chunks::<4>();
    let order = |&[a, b, c, d]: &[u8; 4]| match image.format {
        PixelFormat::Rgba8 => Some([a, b, c, d]),
        PixelFormat::Bgra8 => Some([c, b, a, d]),
        PixelFormat::Rgbx8 => Some([a, b, c, 255]),
        _ => None,
    };
    let unmultiply = |[r, g, b, a]: [u8; 4]| {
        if !image.premultiplied || image.opaque || a == 255 {
            return [r, g, b, a];
        }
        let scale = |component: u8| {
            let scaled = u32::from(component) * 255 + u32::from(a) / 2;
            scaled
                .checked_div(u32::from(a))
                .map_or(0, |full| u8::try_from(full).unwrap_or(u8::MAX))
        };
        [scale(r), scale(g), scale(b), a]
    };
    let pixels: Option<Vec<[u8; 4]>> = pixels
        .iter()
        .map(|pixel| order(pixel).map(unmultiply))
        .collect();
    pixels.map(|pixels| pixels.into_flattened())
}

fn json(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    push_member(out, "json");
    write(out);
}

/// `{"name":"number",…`, without the closing brace.
fn numbers(out: &mut Vec<u8>, members: &[(&str, f64)]) {
    for (at, (name, number)) in members.iter().enumerate() {
        let before = if at == 0 { "{" } else { "," };
        push(out, format_args!("{before}\"{name}\":"));
        push_number(out, *number);
    }
}

fn point(out: &mut Vec<u8>, p: &DomPoint) {
    numbers(out, &[("x", p.x), ("y", p.y), ("z", p.z), ("w", p.w)]);
    out.push(b'}');
}

fn rect(out: &mut Vec<u8>, r: &DomRect) {
    let [top, right, bottom, left] = r.edges();
    numbers(
        out,
        &[
            ("x", r.x),
            ("y", r.y),
            ("width", r.width),
            ("height", r.height),
            ("top", top),
            ("right", right),
            ("bottom", bottom),
            ("left", left),
        ],
    );
    out.push(b'}');
}

fn quad(out: &mut Vec<u8>, points: &[DomPoint; 4]) {
    for (at, p) in points.iter().enumerate() {
        let before = if at == 0 { "{" } else { "," };
        push(out, format_args!("{before}\"p{}\":", at + 1));
        point(out, p);
    }
    out.push(b'}');
}

fn matrix(out: &mut Vec<u8>, m: &DomMatrix) {
    let letters = ["a", "b", "c", "d", "e", "f"];
    let short: Vec<_> = letters.into_iter().zip(m.a_to_f()).collect();
    numbers(out, &short);
    for (at, number) in m.members.iter().enumerate() {
        push(out, format_args!(",\"m{}{}\":", at / 4 + 1, at % 4 + 1));
        push_number(out, *number);
    }
    let (is_2d, is_identity) = (m.is_2d, m.is_identity());
    push(
        out,
        format_args!(",\"is2D\":{is_2d},\"isIdentity\":{is_identity}}}"),
    );
}

fn crypto_key(out: &mut Vec<u8>, key: &CryptoKey<'_>) {
    let (key_type, extractable) = (key.key_type.name(), key.extractable);
    push(
        out,
        format_args!(",\"type\":\"{key_type}\",\"extractable\":{extractable},\"usages\":["),
    );
    for (at, usage) in key.usages.names().enumerate() {
        let before = if at == 0 { "" } else { "," };
        push(out, format_args!("{before}\"{usage}\""));
    }
    out.extend_from_slice(b"],\"algorithm\":");
    algorithm(out, &key.algorithm);
}

fn algorithm(out: &mut Vec<u8>, algorithm: &CryptoKeyAlgorithm<'_>) {
    match algorithm {
        CryptoKeyAlgorithm::Aes { name, length_bits } => {
            push(
                out,
                format_args!("{{\"name\":\"{name}\",\"length\":{length_bits}}}"),
            );
        }
        CryptoKeyAlgorithm::Hmac { hash, length_bits } => push(
            out,
            format_args!(
                "{{\"name\":\"HMAC\",\"hash\":{{\"name\":\"{hash}\"}},\"length\":{length_bits}}}"
            ),
        ),
        CryptoKeyAlgorithm::RsaHashed {
            name,
            modulus_length_bits,
            public_exponent,
            hash,
        } => {
            push(
                out,
                format_args!(
                    "{{\"name\":\"{name}\",\"hash\":{{\"name\":\"{hash}\"}},\
                     \"modulusLength\":{modulus_length_bits},\"publicExponent\":{{\"hex\":"
                ),
            );
            push_hex(out, public_exponent);
            out.extend_from_slice(b"}}");
        }
        CryptoKeyAlgorithm::Ec { name, named_curve } => push(
            out,
            format_args!("{{\"name\":\"{name}\",\"namedCurve\":\"{named_curve}\"}}"),
        ),
        CryptoKeyAlgorithm::Named { name } => {
            push(out, format_args!("{{\"name\":\"{name}\"}}"));
        }
    }
}

fn exception(out: &mut Vec<u8>, name: JsStr<'_>, message: JsStr<'_>) {
    push_member(out, "name");
    push_name(out, name);
    push_member(out, "message");
    push_name(out, message);
    push(out, format_args!(",\"code\":{}", legacy_code(name)));
}

/// The legacy `code` of a `DOMException` name (Web IDL, "DOMException names table").
fn legacy_code(name: JsStr<'_>) -> u8 {
    const CODES: [(&str, u8); 22] = [
        ("IndexSizeError", 1),
        ("HierarchyRequestError", 3),
        ("WrongDocumentError", 4),
        ("InvalidCharacterError", 5),
        ("NoModificationAllowedError", 7),
        ("NotFoundError", 8),
        ("NotSupportedError", 9),
        ("InUseAttributeError", 10),
        ("InvalidStateError", 11),
        ("SyntaxError", 12),
        ("InvalidModificationError", 13),
        ("NamespaceError", 14),
        ("InvalidAccessError", 15),
        ("TypeMismatchError", 17),
        ("SecurityError", 18),
        ("NetworkError", 19),
        ("AbortError", 20),
        ("URLMismatchError", 21),
        ("QuotaExceededError", 22),
        ("TimeoutError", 23),
        ("InvalidNodeTypeError", 24),
        ("DataCloneError", 25),
    ];
    CODES
        .iter()
        .find(|(known, _)| name == **known)
        .map_or(0, |(_, code)| *code)
}
