//! The kernels: plain loops over pixels. What runs beside what is `pipeline`'s business, but for
//! [`channels`], which says it itself.

use quadrants as qd;

use qd::Tensor;

/// Radius of the blur that gives the background: three times its sigma.
pub(crate) const WIDE: usize = 72;

/// Radius of the blur that makes sources stand out: four times its sigma.
pub(crate) const NARROW: usize = 6;

/// How far from the border a source is at least.
pub(crate) const BORDER: usize = 8;

/// Pixels of 8-bit red, green and blue, packed into 32 bits each, to one plane per channel in 0 to 1.
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

/// The weighted sum along a row around a pixel, with the row's ends repeated outwards.
#[qd::func]
fn along_row(
    from: &Tensor<f32, 2>,
    weights: &Tensor<f32, 1>,
    radius: usize,
    y: usize,
    x: usize,
) -> f32 {
    let last = from.shape()[1] - 1;
    let mut sum = 0.0;
    for k in 0..2 * radius + 1 {
        let at = ((x + k).max(radius) - radius).min(last);
        sum += weights[k] * from[[y, at]];
    }
    sum
}

/// The same along a column.
#[qd::func]
fn along_column(
    from: &Tensor<f32, 2>,
    weights: &Tensor<f32, 1>,
    radius: usize,
    y: usize,
    x: usize,
) -> f32 {
    let last = from.shape()[0] - 1;
    let mut sum = 0.0;
    for k in 0..2 * radius + 1 {
        let at = ((y + k).max(radius) - radius).min(last);
        sum += weights[k] * from[[at, x]];
    }
    sum
}

/// The sum of a row.
#[qd::func]
fn row_sum(of: &Tensor<f32, 2>, y: usize) -> f32 {
    let mut sum = 0.0;
    for x in 0..of.shape()[1] {
        sum += of[[y, x]];
    }
    sum
}

/// The sum of a row's squared distances from `mean`.
#[qd::func]
fn row_spread(of: &Tensor<f32, 2>, mean: f32, y: usize) -> f32 {
    let mut sum = 0.0;
    for x in 0..of.shape()[1] {
        let distance = of[[y, x]] - mean;
        sum += distance * distance;
    }
    sum
}

/// The sum of all rows' sums, divided by the number of pixels.
///
/// Rows first, then their sums, in one order: so the result is the same on every run and backend,
/// which atomic additions into one cell would not give.
#[qd::func]
fn average(rows: &Tensor<f32, 1>, width: usize) -> f32 {
    let mut sum = 0.0;
    for y in 0..rows.len() {
        sum += rows[y];
    }
    sum / (rows.len() * width) as f32
}

/// One channel from its plane to `smoothed`, the blurred difference from the background, with the
/// mean and the standard deviation of that.
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
    for (y, x) in qd::ndrange(plane.shape()) {
        scratch[[y, x]] = along_row(plane, wide, WIDE, y, x);
    }
    for (y, x) in qd::ndrange(plane.shape()) {
        background[[y, x]] = along_column(scratch, wide, WIDE, y, x);
    }
    for (y, x) in qd::ndrange(plane.shape()) {
        smoothed[[y, x]] = plane[[y, x]] - background[[y, x]];
    }
    for (y, x) in qd::ndrange(plane.shape()) {
        scratch[[y, x]] = along_row(smoothed, narrow, NARROW, y, x);
    }
    for (y, x) in qd::ndrange(plane.shape()) {
        smoothed[[y, x]] = along_column(scratch, narrow, NARROW, y, x);
    }
    for y in 0..rows.len() {
        rows[y] = row_sum(smoothed, y);
    }
    for i in 0..mean.len() {
        mean[i] = average(rows, plane.shape()[1]);
    }
    for y in 0..rows.len() {
        rows[y] = row_spread(smoothed, mean[0], y);
    }
    for i in 0..deviation.len() {
        deviation[i] = average(rows, plane.shape()[1]).sqrt();
    }
}

/// What [`channel`] does, for three channels beside each other: the blocks of the region run on streams
/// of their own, and what is launched next finds them joined.
#[qd::kernel]
#[allow(clippy::too_many_arguments)] // the parameters of `channel`, three times
pub(crate) fn channels(
    wide: &Tensor<f32, 1>,
    narrow: &Tensor<f32, 1>,
    red: &Tensor<f32, 2>,
    red_background: &mut Tensor<f32, 2>,
    red_scratch: &mut Tensor<f32, 2>,
    red_smoothed: &mut Tensor<f32, 2>,
    red_rows: &mut Tensor<f32, 1>,
    red_mean: &mut Tensor<f32, 1>,
    red_deviation: &mut Tensor<f32, 1>,
    green: &Tensor<f32, 2>,
    green_background: &mut Tensor<f32, 2>,
    green_scratch: &mut Tensor<f32, 2>,
    green_smoothed: &mut Tensor<f32, 2>,
    green_rows: &mut Tensor<f32, 1>,
    green_mean: &mut Tensor<f32, 1>,
    green_deviation: &mut Tensor<f32, 1>,
    blue: &Tensor<f32, 2>,
    blue_background: &mut Tensor<f32, 2>,
    blue_scratch: &mut Tensor<f32, 2>,
    blue_smoothed: &mut Tensor<f32, 2>,
    blue_rows: &mut Tensor<f32, 1>,
    blue_mean: &mut Tensor<f32, 1>,
    blue_deviation: &mut Tensor<f32, 1>,
) {
    qd::stream_parallel(|| {
        for (y, x) in qd::ndrange(red.shape()) {
            red_scratch[[y, x]] = along_row(red, wide, WIDE, y, x);
        }
        for (y, x) in qd::ndrange(red.shape()) {
            red_background[[y, x]] = along_column(red_scratch, wide, WIDE, y, x);
        }
        for (y, x) in qd::ndrange(red.shape()) {
            red_smoothed[[y, x]] = red[[y, x]] - red_background[[y, x]];
        }
        for (y, x) in qd::ndrange(red.shape()) {
            red_scratch[[y, x]] = along_row(red_smoothed, narrow, NARROW, y, x);
        }
        for (y, x) in qd::ndrange(red.shape()) {
            red_smoothed[[y, x]] = along_column(red_scratch, narrow, NARROW, y, x);
        }
        for y in 0..red_rows.len() {
            red_rows[y] = row_sum(red_smoothed, y);
        }
        for i in 0..red_mean.len() {
            red_mean[i] = average(red_rows, red.shape()[1]);
        }
        for y in 0..red_rows.len() {
            red_rows[y] = row_spread(red_smoothed, red_mean[0], y);
        }
        for i in 0..red_deviation.len() {
            red_deviation[i] = average(red_rows, red.shape()[1]).sqrt();
        }
    });
    qd::stream_parallel(|| {
        for (y, x) in qd::ndrange(green.shape()) {
            green_scratch[[y, x]] = along_row(green, wide, WIDE, y, x);
        }
        for (y, x) in qd::ndrange(green.shape()) {
            green_background[[y, x]] = along_column(green_scratch, wide, WIDE, y, x);
        }
        for (y, x) in qd::ndrange(green.shape()) {
            green_smoothed[[y, x]] = green[[y, x]] - green_background[[y, x]];
        }
        for (y, x) in qd::ndrange(green.shape()) {
            green_scratch[[y, x]] = along_row(green_smoothed, narrow, NARROW, y, x);
        }
        for (y, x) in qd::ndrange(green.shape()) {
            green_smoothed[[y, x]] = along_column(green_scratch, narrow, NARROW, y, x);
        }
        for y in 0..green_rows.len() {
            green_rows[y] = row_sum(green_smoothed, y);
        }
        for i in 0..green_mean.len() {
            green_mean[i] = average(green_rows, green.shape()[1]);
        }
        for y in 0..green_rows.len() {
            green_rows[y] = row_spread(green_smoothed, green_mean[0], y);
        }
        for i in 0..green_deviation.len() {
            green_deviation[i] = average(green_rows, green.shape()[1]).sqrt();
        }
    });
    qd::stream_parallel(|| {
        for (y, x) in qd::ndrange(blue.shape()) {
            blue_scratch[[y, x]] = along_row(blue, wide, WIDE, y, x);
        }
        for (y, x) in qd::ndrange(blue.shape()) {
            blue_background[[y, x]] = along_column(blue_scratch, wide, WIDE, y, x);
        }
        for (y, x) in qd::ndrange(blue.shape()) {
            blue_smoothed[[y, x]] = blue[[y, x]] - blue_background[[y, x]];
        }
        for (y, x) in qd::ndrange(blue.shape()) {
            blue_scratch[[y, x]] = along_row(blue_smoothed, narrow, NARROW, y, x);
        }
        for (y, x) in qd::ndrange(blue.shape()) {
            blue_smoothed[[y, x]] = along_column(blue_scratch, narrow, NARROW, y, x);
        }
        for y in 0..blue_rows.len() {
            blue_rows[y] = row_sum(blue_smoothed, y);
        }
        for i in 0..blue_mean.len() {
            blue_mean[i] = average(blue_rows, blue.shape()[1]);
        }
        for y in 0..blue_rows.len() {
            blue_rows[y] = row_spread(blue_smoothed, blue_mean[0], y);
        }
        for i in 0..blue_deviation.len() {
            blue_deviation[i] = average(blue_rows, blue.shape()[1]).sqrt();
        }
    });
}

/// How far a pixel stands out from its surroundings, over all channels, in standard deviations.
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
