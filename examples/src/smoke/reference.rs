//! The reference in plain Rust, cell by cell.

/// Air and smoke. Row 0 of a field is at the floor.
pub(crate) struct Reference {
    pub(crate) n: usize,
    pub(crate) law: Law,
    pub(crate) u: Vec<f32>,
    pub(crate) v: Vec<f32>,
    pub(crate) left: Vec<f32>,
    pub(crate) right: Vec<f32>,
    pub(crate) pressure: Vec<f32>,
}

/// The parameters of a step: its time, the time of the advection, the share of smoke that remains,
/// the speed of the jets, buoyancy and vorticity confinement.
#[derive(Clone, Copy)]
pub(crate) struct Law {
    pub(crate) dt: f32,
    pub(crate) carry: f32,
    pub(crate) keep: f32,
    pub(crate) jet: f32,
    pub(crate) lift: f32,
    pub(crate) swirl: f32,
}

/// A field with the indices of the cells around each.
fn fill(n: usize, mut value: impl FnMut(usize, Around) -> f32) -> Vec<f32> {
    let mut field = Vec::with_capacity(n * n);
    for y in 0..n {
        for x in 0..n {
            let (west, east) = (x.max(1) - 1, (x + 1).min(n - 1));
            let (south, north) = (y.max(1) - 1, (y + 1).min(n - 1));
            let around = Around {
                west: y * n + west,
                east: y * n + east,
                south: south * n + x,
                north: north * n + x,
            };
            field.push(value(y * n + x, around));
        }
    }
    field
}

/// The neighbors of a cell; the cell itself at a wall.
struct Around {
    west: usize,
    east: usize,
    south: usize,
    north: usize,
}

impl Reference {
    pub(crate) fn new(n: usize, law: Law) -> Self {
        let field = || vec![0.0; n * n];
        Self { n, law, u: field(), v: field(), left: field(), right: field(), pressure: field() }
    }

    pub(crate) fn step(&mut self, slants: [f32; 2], sweeps: usize) {
        let n = self.n;
        let sample = |field: &[f32], at: usize| {
            let back = |from: usize, speed: f32| {
                (from as f32 - self.law.carry * n as f32 * speed).max(0.0).min((n - 1) as f32)
            };
            let (x, y) = (back(at % n, self.u[at]), back(at / n, self.v[at]));
            let (x0, y0) = (x.floor() as usize, y.floor() as usize);
            let (x1, y1) = ((x0 + 1).min(n - 1), (y0 + 1).min(n - 1));
            let mix = |a: f32, b: f32, share: f32| a + (b - a) * share;
            let row = |y: usize| mix(field[y * n + x0], field[y * n + x1], x - x0 as f32);
            mix(row(y0), row(y1), y - y0 as f32)
        };
        let u = fill(n, |at, _| sample(&self.u, at));
        let v = fill(n, |at, _| sample(&self.v, at));
        let left = fill(n, |at, _| self.law.keep * sample(&self.left, at));
        let right = fill(n, |at, _| self.law.keep * sample(&self.right, at));
        (self.u, self.v, self.left, self.right) = (u, v, left, right);
        self.blow(slants);
        self.push();
        self.project(sweeps);
    }

    fn blow(&mut self, [left_slant, right_slant]: [f32; 2]) {
        for (center, slant, smoke) in
            [(0.3, left_slant, &mut self.left), (0.7, right_slant, &mut self.right)]
        {
            for (at, smoke) in smoke.iter_mut().enumerate() {
                let place = |cell: usize| (cell as f32 + 0.5) / self.n as f32;
                let (dx, dy) = (place(at % self.n) - center, place(at / self.n) - 0.08);
                if dx * dx + dy * dy < 0.0009 {
                    self.u[at] = self.law.jet * slant;
                    self.v[at] = self.law.jet;
                    *smoke = 1.0;
                }
            }
        }
    }

    fn push(&mut self) {
        let (u, v) = (&self.u, &self.v);
        let curl = fill(self.n, |_, c| 0.5 * (v[c.east] - v[c.west] - (u[c.north] - u[c.south])));
        let force = |at: usize, c: &Around| {
            let gx = curl[c.east].abs() - curl[c.west].abs();
            let gy = curl[c.north].abs() - curl[c.south].abs();
            let length = (gx * gx + gy * gy).sqrt() + 1e-6;
            let strength = self.law.swirl * curl[at];
            (strength * (gy / length), strength * (gx / length))
        };
        let pushed_u = fill(self.n, |at, c| u[at] + self.law.dt * force(at, &c).0);
        let pushed_v = fill(self.n, |at, c| {
            let lift = self.law.lift * (self.left[at] + self.right[at]);
            v[at] + self.law.dt * (lift - force(at, &c).1)
        });
        (self.u, self.v) = (pushed_u, pushed_v);
    }

    fn project(&mut self, sweeps: usize) {
        let (n, u, v) = (self.n, &self.u, &self.v);
        // A cell that is its own neighbor is at a wall.
        let mirrored = |field: &[f32], at: usize, beside: usize| {
            if at == beside { -field[at] } else { field[beside] }
        };
        let divergence = fill(n, |at, c| {
            let across = mirrored(u, at, c.east) - mirrored(u, at, c.west);
            let up = mirrored(v, at, c.north) - mirrored(v, at, c.south);
            0.5 * (across + up)
        });
        for _ in 0..2 * sweeps {
            let p = &self.pressure;
            let next = fill(n, |at, c| {
                0.25 * (p[c.west] + p[c.east] + (p[c.south] + p[c.north]) - divergence[at])
            });
            self.pressure = next;
        }
        let p = &self.pressure;
        let u = fill(n, |at, c| self.u[at] - 0.5 * (p[c.east] - p[c.west]));
        let v = fill(n, |at, c| self.v[at] - 0.5 * (p[c.north] - p[c.south]));
        (self.u, self.v) = (u, v);
    }
}
