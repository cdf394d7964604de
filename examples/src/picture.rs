//! From numbers to pixels.

use image::{Rgb, RgbImage};

/// A picture of `width` times `height` pixels, the top row first, from linear light in 0 to 1.
pub(crate) fn picture(
    width: usize,
    height: usize,
    light: impl Fn(usize, usize) -> [f32; 3],
) -> RgbImage {
    RgbImage::from_fn(width as u32, height as u32, |x, y| {
        Rgb(light(x as usize, y as usize).map(encoded))
    })
}

/// Light as a screen takes it.
fn encoded(light: f32) -> u8 {
    (light.clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0).round() as u8
}
