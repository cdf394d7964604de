//! Pictures: reading and cropping the photograph, and writing the results.

use std::{fmt, path::Path, str::FromStr};

use image::{GrayImage, Luma, Rgb, RgbImage};

use crate::{Error, catalogue::Source, kernels::BORDER};

/// The smallest width and height in which a pixel can be far enough from every border.
pub(crate) const SMALLEST: u32 = 2 * BORDER as u32 + 1;

/// A part of a picture: `WxH+X+Y`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Crop {
    width: u32,
    height: u32,
    x: u32,
    y: u32,
}

impl FromStr for Crop {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (width, rest) = text.split_once('x')?;
            let (height, rest) = rest.split_once('+')?;
            let (x, y) = rest.split_once('+')?;
            let number = |digits: &str| {
                let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                plain.then(|| digits.parse().ok()).flatten()
            };
            Some(Self {
                width: number(width)?,
                height: number(height)?,
                x: number(x)?,
                y: number(y)?,
            })
        };
        parse().ok_or("not of the form WxH+X+Y, as in 256x256+0+0")
    }
}

impl fmt::Display for Crop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}+{}+{}", self.width, self.height, self.x, self.y)
    }
}

/// Reads a PNG or JPEG picture and crops it.
pub(crate) fn read(path: &Path, crop: Option<Crop>) -> Result<RgbImage, Error> {
    let reader = image::ImageReader::open(path)
        .and_then(image::ImageReader::with_guessed_format)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let decoded =
        reader.decode().map_err(|source| Error::Decode { path: path.to_owned(), source })?;
    let whole = decoded.into_rgb8();
    let photo = match crop {
        Some(crop) => part(&whole, crop)?,
        None => whole,
    };
    let (width, height) = photo.dimensions();
    if width < SMALLEST || height < SMALLEST {
        return Err(Error::TooSmall { width, height });
    }
    Ok(photo)
}

fn part(whole: &RgbImage, crop: Crop) -> Result<RgbImage, Error> {
    let (width, height) = whole.dimensions();
    let fits = |begin: u32, length: u32, end: u32| {
        begin.checked_add(length).is_some_and(|reached| reached <= end)
    };
    if !fits(crop.x, crop.width, width) || !fits(crop.y, crop.height, height) {
        return Err(Error::Crop { crop, width, height });
    }
    Ok(image::imageops::crop_imm(whole, crop.x, crop.y, crop.width, crop.height).to_image())
}

/// The pixels as the first kernel takes them: red in the lowest byte, then green, then blue.
pub(crate) fn packed(photo: &RgbImage) -> Vec<u32> {
    photo.pixels().map(|Rgb([r, g, b])| u32::from_le_bytes([*r, *g, *b, 0])).collect()
}

/// Writes the photograph with a circle around each source, wider for brighter ones.
pub(crate) fn write_annotated(
    path: &Path,
    photo: &RgbImage,
    sources: &[Source],
) -> Result<(), Error> {
    let mut annotated = photo.clone();
    // The brightest last, over all others.
    for source in sources.iter().rev() {
        let radius = (2.0 + 0.5 * source.snr).clamp(3.0, 14.0);
        // From green (faint) to pink (bright), colors that do not occur in the sky.
        let share = ((source.snr - 4.0) / 8.0).clamp(0.0, 1.0);
        let color = Rgb([(64.0 + 191.0 * share) as u8, (255.0 - 191.0 * share) as u8, 192]);
        circle(&mut annotated, source.x, source.y, radius, color);
    }
    save(path, |path| annotated.save(path))
}

/// Draws a circle, clipped to the picture.
fn circle(picture: &mut RgbImage, x: u32, y: u32, radius: f32, color: Rgb<u8>) {
    let steps = (radius * 8.0).ceil() as u32;
    for step in 0..steps {
        let angle = step as f32 / steps as f32 * std::f32::consts::TAU;
        let at_x = x as f32 + radius * angle.cos();
        let at_y = y as f32 + radius * angle.sin();
        if let Some(pixel) =
            in_picture(at_x, at_y).and_then(|(x, y)| picture.get_pixel_mut_checked(x, y))
        {
            *pixel = color;
        }
    }
}

fn in_picture(x: f32, y: f32) -> Option<(u32, u32)> {
    let (x, y) = (x.round(), y.round());
    (x >= 0.0 && y >= 0.0).then_some((x as u32, y as u32))
}

/// Writes the significance of each pixel: black is the mean, white is `brightest` deviations or more.
pub(crate) fn write_detection(
    path: &Path,
    size: (u32, u32),
    detection: &[f32],
    brightest: f32,
) -> Result<(), Error> {
    let picture = GrayImage::from_fn(size.0, size.1, |x, y| {
        let value = detection[y as usize * size.0 as usize + x as usize];
        Luma([(value / brightest * 255.0) as u8]) // the cast saturates, and takes NaN as 0
    });
    save(path, |path| picture.save(path))
}

/// Writes the background. It is dark: its brightest value becomes white.
pub(crate) fn write_background(
    path: &Path,
    size: (u32, u32),
    background: &[Vec<f32>; 3],
) -> Result<(), Error> {
    let brightest = background.iter().flatten().copied().fold(f32::MIN_POSITIVE, f32::max);
    let picture = RgbImage::from_fn(size.0, size.1, |x, y| {
        let at = y as usize * size.0 as usize + x as usize;
        Rgb(background.each_ref().map(|channel| (channel[at] / brightest * 255.0) as u8))
    });
    save(path, |path| picture.save(path))
}

fn save(path: &Path, write: impl FnOnce(&Path) -> image::ImageResult<()>) -> Result<(), Error> {
    write(path).map_err(|source| Error::Encode { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crop_parses_from_its_display_text() {
        let crop: Crop = "256x128+7+0".parse().unwrap();
        assert_eq!(crop, Crop { width: 256, height: 128, x: 7, y: 0 });
        assert_eq!(crop.to_string(), "256x128+7+0");
        for wrong in ["", "256", "256x128", "256x128+7", "ax1+0+0", "1x1+0+-1", "1x1++0+0"] {
            assert!(wrong.parse::<Crop>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_crop_outside_the_picture_is_rejected() {
        let whole = RgbImage::from_fn(20, 10, |x, y| Rgb([x as u8, y as u8, 0]));
        let inside = part(&whole, "4x3+16+7".parse().unwrap()).unwrap();
        assert_eq!(inside.dimensions(), (4, 3));
        assert_eq!(*inside.get_pixel(0, 0), Rgb([16, 7, 0]));
        for outside in ["4x3+17+7", "4x4+16+7", "1x1+4294967295+0"] {
            let error = part(&whole, outside.parse().unwrap()).unwrap_err();
            assert!(matches!(error, Error::Crop { .. }), "{outside}");
        }
    }

    #[test]
    fn circles_at_the_border_are_clipped() {
        let mut picture = RgbImage::new(20, 20);
        circle(&mut picture, 0, 19, 6.0, Rgb([255, 0, 0]));
        let drawn: Vec<_> = picture.enumerate_pixels().filter(|(.., p)| p.0[0] == 255).collect();
        assert!(!drawn.is_empty());
        for (x, y, _) in drawn {
            let distance = (x as f32).hypot(19.0 - y as f32);
            assert!((distance - 6.0).abs() < 1.0, "{x} {y}");
        }
    }

    #[test]
    fn pixels_are_packed_with_red_in_the_lowest_byte() {
        let photo = RgbImage::from_pixel(1, 1, Rgb([1, 2, 3]));
        assert_eq!(packed(&photo), [0x0003_0201]);
    }
}
