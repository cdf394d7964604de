//! The reference in plain Rust: buckets are lists, and sums have the same order.

use super::kernels::{
    BLEND, BUMP_RADIUS, BUMP_X, BUMP_Y, GRAVITY, HEIGHT, SOUND, VISCOSITY, WIDTH,
};

/// A particle.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Particle {
    pub(crate) position: [f32; 2],
    pub(crate) velocity: [f32; 2],
    pub(crate) density: f32,
}

/// The water.
pub(crate) struct Reference {
    pub(crate) particles: Vec<Particle>,
    pub(crate) mass: f32,
    pub(crate) reach: f32,
    pub(crate) buckets: u32,
}

impl Reference {
    pub(crate) fn step(&mut self, dt: f32) {
        // A stable sort.
        let (reach, buckets) = (self.reach, self.buckets);
        let bucket = |cell: [i32; 2]| {
            let [x, y] = cell.map(|c| c as u32);
            (x.wrapping_mul(73_856_093) ^ y.wrapping_mul(19_349_663)) % buckets
        };
        self.particles.sort_by_key(|particle| bucket(cell(particle.position, reach)));
        let mut lists = vec![Vec::new(); buckets as usize];
        for (i, particle) in self.particles.iter().enumerate() {
            lists[bucket(cell(particle.position, reach)) as usize].push(i);
        }

        let near = |particles: &[Particle], at: [f32; 2]| -> Vec<usize> {
            let [x, y] = cell(at, reach);
            let cells =
                (-1..=1).flat_map(|down| (-1..=1).map(move |across| [x + across, y + down]));
            let found = cells.flat_map(|near| {
                let list = lists[bucket(near) as usize].iter().copied();
                list.filter(move |i| cell(particles[*i].position, reach) == near)
            });
            found
                .filter(|i| square(difference(at, particles[*i].position)) < reach * reach)
                .collect()
        };
        let densities: Vec<f32> = self
            .particles
            .iter()
            .map(|Particle { position, .. }| {
                let [x, _] = *position;
                let walls = [x, WIDTH - x, floor(*position).0].map(|distance| self.wall(distance));
                let mut sum = walls.iter().sum::<f32>();
                for j in near(&self.particles, *position) {
                    let away = difference(*position, self.particles[j].position);
                    sum += self.mass * self.smooth(square(away).sqrt() / reach);
                }
                sum
            })
            .collect();
        for (particle, density) in self.particles.iter_mut().zip(densities) {
            particle.density = density;
        }
        let accelerations: Vec<[f32; 2]> = self
            .particles
            .iter()
            .map(|own| {
                let mut acceleration = self.acceleration_by_walls(own);
                for j in near(&self.particles, own.position) {
                    let share = self.share(own, &self.particles[j]);
                    let away = difference(own.position, self.particles[j].position);
                    acceleration =
                        [acceleration[0] - share * away[0], acceleration[1] - share * away[1]];
                }
                acceleration
            })
            .collect();
        for (particle, acceleration) in self.particles.iter_mut().zip(accelerations) {
            let mut velocity = add(particle.velocity, dt, acceleration);
            let mut position = add(particle.position, dt, velocity);
            let edge = 0.02 * reach;
            let (above, share) = floor(position);
            if above < edge {
                let up = up(share, position);
                let sinking = (velocity[0] * up[0] + velocity[1] * up[1]).min(0.0);
                position = add(position, edge - above, up);
                velocity = add(velocity, -sinking, up);
            }
            particle.position = [(0, WIDTH), (1, HEIGHT)].map(|(axis, extent)| {
                let stays = position[axis].clamp(edge, extent - edge);
                velocity[axis] = if stays == position[axis] { velocity[axis] } else { 0.0 };
                stays
            });
            particle.velocity = velocity;
        }
    }

    fn smooth(&self, q: f32) -> f32 {
        let rest = (1.0 - q) * (1.0 - q);
        2.228_169_2 / (self.reach * self.reach) * (rest * rest) * (1.0 + 4.0 * q)
    }

    fn wall(&self, distance: f32) -> f32 {
        let t = (1.0 - distance / self.reach).clamp(0.0, 1.2);
        let series = [0.867_133_7, -2.540_843, 1.465_322, 0.708_446_4];
        t * t * (t * t) * t * series.into_iter().reduce(|sum, c| c + sum * t).unwrap()
    }

    fn wall_slope(&self, distance: f32) -> f32 {
        let t = (1.0 - distance / self.reach).clamp(0.0, 1.2);
        let series = [6.937_069, -17.785_9, 8.791_929, 3.542_232];
        t * t * (t * t) * series.into_iter().reduce(|sum, c| c + sum * t).unwrap() / self.reach
    }

    fn acceleration_by_walls(&self, own: &Particle) -> [f32; 2] {
        let [x, _] = own.position;
        let pressure = pressure(own.density);
        let wall = pressure / (own.density * own.density) + pressure;
        let (above, share) = floor(own.position);
        let strength = wall * self.wall_slope(above);
        let way = difference(own.position, [BUMP_X, BUMP_Y]);
        let of_bump = strength * share / square(way).sqrt();
        let sides = self.wall_slope(x) - self.wall_slope(WIDTH - x);
        let flat = strength * (1.0 - share);
        [wall * sides + of_bump * way[0], flat + of_bump * way[1] - GRAVITY]
    }

    fn share(&self, own: &Particle, other: &Particle) -> f32 {
        let reach = self.reach;
        let away = difference(own.position, other.position);
        let faster = difference(own.velocity, other.velocity);
        let meeting = away[0] * faster[0] + away[1] * faster[1];
        let brake = VISCOSITY * SOUND * reach * meeting.min(0.0)
            / ((square(away) + 0.01 * reach * reach) * (own.density + other.density));
        let of = |p: &Particle| pressure(p.density) / (p.density * p.density);
        let rest = 1.0 - square(away).sqrt() / reach;
        let slope = -44.563_384 / (reach * reach * (reach * reach)) * (rest * rest * rest);
        self.mass * (of(own) + of(other) - brake) * slope
    }
}

fn cell(position: [f32; 2], reach: f32) -> [i32; 2] {
    position.map(|along| (along / reach).floor() as i32)
}

fn difference(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn square([x, y]: [f32; 2]) -> f32 {
    x * x + y * y
}

fn add(a: [f32; 2], by: f32, b: [f32; 2]) -> [f32; 2] {
    [a[0] + by * b[0], a[1] + by * b[1]]
}

/// The distance to the floor, and the bump's share of it.
fn floor(position: [f32; 2]) -> (f32, f32) {
    let bump = square(difference(position, [BUMP_X, BUMP_Y])).sqrt() - BUMP_RADIUS;
    let share = (0.5 + 0.5 * (position[1] - bump) / BLEND).clamp(0.0, 1.0);
    (position[1] + (bump - position[1]) * share - BLEND * share * (1.0 - share), share)
}

/// The direction away from the floor.
fn up(share: f32, position: [f32; 2]) -> [f32; 2] {
    let way = difference(position, [BUMP_X, BUMP_Y]);
    let away = square(way).sqrt();
    [share * way[0] / away, share * way[1] / away + (1.0 - share)]
}

fn pressure(density: f32) -> f32 {
    let square = density * density;
    (SOUND * SOUND / 7.0 * (square * square * (square * density) - 1.0)).max(0.0)
}
