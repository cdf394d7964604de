//! The reference in plain Rust, without kernels, for comparison with the pipeline's catalogue.

use image::RgbImage;

use crate::{
    catalogue::{self, Source},
    kernels::{BORDER, NARROW, WIDE},
    pipeline::gaussian,
};

/// A plane of a picture.
struct Plane {
    width: usize,
    values: Vec<f32>,
}

impl Plane {
    fn new(width: usize, height: usize, value: impl Fn(usize, usize) -> f32) -> Self {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (y, x)));
        Self { width, values: pixels.map(|(y, x)| value(y, x)).collect() }
    }

    fn height(&self) -> usize {
        self.values.len() / self.width
    }

    /// The value at a position, clamped to the plane.
    fn at(&self, y: isize, x: isize) -> f32 {
        let y = y.clamp(0, self.height() as isize - 1) as usize;
        let x = x.clamp(0, self.width as isize - 1) as usize;
        self.values[y * self.width + x]
    }

    fn blurred(&self, weights: &[f32]) -> Self {
        let radius = (weights.len() / 2) as isize;
        let sum = |value: &dyn Fn(isize) -> f32| -> f32 {
            weights.iter().zip(-radius..).map(|(weight, step)| weight * value(step)).sum()
        };
        let rows = Self::new(self.width, self.height(), |y, x| {
            sum(&|step| self.at(y as isize, x as isize + step))
        });
        Self::new(self.width, self.height(), |y, x| {
            sum(&|step| rows.at(y as isize + step, x as isize))
        })
    }
}

/// The sources of a picture, in the catalogue's order.
pub(crate) fn sources(picture: &RgbImage, threshold: f32) -> Vec<Source> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let normalized: Vec<Plane> = (0..3)
        .map(|channel| {
            let plane = Plane::new(width, height, |y, x| {
                f32::from(picture.get_pixel(x as u32, y as u32).0[channel]) / 255.0
            });
            let background = plane.blurred(&gaussian(24.0, WIDE));
            let residual = Plane::new(width, height, |y, x| {
                plane.values[y * width + x] - background.values[y * width + x]
            });
            let smoothed = residual.blurred(&gaussian(1.5, NARROW));
            let count = (width * height) as f32;
            let mean = row_by_row(&smoothed, |value| value) / count;
            let square = |value: f32| (value - mean) * (value - mean);
            let deviation = (row_by_row(&smoothed, square) / count).sqrt();
            Plane::new(width, height, |y, x| (smoothed.values[y * width + x] - mean) / deviation)
        })
        .collect();
    let detection = Plane::new(width, height, |y, x| {
        normalized.iter().map(|plane| plane.values[y * width + x]).sum::<f32>() / 3.0f32.sqrt()
    });
    let mut found = Vec::new();
    for y in BORDER..height - BORDER {
        for x in BORDER..width - BORDER {
            let here = detection.at(y as isize, x as isize);
            let stands_out = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dy, dx))).all(|step| {
                let there = detection.at(y as isize + step.0, x as isize + step.1);
                match step {
                    (0, 0) => true,
                    earlier if earlier < (0, 0) => here > there,
                    _ => here >= there,
                }
            });
            if here > threshold && stands_out {
                found.push(Source { x: x as u32, y: y as u32, snr: here });
            }
        }
    }
    catalogue::sort(&mut found);
    found
}

/// Rows first, then their sums: the order of additions that keeps the rounding small.
fn row_by_row(plane: &Plane, term: impl Fn(f32) -> f32) -> f32 {
    plane.values.chunks(plane.width).map(|row| row.iter().map(|v| term(*v)).sum::<f32>()).sum()
}
