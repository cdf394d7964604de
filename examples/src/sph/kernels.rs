//! The kernels of the water. They are `strict`, and particles are kept in an order that does not depend on which
//! thread comes first: so every backend gives the same bits.
//!
//! A hash grid says which particles are near: cells of one reach's size, each with a bucket that its
//! coordinates choose. Particles are sorted by bucket in each step, by counting; a bucket that two cells share
//! only costs time, as each particle's own cell is looked at.
//!
//! Lengths are in metres and times in seconds. Water has a density of 1 (in two dimensions), and the smoothing
//! function is Wendland's of fourth order, which ends at `reach`.

use quadrants as qd;

use qd::Tensor;

/// How many buckets one iteration of the prefix sum adds up.
pub(crate) const CHUNK: usize = 64;

/// The tank is so wide and high.
pub(crate) const WIDTH: f32 = 2.0;
pub(crate) const HEIGHT: f32 = 1.0;
/// A round bump on its floor.
pub(crate) const BUMP_X: f32 = 1.25;
pub(crate) const BUMP_Y: f32 = -0.16;
pub(crate) const BUMP_RADIUS: f32 = 0.3;
/// Over such a length the bump goes over into the floor.
pub(crate) const BLEND: f32 = 0.2;

pub(crate) const GRAVITY: f32 = 9.81;
/// The speed of sound: far above the water's, and far below nature's, as steps must not miss it.
pub(crate) const SOUND: f32 = 30.0;
/// How strongly particles brake that meet.
pub(crate) const VISCOSITY: f32 = 0.12;

/// Further cells do not occur; so nothing is computed of cells that does not fit its type, and launches can prove
/// that buckets are there.
const MOST_CELLS: i32 = 1_000_000;

#[qd::func]
fn cell_of(along: f32, reach: f32) -> i32 {
    ((along / reach).floor() as i32).clamp(-MOST_CELLS, MOST_CELLS)
}

#[qd::func]
fn bucket_of(cell_x: i32, cell_y: i32, buckets: u32) -> usize {
    let hash = (cell_x as u32 as u64 * 73_856_093) ^ (cell_y as u32 as u64 * 19_349_663);
    (hash as u32 % buckets) as usize
}

/// The smoothing function at the distance of `q` reaches.
#[qd::func]
fn smooth(q: f32, reach: f32) -> f32 {
    let rest = (1.0 - q) * (1.0 - q);
    2.228_169_2 / (reach * reach) * (rest * rest) * (1.0 + 4.0 * q)
}

/// Its slope there: what a vector between two particles is multiplied with.
#[qd::func]
fn slope(q: f32, reach: f32) -> f32 {
    let rest = 1.0 - q;
    let square = reach * reach;
    -44.563_384 / (square * square) * (rest * rest * rest)
}

/// What a wall at this distance adds to the density: the smoothing function's part behind it, as a fitted
/// polynomial. It goes on a little inside the wall.
#[qd::func]
fn of_wall(distance: f32, reach: f32) -> f32 {
    let t = (1.0 - distance / reach).clamp(0.0, 1.2);
    let t2 = t * t;
    let series = 0.708_446_4 + (1.465_322 + (-2.540_843 + 0.867_133_7 * t) * t) * t;
    t2 * t2 * t * series
}

/// Minus its slope.
#[qd::func]
fn of_wall_slope(distance: f32, reach: f32) -> f32 {
    let t = (1.0 - distance / reach).clamp(0.0, 1.2);
    let t2 = t * t;
    let series = 3.542_232 + (8.791_929 + (-17.785_9 + 6.937_069 * t) * t) * t;
    t2 * t2 * series / reach
}

/// How far a point is from the middle of the bump.
#[qd::func]
fn from_bump(x: f32, y: f32) -> f32 {
    let dx = x - BUMP_X;
    let dy = y - BUMP_Y;
    (dx * dx + dy * dy).sqrt()
}

/// How much the floor next to a point is the bump's.
#[qd::func]
fn bump_share(x: f32, y: f32) -> f32 {
    (0.5 + 0.5 * (y - (from_bump(x, y) - BUMP_RADIUS)) / BLEND).clamp(0.0, 1.0)
}

/// How far a point is above the floor, of which the bump is a part: the smaller of two distances, rounded off.
#[qd::func]
pub(crate) fn to_floor(x: f32, y: f32) -> f32 {
    let share = bump_share(x, y);
    let bump = from_bump(x, y) - BUMP_RADIUS;
    y + (bump - y) * share - BLEND * share * (1.0 - share)
}

/// The density that the walls and the floor add at a point.
#[qd::func]
fn of_walls(x: f32, y: f32, reach: f32) -> f32 {
    of_wall(x, reach) + of_wall(WIDTH - x, reach) + of_wall(to_floor(x, y), reach)
}

/// Sorts the particles by bucket, and within a bucket by their old order.
///
/// The `min`s change nothing: they are there for the proof that all accesses are within their tensors, which
/// does not know what was counted.
#[qd::kernel(strict)]
#[allow(clippy::too_many_arguments)] // particles before and after, and what is counted
pub(crate) fn sort(
    reach: f32,
    buckets: u32,
    position: &Tensor<f32, 2>,
    velocity: &Tensor<f32, 2>,
    counts: &mut Tensor<u32, 1>,
    sums: &mut Tensor<u32, 1>,
    starts: &mut Tensor<u32, 1>,
    slots: &mut Tensor<u32, 1>,
    order: &mut Tensor<u32, 1>,
    new_position: &mut Tensor<f32, 2>,
    new_velocity: &mut Tensor<f32, 2>,
) {
    let particles = order.len();
    for bucket in 0..counts.len() {
        counts[bucket] = 0;
    }
    for slot in 0..particles {
        order[slot] = 0;
    }
    for i in 0..particles {
        let cell_x = cell_of(position[[i, 0]], reach);
        let cell_y = cell_of(position[[i, 1]], reach);
        qd::atomic_add(&mut counts[bucket_of(cell_x, cell_y, buckets)], 1);
    }

    // Where each bucket begins: sums of chunks, sums of these, and sums within chunks.
    for chunk in 0..sums.len() {
        let mut sum = 0;
        for k in 0..CHUNK {
            sum += counts[chunk * CHUNK + k];
        }
        sums[chunk] = sum;
    }
    for _ in 0..1 {
        let mut sum = 0;
        for chunk in 0..sums.len() {
            let own = sums[chunk];
            sums[chunk] = sum;
            sum += own;
        }
        starts[counts.len()] = sum;
    }
    for chunk in 0..sums.len() {
        let mut sum = sums[chunk];
        for k in 0..CHUNK {
            starts[chunk * CHUNK + k] = sum;
            slots[chunk * CHUNK + k] = sum;
            sum += counts[chunk * CHUNK + k];
        }
    }

    // Each particle takes a slot of its bucket: some slot. It is written once, and the maximum with the 0 that
    // is there is the number itself.
    for i in 0..particles {
        let cell_x = cell_of(position[[i, 0]], reach);
        let cell_y = cell_of(position[[i, 1]], reach);
        let slot = qd::atomic_add(&mut slots[bucket_of(cell_x, cell_y, buckets)], 1);
        qd::atomic_max(&mut order[(slot as usize).min(particles - 1)], i as u32);
    }
    // The slot's own particle: the one before which so many of the bucket come.
    for slot in 0..particles {
        let any = (order[slot] as usize).min(particles - 1);
        let cell_x = cell_of(position[[any, 0]], reach);
        let cell_y = cell_of(position[[any, 1]], reach);
        let bucket = bucket_of(cell_x, cell_y, buckets);
        let first = (starts[bucket] as usize).min(particles);
        let last = (starts[bucket + 1] as usize).min(particles);
        let mut own = any;
        for k in first..last {
            let mut before = first;
            for other in first..last {
                if order[other] < order[k] {
                    before += 1;
                }
            }
            if before == slot {
                own = order[k] as usize;
            }
        }
        own = own.min(particles - 1);
        for axis in 0..2 {
            new_position[[slot, axis]] = position[[own, axis]];
            new_velocity[[slot, axis]] = velocity[[own, axis]];
        }
    }
}

/// A step of sorted particles: densities, then the forces that come from them, then velocities and positions.
#[qd::kernel(strict)]
#[allow(clippy::too_many_arguments)] // four numbers, the grid and the particles
pub(crate) fn step(
    dt: f32,
    mass: f32,
    reach: f32,
    buckets: u32,
    starts: &Tensor<u32, 1>,
    density: &mut Tensor<f32, 1>,
    acceleration: &mut Tensor<f32, 2>,
    position: &mut Tensor<f32, 2>,
    velocity: &mut Tensor<f32, 2>,
) {
    let particles = density.len();
    for i in 0..particles {
        let x = position[[i, 0]];
        let y = position[[i, 1]];
        let cell_x = cell_of(x, reach);
        let cell_y = cell_of(y, reach);
        let mut sum = of_walls(x, y, reach);
        for near in 0..9 {
            let near_x = cell_x + near % 3 - 1;
            let near_y = cell_y + near / 3 - 1;
            let bucket = bucket_of(near_x, near_y, buckets);
            let first = (starts[bucket] as usize).min(particles);
            let last = (starts[bucket + 1] as usize).min(particles);
            for j in first..last {
                let dx = x - position[[j, 0]];
                let dy = y - position[[j, 1]];
                let square = dx * dx + dy * dy;
                if square < reach * reach
                    && cell_of(position[[j, 0]], reach) == near_x
                    && cell_of(position[[j, 1]], reach) == near_y
                {
                    sum += mass * smooth(square.sqrt() / reach, reach);
                }
            }
        }
        density[i] = sum;
    }
    for i in 0..particles {
        let x = position[[i, 0]];
        let y = position[[i, 1]];
        let u = velocity[[i, 0]];
        let v = velocity[[i, 1]];
        let cell_x = cell_of(x, reach);
        let cell_y = cell_of(y, reach);
        let pressure = pressure_of(density[i]);
        let own = pressure / (density[i] * density[i]);
        // Behind a wall the water is as here.
        let wall = own + pressure;
        let left = of_wall_slope(x, reach) - of_wall_slope(WIDTH - x, reach);
        let floor = wall * of_wall_slope(to_floor(x, y), reach);
        let share = bump_share(x, y);
        let of_bump = floor * share / from_bump(x, y);
        let mut acceleration_x = wall * left + of_bump * (x - BUMP_X);
        let mut acceleration_y = floor * (1.0 - share) + of_bump * (y - BUMP_Y) - GRAVITY;
        for near in 0..9 {
            let near_x = cell_x + near % 3 - 1;
            let near_y = cell_y + near / 3 - 1;
            let bucket = bucket_of(near_x, near_y, buckets);
            let first = (starts[bucket] as usize).min(particles);
            let last = (starts[bucket + 1] as usize).min(particles);
            for j in first..last {
                let dx = x - position[[j, 0]];
                let dy = y - position[[j, 1]];
                let square = dx * dx + dy * dy;
                if square < reach * reach
                    && cell_of(position[[j, 0]], reach) == near_x
                    && cell_of(position[[j, 1]], reach) == near_y
                {
                    let other = density[j];
                    let meeting = dx * (u - velocity[[j, 0]]) + dy * (v - velocity[[j, 1]]);
                    let brake = VISCOSITY * SOUND * reach * meeting.min(0.0)
                        / ((square + 0.01 * reach * reach) * (density[i] + other));
                    let force = own + pressure_of(other) / (other * other) - brake;
                    let share = mass * force * slope(square.sqrt() / reach, reach);
                    acceleration_x -= share * dx;
                    acceleration_y -= share * dy;
                }
            }
        }
        acceleration[[i, 0]] = acceleration_x;
        acceleration[[i, 1]] = acceleration_y;
    }
    for i in 0..particles {
        let mut u = velocity[[i, 0]] + dt * acceleration[[i, 0]];
        let mut v = velocity[[i, 1]] + dt * acceleration[[i, 1]];
        let mut x = position[[i, 0]] + dt * u;
        let mut y = position[[i, 1]] + dt * v;
        // Floor and walls hold back what comes too fast for their pressure.
        let edge = 0.02 * reach;
        let below = edge - to_floor(x, y);
        if below > 0.0 {
            let share = bump_share(x, y);
            let away = from_bump(x, y);
            let up_x = share * (x - BUMP_X) / away;
            let up_y = share * (y - BUMP_Y) / away + (1.0 - share);
            let sinking = (u * up_x + v * up_y).min(0.0);
            x += below * up_x;
            y += below * up_y;
            u -= sinking * up_x;
            v -= sinking * up_y;
        }
        let stays_x = x.clamp(edge, WIDTH - edge);
        let stays_y = y.clamp(edge, HEIGHT - edge);
        position[[i, 0]] = stays_x;
        position[[i, 1]] = stays_y;
        velocity[[i, 0]] = if stays_x == x { u } else { 0.0 };
        velocity[[i, 1]] = if stays_y == y { v } else { 0.0 };
    }
}

/// The pressure at a density, by Tait's equation; water that is torn apart does not pull.
#[qd::func]
fn pressure_of(density: f32) -> f32 {
    let square = density * density;
    (SOUND * SOUND / 7.0 * (square * square * (square * density) - 1.0)).max(0.0)
}

/// How much water there is around each point of a picture, the top row first, and how fast it is.
#[qd::kernel(strict)]
#[allow(clippy::too_many_arguments)] // as above
pub(crate) fn render(
    mass: f32,
    reach: f32,
    buckets: u32,
    starts: &Tensor<u32, 1>,
    density: &Tensor<f32, 1>,
    position: &Tensor<f32, 2>,
    velocity: &Tensor<f32, 2>,
    image: &mut Tensor<f32, 3>,
) {
    let particles = density.len();
    let [height, width, _values] = image.shape();
    for (py, px) in qd::ndrange([image.shape()[0], image.shape()[1]]) {
        let x = (px as f32 + 0.5) * (WIDTH / width as f32);
        let y = HEIGHT - (py as f32 + 0.5) * (HEIGHT / height as f32);
        let cell_x = cell_of(x, reach);
        let cell_y = cell_of(y, reach);
        let mut water = 0.0;
        let mut motion = 0.0;
        for near in 0..9 {
            let near_x = cell_x + near % 3 - 1;
            let near_y = cell_y + near / 3 - 1;
            let bucket = bucket_of(near_x, near_y, buckets);
            let first = (starts[bucket] as usize).min(particles);
            let last = (starts[bucket + 1] as usize).min(particles);
            for j in first..last {
                let dx = x - position[[j, 0]];
                let dy = y - position[[j, 1]];
                let square = dx * dx + dy * dy;
                if square < reach * reach
                    && cell_of(position[[j, 0]], reach) == near_x
                    && cell_of(position[[j, 1]], reach) == near_y
                {
                    let share = mass / density[j] * smooth(square.sqrt() / reach, reach);
                    let u = velocity[[j, 0]];
                    let v = velocity[[j, 1]];
                    water += share;
                    motion += share * (u * u + v * v).sqrt();
                }
            }
        }
        // Next to a wall there is water on one side only.
        let space = 1.0 - of_walls(x, y, reach);
        image[[py, px, 0]] = water / space.max(0.25);
        image[[py, px, 1]] = motion / space.max(0.25);
    }
}
