//! Conversion of linear light to pixels.

use std::ops::Range;

use image::{Rgb, RgbImage};

/// A picture of `width` times `height` pixels, the top row first, from linear light in 0 to 1.
pub(crate) fn picture(
    width: usize,
    height: usize,
    light: impl Fn(usize, usize) -> [f32; 3],
) -> RgbImage {
    Canvas::new(width, height, light).picture()
}

/// A canvas of linear light; coordinates are pixels from the top left corner.
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    light: Vec<[f32; 3]>,
}

impl Canvas {
    /// A background.
    pub(crate) fn new(
        width: usize,
        height: usize,
        light: impl Fn(usize, usize) -> [f32; 3],
    ) -> Self {
        let light = (0..width * height).map(|at| light(at % width, at / width)).collect();
        Self { width, height, light }
    }

    /// Draws a disc with a soft edge and the opacity `cover`.
    pub(crate) fn disc(&mut self, at: [f32; 2], radius: f32, color: [f32; 3], cover: f32) {
        self.line(at, at, radius, color, cover);
    }

    /// As a disc that moved from one place to the other.
    pub(crate) fn line(
        &mut self,
        from: [f32; 2],
        to: [f32; 2],
        radius: f32,
        color: [f32; 3],
        cover: f32,
    ) {
        let range = |a: f32, b: f32, extent: usize| {
            let least = (a.min(b) - radius - 1.0).max(0.0) as usize;
            least..((a.max(b) + radius + 1.0).max(0.0) as usize + 1).min(extent)
        };
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let square = (dx * dx + dy * dy).max(1e-12);
        for y in range(from[1], to[1], self.height) {
            for x in range(from[0], to[0], self.width) {
                let (px, py) = (x as f32 + 0.5 - from[0], y as f32 + 0.5 - from[1]);
                let along = ((px * dx + py * dy) / square).clamp(0.0, 1.0);
                let away = (px - along * dx).hypot(py - along * dy);
                let share = cover * (radius + 0.5 - away).clamp(0.0, 1.0);
                for (light, color) in self.light[y * self.width + x].iter_mut().zip(color) {
                    *light += (color - *light) * share;
                }
            }
        }
    }

    /// The picture in sRGB.
    pub(crate) fn picture(&self) -> RgbImage {
        RgbImage::from_fn(self.width as u32, self.height as u32, |x, y| {
            Rgb(self.light[y as usize * self.width + x as usize].map(encoded))
        })
    }
}

/// The numbers of the pictures that are due after a step, of `count` spread evenly over `steps`. The last step
/// has the last picture.
pub(crate) fn due(step: usize, steps: usize, count: usize) -> Range<usize> {
    step * count / steps..(step + 1) * count / steps
}

/// Linear light as an sRGB byte.
fn encoded(light: f32) -> u8 {
    (light.clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0).round() as u8
}
