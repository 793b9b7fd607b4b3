//! Objects of the web platform that are made of numbers, and those that pass through a script as they are.

use larder_codec::value::{
    Builder, ColorSpace, DomMatrix, DomPoint, DomRect, HandleKind, HostObject, ImageData, Object,
    PixelFormat,
};
use rquickjs::{Array, ArrayBuffer, Ctx, Result, Value};

use super::{Helpers, crypto_key};

/// An object of a class whose clone is numbers; `None` for another class or other numbers.
pub(super) fn geometry(kind: &str, numbers: &Array<'_>) -> Result<Option<HostObject<'static>>> {
    let flat: Result<Vec<f64>> = numbers.iter::<f64>().collect();
    let point = |numbers: &[f64]| match *numbers {
        [x, y, z, w] => Some(DomPoint { x, y, z, w }),
        _ => None,
    };
    let rect = |numbers: &[f64]| match *numbers {
        [x, y, width, height] => Some(DomRect {
            x,
            y,
            width,
            height,
        }),
        _ => None,
    };
    let flat = match kind {
        "DOMMatrix" | "DOMMatrixReadOnly" => return matrix(kind, numbers),
        _ => flat?,
    };
    Ok(match kind {
        "DOMPoint" => point(&flat).map(HostObject::DomPoint),
        "DOMPointReadOnly" => point(&flat).map(HostObject::DomPointReadOnly),
        "DOMRect" => rect(&flat).map(HostObject::DomRect),
        "DOMRectReadOnly" => rect(&flat).map(HostObject::DomRectReadOnly),
        "DOMQuad" => {
            let points: Option<Vec<_>> = flat.chunks(4).map(point).collect();
            let points = points.and_then(|points| points.try_into().ok());
            points.map(HostObject::DomQuad)
        }
        _ => None,
    })
}

/// Whether it is in the plane, and its sixteen numbers.
fn matrix(kind: &str, fields: &Array<'_>) -> Result<Option<HostObject<'static>>> {
    let mut members = [0.0; 16];
    for (at, member) in members.iter_mut().enumerate() {
        *member = fields.get(at + 1)?;
    }
    let matrix = DomMatrix {
        is_2d: fields.get(0)?,
        members,
    };
    Ok(Some(match kind {
        "DOMMatrix" => HostObject::DomMatrix(matrix),
        _ => HostObject::DomMatrixReadOnly(matrix),
    }))
}

const COLOR_SPACES: [ColorSpace; 6] = [
    ColorSpace::Srgb,
    ColorSpace::Rec2020,
    ColorSpace::DisplayP3,
    ColorSpace::Rec2100Hlg,
    ColorSpace::Rec2100Pq,
    ColorSpace::SrgbLinear,
];
/// With the names that `platform/image_data.js` has for them.
const PIXEL_FORMATS: [(PixelFormat, &str); 3] = [
    (PixelFormat::Rgba8, "rgba-unorm8"),
    (PixelFormat::RgbaF16, "rgba-float16"),
    (PixelFormat::RgbaF32, "rgba-float32"),
];

/// An `ImageData` of its width, height, colour space and pixel format.
pub(super) fn image_data<'p>(
    fields: &Array<'_>,
    pixels: &'p [u8],
) -> Result<Option<ImageData<'p>>> {
    let (color_space, format): (String, String) = (fields.get(2)?, fields.get(3)?);
    let mut color_spaces = COLOR_SPACES.into_iter();
    let mut formats = PIXEL_FORMATS.into_iter();
    let (Some(color_space), Some((format, _))) = (
        color_spaces.find(|known| known.name() == color_space),
        formats.find(|(_, name)| *name == format),
    ) else {
        return Ok(None);
    };
    Ok(Some(ImageData {
        width: fields.get(0)?,
        height: fields.get(1)?,
        color_space,
        format,
        pixels,
    }))
}

/// An object of one of the classes above; `None` for another.
pub(super) fn made<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    host: &HostObject<'_>,
) -> Result<Option<Value<'js>>> {
    let numbers = |name: &str, numbers: &[f64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
        let bytes = ArrayBuffer::new(ctx.clone(), bytes)?;
        helpers.make(ctx, "geometry", (name, bytes)).map(Some)
    };
    let of_point = |point: &DomPoint| [point.x, point.y, point.z, point.w];
    let of_rect = |rect: &DomRect| [rect.x, rect.y, rect.width, rect.height];
    let of_matrix = |matrix: &DomMatrix| {
        let mut all = vec![f64::from(u8::from(matrix.is_2d))];
        all.extend(matrix.members);
        all
    };
    match host {
        HostObject::DomPoint(point) => numbers("DOMPoint", &of_point(point)),
        HostObject::DomPointReadOnly(point) => numbers("DOMPointReadOnly", &of_point(point)),
        HostObject::DomRect(rect) => numbers("DOMRect", &of_rect(rect)),
        HostObject::DomRectReadOnly(rect) => numbers("DOMRectReadOnly", &of_rect(rect)),
        HostObject::DomQuad(points) => {
            numbers("DOMQuad", points.map(|p| of_point(&p)).as_flattened())
        }
        HostObject::DomMatrix(matrix) => numbers("DOMMatrix", &of_matrix(matrix)),
        HostObject::DomMatrixReadOnly(matrix) => numbers("DOMMatrixReadOnly", &of_matrix(matrix)),
        HostObject::CryptoKey(key) => crypto_key::made(ctx, helpers, key).map(Some),
        HostObject::ImageData(image) => {
            let mut formats = PIXEL_FORMATS.into_iter();
            let format = formats.find(|(format, _)| *format == image.format);
            let format = format.map_or("rgba-unorm8", |(_, name)| name);
            let pixels = ArrayBuffer::new_copy(ctx.clone(), image.pixels)?;
            let size = (image.width, image.height);
            let args = (size.0, size.1, image.color_space.name(), format, pixels);
            helpers.make(ctx, "imageData", args).map(Some)
        }
        _ => Ok(None),
    }
}

/// The class of an object that passes through a script as it is; `None` if it is of another kind.
pub(super) const fn opaque_class(host: &HostObject<'_>) -> Option<&'static str> {
    Some(match host {
        HostObject::DomFileSystem { .. } => "DOMFileSystem",
        HostObject::FileSystemHandle(handle) => match handle.kind {
            HandleKind::File => "FileSystemFileHandle",
            HandleKind::Directory => "FileSystemDirectoryHandle",
        },
        HostObject::ImageBitmap(_) => "ImageBitmap",
        HostObject::RtcCertificate { .. } => "RTCCertificate",
        _ => return None,
    })
}

/// A serialised value that is this object alone.
pub(super) fn alone(host: &HostObject<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut builder = Builder::begin(&mut bytes);
    builder.leaf(&Object::Host(Box::new(host.clone())));
    builder.end();
    bytes
}
