//! The reference in plain Rust: matter and air reuse the references of their own examples; the cloth
//! and the coupling are here.

use super::{
    BLOWN, DRAG, ECHO, GRAVITY, HEFT, JET, LIFT, OF_AIR, OF_MATTER, SWIRL, carry, cloth, keep, net,
    slants, stiffness,
};
use crate::{
    mpm::{
        self,
        reference::Reference as Matter,
        start::{Particle, volume},
    },
    smoke::reference::{Law, Reference as Air},
};

type Vector = [f32; 2];

/// Matter, air and cloth.
pub(crate) struct Reference {
    pub(crate) matter: Matter,
    pub(crate) air: Air,
    pub(crate) columns: usize,
    pub(crate) spacing: f32,
    pub(crate) node: Vec<Vector>,
    pub(crate) node_velocity: Vec<Vector>,
}

impl Reference {
    pub(crate) fn new(size: usize, particles: &[Particle]) -> Self {
        let ([_, columns], spacing) = cloth(size);
        let dt = mpm::dt(size / 2);
        let law = Law { dt, carry: 0.0, keep: 1.0, jet: JET, lift: LIFT, swirl: SWIRL };
        Self {
            matter: Matter::new(size / 2, GRAVITY, particles),
            air: Air::new(size, law),

            columns,
            spacing,
            node: net(size).chunks(2).map(|at| [at[0], at[1]]).collect(),
            node_velocity: vec![[0.0; 2]; net(size).len() / 2],
        }
    }

    pub(crate) fn step(&mut self, step: usize) {
        self.matter.step();
        self.air.law.carry = carry(step, self.air.law.dt);
        self.air.law.keep = keep(step);
        self.air.pressure.fill(0.0);
        self.air.step(slants(step), 3);
        self.step_cloth();
    }

    /// The nodes that are not fixed to a wall.
    fn free(&self) -> impl Iterator<Item = usize> + use<> {
        let columns = self.columns;
        (0..self.node.len()).filter(move |at| (1..columns - 1).contains(&(at % columns)))
    }

    fn step_cloth(&mut self) {
        let (dt, columns) = (self.air.law.dt, self.columns);
        let stiffness = stiffness(self.matter.cells);
        let mut velocities = self.node_velocity.clone();
        for at in self.free() {
            let mut acceleration = [0.0, -GRAVITY];
            for other in 0..self.node.len() {
                let rows = (other / columns).abs_diff(at / columns);
                let steps = (rows, (other % columns).abs_diff(at % columns));
                if !matches!(steps, (0, 1 | 2) | (1 | 2, 0) | (1, 1)) {
                    continue;
                }
                let to: Vector = std::array::from_fn(|k| self.node[other][k] - self.node[at][k]);
                let rest = self.spacing * (steps.0 as f32).hypot(steps.1 as f32);
                let strain = 1.0 - rest / to[0].hypot(to[1]);
                for (acceleration, to) in acceleration.iter_mut().zip(to) {
                    *acceleration += stiffness * strain * to;
                }
            }
            for (velocity, acceleration) in velocities[at].iter_mut().zip(acceleration) {
                *velocity += dt * (acceleration - DRAG * *velocity);
            }
        }
        self.node_velocity = velocities;
        for at in self.free() {
            for (position, velocity) in self.node[at].iter_mut().zip(self.node_velocity[at]) {
                *position = (*position + dt * velocity).clamp(0.02, 0.98);
            }
        }
    }

    /// The cells of air and of matter at a position.
    fn cells(&self, position: Vector) -> (usize, usize) {
        let cell = |extent: usize, shift: f32| {
            position.map(|at| ((at * extent as f32 + shift) as usize).min(extent - 1))
        };
        let (n, cells) = (self.air.n, self.matter.cells);
        let ([x, y], [i, j]) = (cell(n, 0.0), cell(cells, 0.5));
        (y * n + x, i * cells + j)
    }

    pub(crate) fn couple(&mut self) {
        let dt = self.air.law.dt;
        let volume = volume(self.matter.cells);
        let heft = HEFT * volume;
        let mut to_air = vec![[0.0; 2]; self.air.u.len()];
        let mut to_matter = vec![[0.0; 2]; self.matter.mass.len()];
        for at in self.free() {
            let (air, cell) = self.cells(self.node[at]);
            let wind = [self.air.u[air], self.air.v[air]];
            let mass = self.matter.mass[cell];
            let share = OF_MATTER * mass / (mass + heft);
            for k in 0..2 {
                let velocity = self.node_velocity[at][k];
                let by_air = OF_AIR * dt * (wind[k] - velocity);
                let by_matter = share * (self.matter.grid_velocity[cell][k] - velocity);
                to_air[air][k] -= ECHO * by_air;
                to_matter[cell][k] -= heft * by_matter;
                self.node_velocity[at][k] += by_air + by_matter;
            }
        }
        for p in 0..self.matter.position.len() {
            let (air, cell) = self.cells(self.matter.position[p]);
            let wind = [self.air.u[air], self.air.v[air]];
            let mass = self.matter.mass[cell].max(volume);
            for (k, velocity) in self.matter.velocity[p].iter_mut().enumerate() {
                let alone = BLOWN * dt * volume / mass;
                *velocity += to_matter[cell][k] / mass + alone * (wind[k] - *velocity);
            }
        }
        let n = self.air.n;
        for (at, pushed) in to_air.into_iter().enumerate() {
            let middle = [at % n, at / n].map(|cell| (cell as f32 + 0.5) / n as f32);
            let (_, cell) = self.cells(middle);
            let full = (self.matter.mass[cell] / (4.0 * volume)).min(1.0);
            for (k, velocity) in [&mut self.air.u[at], &mut self.air.v[at]].into_iter().enumerate()
            {
                *velocity += pushed[k];
                *velocity += full * (self.matter.grid_velocity[cell][k] - *velocity);
            }
        }
    }
}
