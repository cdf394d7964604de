//! The kernels: plain loops over pixels. `pipeline` decides what runs concurrently, except for
//! [`channels`], which has its own region.

use quadrants as qd;

use qd::Tensor;

/// Radius of the blur that gives the background: three times its sigma.
pub(crate) const WIDE: usize = 72;

/// Radius of the detection blur: four times its sigma.
pub(crate) const NARROW: usize = 6;

/// The smallest distance of a source from the border.
pub(crate) const BORDER: usize = 8;

/// Unpacks 8-bit red, green and blue from 32-bit pixels into one plane per channel with values in 0 to 1.
#[qd::kernel]
pub(crate) fn split(
    pixels: &Tensor<u32, 2>,
    red: &mut Tensor<f32, 2>,
    green: &mut Tensor<f32, 2>,
    blue: &mut Tensor<f32, 2>,
) {
    for (y, x) in qd::ndrange(pixels.shape()) {
        let pixel = pixels[[y, x]];
        red[[y, x]] = (pixel & 255) as f32 / 255.0;
        green[[y, x]] = ((pixel >> 8) & 255) as f32 / 255.0;
        blue[[y, x]] = ((pixel >> 16) & 255) as f32 / 255.0;
    }
}

/// The index `at + k - radius`, clamped to the plane.
#[qd::func]
fn tap(at: usize, k: usize, radius: usize, extent: usize) -> usize {
    ((at + k).max(radius) - radius).min(extent - 1)
}

/// One channel: its background, the blurred difference from that, and the mean and the standard
/// deviation of the remainder.
///
/// Each loop runs in parallel over its pixels or rows, after the loop above. Sums are taken along rows,
/// then over the rows: always in one order, so that every run and backend gives the same, which atomic
/// additions into one cell would not.
#[qd::kernel]
#[allow(clippy::too_many_arguments)] // each is a plane or a number that later kernels use
pub(crate) fn channel(
    wide: &Tensor<f32, 1>,
    narrow: &Tensor<f32, 1>,
    plane: &Tensor<f32, 2>,
    background: &mut Tensor<f32, 2>,
    scratch: &mut Tensor<f32, 2>,
    smoothed: &mut Tensor<f32, 2>,
    rows: &mut Tensor<f32, 1>,
    mean: &mut Tensor<f32, 1>,
    deviation: &mut Tensor<f32, 1>,
) {
    let [height, width] = plane.shape();
    for (y, x) in qd::ndrange(plane.shape()) {
        let mut sum = 0.0;
        for k in 0..2 * WIDE + 1 {
            sum += wide[k] * plane[[y, tap(x, k, WIDE, width)]];
        }
        scratch[[y, x]] = sum;
    }
    for (y, x) in qd::ndrange(plane.shape()) {
        let mut sum = 0.0;
        for k in 0..2 * WIDE + 1 {
            sum += wide[k] * scratch[[tap(y, k, WIDE, height), x]];
        }
        background[[y, x]] = sum;
    }
    for (y, x) in qd::ndrange(plane.shape()) {
        smoothed[[y, x]] = plane[[y, x]] - background[[y, x]];
    }
    for (y, x) in qd::ndrange(plane.shape()) {
        let mut sum = 0.0;
        for k in 0..2 * NARROW + 1 {
            sum += narrow[k] * smoothed[[y, tap(x, k, NARROW, width)]];
        }
        scratch[[y, x]] = sum;
    }
    for (y, x) in qd::ndrange(plane.shape()) {
        let mut sum = 0.0;
        for k in 0..2 * NARROW + 1 {
            sum += narrow[k] * scratch[[tap(y, k, NARROW, height), x]];
        }
        smoothed[[y, x]] = sum;
    }
    for y in 0..height {
        let mut sum = 0.0;
        for x in 0..width {
            sum += smoothed[[y, x]];
        }
        rows[y] = sum;
    }
    for i in 0..1 {
        let mut sum = 0.0;
        for y in 0..height {
            sum += rows[y];
        }
        mean[i] = sum / (height * width) as f32;
    }
    for y in 0..height {
        let mut sum = 0.0;
        for x in 0..width {
            let distance = smoothed[[y, x]] - mean[0];
            sum += distance * distance;
        }
        rows[y] = sum;
    }
    for i in 0..1 {
        let mut sum = 0.0;
        for y in 0..height {
            sum += rows[y];
        }
        deviation[i] = (sum / (height * width) as f32).sqrt();
    }
}

/// Defines [`channels`], whose blocks differ only in the names of their tensors.
macro_rules! channels {
    ($($plane:ident $background:ident $scratch:ident $smoothed:ident $rows:ident $mean:ident $deviation:ident;)*) => {
        /// [`channel`] for three channels concurrently: the blocks run on their own
        /// streams, and later launches come after all of them.
        #[qd::kernel]
        #[allow(clippy::too_many_arguments)] // the parameters of `channel`, for each block
        pub(crate) fn channels(
            wide: &Tensor<f32, 1>,
            narrow: &Tensor<f32, 1>,
            $(
                $plane: &Tensor<f32, 2>,
                $background: &mut Tensor<f32, 2>,
                $scratch: &mut Tensor<f32, 2>,
                $smoothed: &mut Tensor<f32, 2>,
                $rows: &mut Tensor<f32, 1>,
                $mean: &mut Tensor<f32, 1>,
                $deviation: &mut Tensor<f32, 1>,
            )*
        ) {
            $(qd::stream_parallel(|| {
                let [height, width] = $plane.shape();
                for (y, x) in qd::ndrange($plane.shape()) {
                    let mut sum = 0.0;
                    for k in 0..2 * WIDE + 1 {
                        sum += wide[k] * $plane[[y, tap(x, k, WIDE, width)]];
                    }
                    $scratch[[y, x]] = sum;
                }
                for (y, x) in qd::ndrange($plane.shape()) {
                    let mut sum = 0.0;
                    for k in 0..2 * WIDE + 1 {
                        sum += wide[k] * $scratch[[tap(y, k, WIDE, height), x]];
                    }
                    $background[[y, x]] = sum;
                }
                for (y, x) in qd::ndrange($plane.shape()) {
                    $smoothed[[y, x]] = $plane[[y, x]] - $background[[y, x]];
                }
                for (y, x) in qd::ndrange($plane.shape()) {
                    let mut sum = 0.0;
                    for k in 0..2 * NARROW + 1 {
                        sum += narrow[k] * $smoothed[[y, tap(x, k, NARROW, width)]];
                    }
                    $scratch[[y, x]] = sum;
                }
                for (y, x) in qd::ndrange($plane.shape()) {
                    let mut sum = 0.0;
                    for k in 0..2 * NARROW + 1 {
                        sum += narrow[k] * $scratch[[tap(y, k, NARROW, height), x]];
                    }
                    $smoothed[[y, x]] = sum;
                }
                for y in 0..height {
                    let mut sum = 0.0;
                    for x in 0..width {
                        sum += $smoothed[[y, x]];
                    }
                    $rows[y] = sum;
                }
                for i in 0..1 {
                    let mut sum = 0.0;
                    for y in 0..height {
                        sum += $rows[y];
                    }
                    $mean[i] = sum / (height * width) as f32;
                }
                for y in 0..height {
                    let mut sum = 0.0;
                    for x in 0..width {
                        let distance = $smoothed[[y, x]] - $mean[0];
                        sum += distance * distance;
                    }
                    $rows[y] = sum;
                }
                for i in 0..1 {
                    let mut sum = 0.0;
                    for y in 0..height {
                        sum += $rows[y];
                    }
                    $deviation[i] = (sum / (height * width) as f32).sqrt();
                }
            });)*
        }
    };
}

channels! {
    red red_background red_scratch red_smoothed red_rows red_mean red_deviation;
    green green_background green_scratch green_smoothed green_rows green_mean green_deviation;
    blue blue_background blue_scratch blue_smoothed blue_rows blue_mean blue_deviation;
}

/// The significance of a pixel over all channels, in standard deviations.
#[qd::kernel]
#[allow(clippy::too_many_arguments)] // plane, mean and deviation of three channels
pub(crate) fn combine(
    red: &Tensor<f32, 2>,
    red_mean: &Tensor<f32, 1>,
    red_deviation: &Tensor<f32, 1>,
    green: &Tensor<f32, 2>,
    green_mean: &Tensor<f32, 1>,
    green_deviation: &Tensor<f32, 1>,
    blue: &Tensor<f32, 2>,
    blue_mean: &Tensor<f32, 1>,
    blue_deviation: &Tensor<f32, 1>,
    detection: &mut Tensor<f32, 2>,
) {
    for (y, x) in qd::ndrange(detection.shape()) {
        let r = (red[[y, x]] - red_mean[0]) / red_deviation[0];
        let g = (green[[y, x]] - green_mean[0]) / green_deviation[0];
        let b = (blue[[y, x]] - blue_mean[0]) / blue_deviation[0];
        detection[[y, x]] = (r + g + b) / 3.0f32.sqrt();
    }
}

/// Appends each source to a catalogue, in no particular order: a pixel above the threshold that is
/// greater than its neighbours. Of equal neighbours the first in row-major order counts.
#[qd::kernel]
pub(crate) fn find(
    detection: &Tensor<f32, 2>,
    threshold: f32,
    count: &mut Tensor<usize, 1>,
    xs: &mut Tensor<u32, 1>,
    ys: &mut Tensor<u32, 1>,
    snrs: &mut Tensor<f32, 1>,
) {
    let [height, width] = detection.shape();
    for (y, x) in qd::ndrange((BORDER..height - BORDER, BORDER..width - BORDER)) {
        let here = detection[[y, x]];
        let above = detection[[y - 1, x - 1]]
            .max(detection[[y - 1, x]])
            .max(detection[[y - 1, x + 1]])
            .max(detection[[y, x - 1]]);
        let below = detection[[y, x + 1]]
            .max(detection[[y + 1, x - 1]])
            .max(detection[[y + 1, x]])
            .max(detection[[y + 1, x + 1]]);
        if here > threshold && here > above && here >= below {
            let k = qd::atomic_add(&mut count[0], 1);
            xs[k] = x as u32;
            ys[k] = y as u32;
            snrs[k] = here;
        }
    }
}
