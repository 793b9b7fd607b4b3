//! `ImageData` and `ImageBitmap`: a list of settings, a size, pixels.
//!
//! Since Blink version 18 settings are varint pairs ended by 0; before, an `ImageBitmap` had two
//! flags and an `ImageData` nothing. Source: Blink `serialized_params.h` (formerly
//! `serialized_color_params.h`). Pixels are not converted here.

use crate::Result;
use crate::value::reader::{Reader, invalid};
use crate::value::writer::Writer;

/// The version that brought settings.
const SETTINGS_VERSION_MIN: u32 = 18;

/// The version in which 8-bit pixels have a number of their own; before, they were "the platform's own" (0).
const RGBA8_VERSION_MIN: u32 = 20;

/// The version in which bitmaps have an orientation.
const ORIENTATION_VERSION_MIN: u32 = 21;

/// A predefined colour space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorSpace {
    /// `srgb`
    #[default]
    Srgb,
    /// `rec2020`
    Rec2020,
    /// `display-p3`
    DisplayP3,
    /// `rec2100-hlg`
    Rec2100Hlg,
    /// `rec2100-pq`
    Rec2100Pq,
    /// `srgb-linear`
    SrgbLinear,
}

impl ColorSpace {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.offset();
        Ok(match reader.varint_u32("colour space")? {
            // 0 is the "legacy" space of before Chromium 65, which Chromium reads as sRGB.
            0 | 1 => Self::Srgb,
            2 => Self::Rec2020,
            3 => Self::DisplayP3,
            4 => Self::Rec2100Hlg,
            5 => Self::Rec2100Pq,
            6 => Self::SrgbLinear,
            other => return invalid(u64::from(other), start, "colour space"),
        })
    }

    const fn id(self) -> u32 {
        match self {
            Self::Srgb => 1,
            Self::Rec2020 => 2,
            Self::DisplayP3 => 3,
            Self::Rec2100Hlg => 4,
            Self::Rec2100Pq => 5,
            Self::SrgbLinear => 6,
        }
    }

    /// JavaScript's name of the colour space.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Srgb => "srgb",
            Self::Rec2020 => "rec2020",
            Self::DisplayP3 => "display-p3",
            Self::Rec2100Hlg => "rec2100-hlg",
            Self::Rec2100Pq => "rec2100-pq",
            Self::SrgbLinear => "srgb-linear",
        }
    }
}

/// How a component of a pixel is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PixelFormat {
    /// One byte each for red, green, blue, alpha.
    #[default]
    Rgba8,
    /// One byte each for blue, green, red, alpha.
    Bgra8,
    /// One byte each for red, green, blue; one without meaning.
    Rgbx8,
    /// A half-precision float each.
    RgbaF16,
    /// A float each.
    RgbaF32,
}

impl PixelFormat {
    /// Bytes for a whole pixel.
    #[must_use]
    pub const fn pixel_len_bytes(self) -> u64 {
        match self {
            Self::Rgba8 | Self::Bgra8 | Self::Rgbx8 => 4,
            Self::RgbaF16 => 8,
            Self::RgbaF32 => 16,
        }
    }

    /// Its name in `docs/format/values.md`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rgba8 => "rgba8",
            Self::Bgra8 => "bgra8",
            Self::Rgbx8 => "rgbx8",
            Self::RgbaF16 => "rgba-float16",
            Self::RgbaF32 => "rgba-float32",
        }
    }
}

/// Everything the list of settings can say.
#[derive(Debug, Default)]
struct Settings {
    color_space: ColorSpace,
    parametric: Option<[f64; 16]>,
    bitmap_format: u32,
    data_format: u32,
    origin_clean: bool,
    premultiplied: bool,
    opaque: Option<bool>,
    orientation: u32,
}

impl Settings {
    fn read(reader: &mut Reader<'_>, for_bitmap: bool) -> Result<Self> {
        let mut settings = Self::default();
        loop {
            let start = reader.offset();
            match (reader.varint_u32("image setting")?, for_bitmap) {
                (0, _) => return Ok(settings),
                (1, _) => settings.color_space = ColorSpace::read(reader)?,
                (2, true) => settings.bitmap_format = reader.varint_u32("pixel format")?,
                (3, false) => settings.data_format = reader.varint_u32("pixel format")?,
                (4, true) => settings.origin_clean = reader.bool32("origin-clean flag")?,
                (5, true) => settings.premultiplied = reader.bool32("premultiplied flag")?,
                (6, true) => settings.opaque = Some(reader.bool32("opacity flag")?),
                (7, true) => {
                    let mut numbers = [0.0; 16];
                    for number in &mut numbers {
                        *number = reader.f64("parametric colour space")?;
                    }
                    settings.parametric = Some(numbers);
                }
                (8, true) => settings.orientation = reader.varint_u32("image orientation")?,
                (other, _) => return invalid(u64::from(other), start, "image setting"),
            }
        }
    }
}

/// Settings of one number each, and their end.
fn write_settings(writer: &mut Writer<'_>, settings: &[(u32, u32)]) {
    for (setting, value) in settings {
        writer.varint(*setting);
        writer.varint(*value);
    }
    writer.varint(0_u32);
}

fn write_pixels(writer: &mut Writer<'_>, (width, height): (u32, u32), pixels: &[u8]) {
    writer.varint(width);
    writer.varint(height);
    writer.len(pixels.len());
    writer.bytes(pixels);
}

/// The pixels, whose number must follow from size and format.
fn read_pixels<'a>(
    reader: &mut Reader<'a>,
    (width, height): (u32, u32),
    format: PixelFormat,
    what: &'static str,
) -> Result<&'a [u8]> {
    let start = reader.offset();
    let len = reader.varint_u64(what)?;
    let expected = u64::from(width)
        .checked_mul(u64::from(height))
        .and_then(|pixels| pixels.checked_mul(format.pixel_len_bytes()));
    if expected != Some(len) {
        return invalid(len, start, what);
    }
    reader.bytes(usize::try_from(len).unwrap_or(usize::MAX), what)
}

/// An `ImageData`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageData<'a> {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Colour space.
    pub color_space: ColorSpace,
    /// Storage of a component: [`PixelFormat::Rgba8`], [`PixelFormat::RgbaF16`] or
    /// [`PixelFormat::RgbaF32`].
    pub format: PixelFormat,
    /// The pixels, row by row from the top, not premultiplied.
    pub pixels: &'a [u8],
}

impl<'a> ImageData<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, version: u32) -> Result<Self> {
        let start = reader.offset();
        let settings = if version >= SETTINGS_VERSION_MIN {
            Settings::read(reader, false)?
        } else {
            Settings::default()
        };
        let format = match settings.data_format {
            0 => PixelFormat::Rgba8,
            // Chromium 156. It meant 16-bit integers once, in an experiment that never shipped.
            1 => PixelFormat::RgbaF16,
            2 => PixelFormat::RgbaF32,
            other => return invalid(u64::from(other), start, "ImageData format"),
        };
        let width = reader.varint_u32("ImageData width")?;
        let height = reader.varint_u32("ImageData height")?;
        Ok(Self {
            width,
            height,
            color_space: settings.color_space,
            format,
            pixels: read_pixels(reader, (width, height), format, "ImageData pixels")?,
        })
    }

    /// The least V8's and Blink's versions for it.
    pub(super) fn needs(&self) -> Option<(u32, u32, &'static str)> {
        let is_plain = matches!(
            self.format,
            PixelFormat::Rgba8 | PixelFormat::Bgra8 | PixelFormat::Rgbx8
        );
        Some(match self.color_space {
            ColorSpace::Srgb if is_plain => (13, SETTINGS_VERSION_MIN, "an ImageData"),
            ColorSpace::DisplayP3 if is_plain => (15, 21, "an ImageData of display-p3"),
            _ => (16, 21, "an ImageData of a newer colour space or format"),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let format = match self.format {
            PixelFormat::Rgba8 | PixelFormat::Bgra8 | PixelFormat::Rgbx8 => 0,
            PixelFormat::RgbaF16 => 1,
            PixelFormat::RgbaF32 => 2,
        };
        write_settings(writer, &[(1, self.color_space.id()), (3, format)]);
        write_pixels(writer, (self.width, self.height), self.pixels);
    }

    /// The class of its `data`.
    #[must_use]
    pub const fn array_name(&self) -> &'static str {
        match self.format {
            PixelFormat::RgbaF16 => "Float16Array",
            PixelFormat::RgbaF32 => "Float32Array",
            _ => "Uint8ClampedArray",
        }
    }
}

/// An `ImageBitmap`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageBitmap<'a> {
    /// Width in pixels as stored; orientations of 4 and above exchange width and height.
    pub stored_width: u32,
    /// Height in pixels as stored.
    pub stored_height: u32,
    /// Predefined colour space, if [`ImageBitmap::parametric`] does not say more.
    pub color_space: ColorSpace,
    /// Transfer function (g, a, b, c, d, e, f) and matrix to XYZ D50, row by row.
    pub parametric: Option<[f64; 16]>,
    /// Storage of a component.
    pub format: PixelFormat,
    /// Whether no content of other origins went into it.
    pub origin_clean: bool,
    /// Whether colours are multiplied by alpha.
    pub premultiplied: bool,
    /// Whether alpha is 1 everywhere.
    pub opaque: bool,
    /// Which way up: 0 as stored, 1 to 7 the other orientations of Exif in its order.
    pub orientation: u8,
    /// The pixels, row by row.
    pub pixels: &'a [u8],
}

impl<'a> ImageBitmap<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, version: u32) -> Result<Self> {
        let start = reader.offset();
        let settings = if version >= SETTINGS_VERSION_MIN {
            Settings::read(reader, true)?
        } else {
            Settings {
                origin_clean: reader.bool32("origin-clean flag")?,
                premultiplied: reader.bool32("premultiplied flag")?,
                ..Settings::default()
            }
        };
        let format = match settings.bitmap_format {
            // 0 was "the platform's own": RGBA where this is read, as Chromium does on a
            // little-endian machine other than Windows and Mac.
            0 | 2 => PixelFormat::Rgba8,
            1 => PixelFormat::RgbaF16,
            3 => PixelFormat::Bgra8,
            4 => PixelFormat::Rgbx8,
            other => return invalid(u64::from(other), start, "ImageBitmap format"),
        };
        let Some(orientation @ 0..=7) = u8::try_from(settings.orientation).ok() else {
            return invalid(u64::from(settings.orientation), start, "image orientation");
        };
        let stored_width = reader.varint_u32("ImageBitmap width")?;
        let stored_height = reader.varint_u32("ImageBitmap height")?;
        let size = (stored_width, stored_height);
        Ok(Self {
            stored_width,
            stored_height,
            color_space: settings.color_space,
            parametric: settings.parametric,
            format,
            origin_clean: settings.origin_clean,
            premultiplied: settings.premultiplied,
            // Unsaid, it means opaque.
            opaque: settings.opaque.unwrap_or(true),
            orientation,
            pixels: read_pixels(reader, size, format, "ImageBitmap pixels")?,
        })
    }

    /// The least V8's and Blink's versions for it.
    pub(super) fn needs(&self) -> (u32, u32, &'static str) {
        match self.color_space {
            _ if self.parametric.is_some() => (15, 21, "an ImageBitmap"),
            ColorSpace::Srgb if self.orientation == 0 => (13, 20, "an ImageBitmap"),
            ColorSpace::Srgb | ColorSpace::DisplayP3 => (15, 21, "an ImageBitmap"),
            _ => (16, 21, "an ImageBitmap of a newer colour space"),
        }
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let format = match self.format {
            // There is none of 32-bit floats.
            PixelFormat::RgbaF16 | PixelFormat::RgbaF32 => 1,
            PixelFormat::Rgba8 if writer.version().blink < RGBA8_VERSION_MIN => 0,
            PixelFormat::Rgba8 => 2,
            PixelFormat::Bgra8 => 3,
            PixelFormat::Rgbx8 => 4,
        };
        if let Some(numbers) = self.parametric {
            writer.varint(7_u32);
            numbers.iter().for_each(|number| writer.f64(*number));
        } else {
            writer.varint(1_u32);
            writer.varint(self.color_space.id());
        }
        let settings = [
            (2, format),
            (6, u32::from(self.opaque)),
            (4, u32::from(self.origin_clean)),
            (5, u32::from(self.premultiplied)),
            (8, u32::from(self.orientation)),
        ];
        let known = match writer.version().blink >= ORIENTATION_VERSION_MIN {
            true => &settings[..],
            false => &settings[..4],
        };
        write_settings(writer, known);
        write_pixels(writer, (self.stored_width, self.stored_height), self.pixels);
    }

    /// Width and height as JavaScript sees them.
    #[must_use]
    pub const fn size(&self) -> (u32, u32) {
        if self.orientation < 4 {
            (self.stored_width, self.stored_height)
        } else {
            (self.stored_height, self.stored_width)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_that_do_not_fill_the_picture_are_refused() {
        // sRGB, 1 by 1, four bytes: Chromium 75 and later.
        let whole = b"\x01\x01\x03\x00\x00\x01\x01\x04abcd";
        assert!(ImageData::read(&mut Reader::new(whole), 20).is_ok());
        let widths: [&[u8]; 2] = [b"\x02", b"\xff\xff\xff\xff\x0f"];
        for width in widths {
            let mut bytes = b"\x01\x01\x03\x00\x00".to_vec();
            bytes.extend(width);
            bytes.extend(b"\xff\xff\xff\xff\x0f\x04abcd");
            let error = ImageData::read(&mut Reader::new(&bytes), 20).unwrap_err();
            assert_eq!(error.what(), "ImageData pixels", "{width:x?}");
        }
        let short = b"\x01\x01\x03\x00\x00\x01\x02\x04abcd";
        assert!(ImageData::read(&mut Reader::new(short), 20).is_err());
    }

    #[test]
    fn settings_of_the_other_class_are_refused() {
        let premultiplied = b"\x05\x01\x00\x01\x01\x04abcd";
        let error = ImageData::read(&mut Reader::new(premultiplied), 20).unwrap_err();
        assert_eq!((error.offset(), error.what()), (0, "image setting"));
        assert!(ImageBitmap::read(&mut Reader::new(premultiplied), 20).is_ok());
    }

    #[test]
    fn a_bitmap_on_its_side_exchanges_width_and_height() {
        let on_its_side = b"\x08\x05\x00\x02\x01\x08abcdefgh";
        let image = ImageBitmap::read(&mut Reader::new(on_its_side), 21).unwrap();
        assert_eq!(image.size(), (1, 2));
        assert!(ImageBitmap::read(&mut Reader::new(b"\x08\x08\x00\x01\x01\x04abcd"), 21).is_err());
    }
}
