//! The reference in plain Rust, particle by particle, with matrices, and with the
//! singular value decomposition by an angle, which the kernel avoids.

use super::{
    kernels::{BULK, JELLY, LIQUID, SHEAR, SNOW, WALL},
    start::Particle,
};

type Vector = [f32; 2];
type Matrix = [Vector; 2];

/// Particles and grid.
pub(crate) struct Reference {
    pub(crate) cells: usize,
    pub(crate) gravity: f32,
    pub(crate) kind: Vec<u32>,
    pub(crate) position: Vec<Vector>,
    pub(crate) velocity: Vec<Vector>,
    pub(crate) affine: Vec<Matrix>,
    pub(crate) shape: Vec<Matrix>,
    pub(crate) packing: Vec<f32>,
    pub(crate) mass: Vec<f32>,
    pub(crate) grid_velocity: Vec<Vector>,
}

fn product(a: Matrix, b: Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
}

fn transposed(a: Matrix) -> Matrix {
    [[a[0][0], a[1][0]], [a[0][1], a[1][1]]]
}

fn determinant(a: Matrix) -> f32 {
    a[0][0] * a[1][1] - a[0][1] * a[1][0]
}

fn rotation(angle: f32) -> Matrix {
    let (sin, cos) = angle.sin_cos();
    [[cos, -sin], [sin, cos]]
}

/// The nine nodes around a position: which, how much, and how far from the position in cells.
fn nodes(cells: usize, position: Vector) -> impl Iterator<Item = (usize, f32, Vector)> {
    let at = position.map(|along| along * cells as f32);
    let first = at.map(|along| (along - 0.5).floor());
    let weights = |axis: usize| {
        let f = at[axis] - first[axis];
        [0.5 * (1.5 - f).powi(2), 0.75 - (f - 1.0).powi(2), 0.5 * (f - 0.5).powi(2)]
    };
    let (across, up) = (weights(0), weights(1));
    (0..9).map(move |k| {
        let (i, j) = (k / 3, k % 3);
        let node = [first[0] + i as f32, first[1] + j as f32];
        let index = node[0] as usize * cells + node[1] as usize;
        (index, across[i] * up[j], [node[0] - at[0], node[1] - at[1]])
    })
}

impl Reference {
    pub(crate) fn new(cells: usize, gravity: f32, particles: &[Particle]) -> Self {
        let n = particles.len();
        Self {
            cells,
            gravity,
            kind: particles.iter().map(|p| p.kind).collect(),
            position: particles.iter().map(|p| p.position).collect(),
            velocity: particles.iter().map(|p| p.velocity).collect(),
            affine: vec![[[0.0; 2]; 2]; n],
            shape: vec![[[1.0, 0.0], [0.0, 1.0]]; n],
            packing: vec![1.0; n],
            mass: vec![0.0; cells * cells],
            grid_velocity: vec![[0.0; 2]; cells * cells],
        }
    }

    pub(crate) fn step(&mut self) {
        let dt = super::dt(self.cells);
        self.mass.fill(0.0);
        self.grid_velocity.fill([0.0; 2]);
        for p in 0..self.kind.len() {
            self.give(p, dt);
        }
        self.move_grid(dt);
        for p in 0..self.kind.len() {
            self.take(p, dt);
        }
    }

    /// Deforms a particle, and transfers its mass and momentum to the grid.
    fn give(&mut self, p: usize, dt: f32) {
        let c = self.affine[p];
        let growth = [[1.0 + dt * c[0][0], dt * c[0][1]], [dt * c[1][0], 1.0 + dt * c[1][1]]];
        let deformed = product(growth, self.shape[p]);
        let turn =
            rotation((deformed[1][0] - deformed[0][1]).atan2(deformed[0][0] + deformed[1][1]));
        let stretch = product(transposed(turn), deformed);
        let axes =
            rotation(0.5 * (stretch[0][1] + stretch[1][0]).atan2(stretch[0][0] - stretch[1][1]));
        let diagonal = product(transposed(axes), product(stretch, axes));
        let (hardness, shape) = match self.kind[p] {
            JELLY => (0.3, deformed),
            SNOW => {
                let along = [diagonal[0][0], diagonal[1][1]];
                let kept = along.map(|s| s.clamp(0.975, 1.0045));
                self.packing[p] *= along[0] * along[1] / (kept[0] * kept[1]);
                self.packing[p] = self.packing[p].clamp(0.6, 1.3);
                let kept =
                    product(product(axes, [[kept[0], 0.0], [0.0, kept[1]]]), transposed(axes));
                ((10.0 * (1.0 - self.packing[p])).exp().min(20.0), product(turn, kept))
            }
            _ => {
                let root = determinant(deformed).max(0.0).sqrt();
                (1.0, [[root, 0.0], [0.0, root]])
            }
        };
        self.shape[p] = shape;
        let grown = determinant(shape);
        let shear = if self.kind[p] == LIQUID { 0.0 } else { 2.0 * SHEAR * hardness };
        let bent = std::array::from_fn(|i| std::array::from_fn(|j| shape[i][j] - turn[i][j]));
        let bent: Matrix = product(bent, transposed(shape));
        let pressure = BULK * hardness * (grown - 1.0) * grown;
        let volume = super::start::volume(self.cells);
        let given = -dt * volume * 4.0 * (self.cells * self.cells) as f32;
        for (node, share, away) in nodes(self.cells, self.position[p]) {
            self.mass[node] += share * volume;
            for axis in 0..2 {
                let mut momentum = volume * self.velocity[p][axis];
                for (other, away) in away.into_iter().enumerate() {
                    let across = if axis == other { pressure } else { 0.0 };
                    let stress = shear * bent[axis][other] + across;
                    let slope = given * stress + volume * c[axis][other];
                    momentum += slope * away / self.cells as f32;
                }
                self.grid_velocity[node][axis] += share * momentum;
            }
        }
    }

    fn move_grid(&mut self, dt: f32) {
        for node in (0..self.mass.len()).filter(|node| self.mass[*node] > 0.0) {
            let mass = self.mass[node];
            let velocity = &mut self.grid_velocity[node];
            *velocity = velocity.map(|momentum| momentum / mass);
            velocity[1] -= dt * self.gravity;
            for (axis, cell) in [node / self.cells, node % self.cells].into_iter().enumerate() {
                if cell < WALL {
                    velocity[axis] = velocity[axis].max(0.0);
                }
                if cell + WALL >= self.cells {
                    velocity[axis] = velocity[axis].min(0.0);
                }
            }
        }
    }

    /// Takes a particle's velocity from the grid, and moves it.
    fn take(&mut self, p: usize, dt: f32) {
        let mut velocity = [0.0; 2];
        let mut affine = [[0.0; 2]; 2];
        for (node, share, away) in nodes(self.cells, self.position[p]) {
            for axis in 0..2 {
                let given = share * self.grid_velocity[node][axis];
                velocity[axis] += given;
                for other in 0..2 {
                    affine[axis][other] += 4.0 * self.cells as f32 * given * away[other];
                }
            }
        }
        let border = 2.0 / self.cells as f32;
        for (position, velocity) in self.position[p].iter_mut().zip(velocity) {
            *position = (*position + dt * velocity).clamp(border, 1.0 - border);
        }
        self.velocity[p] = velocity;
        self.affine[p] = affine;
    }
}
