//! Conjugate gradients on the five-point Laplacian of a grid: products by cuSPARSE, everything else by kernels.
//!
//! Compares the solution with a known one and with that of products by a kernel. Prints the times of both solvers, and
//! of products by cuSPARSE, by a kernel from the same matrix, and by a kernel without one. Nothing runs side by side:
//! each step needs the one before, and a product fills the device.

use quadrants::{self as qd, Program, Tensor, reads, rhi::DevicePtr, writes};
use quadrants_library_examples::{
    Error, Result,
    cusparse::{Memory, Rows},
    measure::{largest_difference, median},
};

/// The number of rows of the grid. The matrix has the square of that.
const GRID: usize = 512;
const N: usize = GRID * GRID;
/// The residual, relative to that of zero, at which a solver stops. It looks only after some steps.
const TOLERANCE: f64 = 1e-10;
const STEPS_PER_LOOK: usize = 100;
const MOST_STEPS: usize = 5000;
/// Products in one measurement.
const PRODUCTS: usize = 50;

type Values = Tensor<f64, 1>;

/// The product with a matrix in compressed rows.
#[qd::kernel]
fn multiply(
    offsets: &Tensor<i32, 1>,
    columns: &Tensor<i32, 1>,
    values: &Values,
    x: &Values,
    y: &mut Values,
) {
    for i in 0..y.len() {
        let mut sum = 0.0;
        for at in offsets[i]..offsets[i + 1] {
            sum += values[at as usize] * x[columns[at as usize] as usize];
        }
        y[i] = sum;
    }
}

/// The same product without the matrix.
#[qd::kernel]
fn stencil(width: usize, x: &Values, y: &mut Values) {
    for i in 0..y.len() {
        let column = i % width;
        let mut sum = 4.0 * x[i];
        if column > 0 {
            sum -= x[i - 1];
        }
        if column + 1 < width {
            sum -= x[i + 1];
        }
        if i >= width {
            sum -= x[i - width];
        }
        if i + width < x.len() {
            sum -= x[i + width];
        }
        y[i] = sum;
    }
}

/// The first of `sums` is the inner product.
#[qd::kernel]
fn inner_product(a: &Values, b: &Values, sums: &mut Values) {
    let mut sum = 0.0;
    for i in 0..a.len() {
        sum += a[i] * b[i];
    }
    sums[0] = sum;
}

/// A step along `p`, of the length `rr / pq`.
#[qd::kernel]
fn step(rr: &Values, pq: &Values, p: &Values, q: &Values, x: &mut Values, r: &mut Values) {
    let length = rr[0] / pq[0];
    for i in 0..x.len() {
        x[i] += length * p[i];
        r[i] -= length * q[i];
    }
}

/// The next direction.
#[qd::kernel]
fn turn(new_rr: &Values, rr: &Values, r: &Values, p: &mut Values) {
    let part = new_rr[0] / rr[0];
    for i in 0..p.len() {
        p[i] = r[i] + part * p[i];
    }
}

/// The vectors of a solver.
struct Solver {
    x: Values,
    r: Values,
    p: Values,
    q: Values,
    rr: [Values; 2],
    pq: Values,
}

impl Solver {
    fn new(program: &Program) -> qd::Result<Self> {
        let [x, r, p, q] =
            [program.zeros([N])?, program.zeros([N])?, program.zeros([N])?, program.zeros([N])?];
        let rr = [program.zeros([1])?, program.zeros([1])?];
        Ok(Self { x, r, p, q, rr, pq: program.zeros([1])? })
    }

    /// Begins at zero.
    fn begin(&mut self, b: &Values) -> Result<()> {
        self.x.fill(0.0)?;
        self.r.copy_from(b)?;
        self.p.copy_from(b)?;
        Ok(inner_product(&self.r, &self.r, &mut self.rr[0]).launch()?)
    }

    /// Enqueues steps. The number is even, so that the sums are back in their places.
    fn steps(
        &mut self,
        count: usize,
        mut product: impl FnMut(&Values, &mut Values) -> Result<()>,
    ) -> Result<()> {
        let Self { x, r, p, q, rr: [rr, new_rr], pq } = self;
        let mut sums = [rr, new_rr];
        for _ in 0..count {
            let [rr, new_rr] = &mut sums;
            product(p, q)?;
            inner_product(p, q, pq).launch()?;
            step(rr, pq, p, q, x, r).launch()?;
            inner_product(r, r, new_rr).launch()?;
            turn(new_rr, rr, r, p).launch()?;
            sums.swap(0, 1);
        }
        Ok(())
    }

    /// Solves `A x = b`, and returns the number of steps.
    fn solve(
        &mut self,
        b: &Values,
        mut product: impl FnMut(&Values, &mut Values) -> Result<()>,
    ) -> Result<usize> {
        self.begin(b)?;
        let first = self.rr[0].get([0])?;
        for count in (STEPS_PER_LOOK..=MOST_STEPS).step_by(STEPS_PER_LOOK) {
            self.steps(STEPS_PER_LOOK, &mut product)?;
            if self.rr[0].get([0])? <= TOLERANCE * TOLERANCE * first {
                return Ok(count);
            }
        }
        Ok(MOST_STEPS)
    }
}

/// The Laplacian's rows, columns and values, with zero outside of the grid.
fn laplacian() -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..N {
        let column = i % GRID;
        let neighbours = [
            (i >= GRID).then(|| i - GRID),
            (column > 0).then(|| i - 1),
            Some(i),
            (column + 1 < GRID).then_some(i + 1),
            (i + GRID < N).then_some(i + GRID),
        ];
        for at in neighbours.into_iter().flatten() {
            columns.push(at as i32);
            values.push(if at == i { 4.0 } else { -1.0 });
        }
        offsets.push(columns.len() as i32);
    }
    (offsets, columns, values)
}

fn main() -> Result<()> {
    let program = Program::open(qd::Arch::Cuda)?;
    let (offsets, columns, values) = laplacian();
    let entries = values.len();
    let offsets = program.tensor_from(&offsets, [N + 1])?;
    let columns = program.tensor_from(&columns, [entries])?;
    let values = program.tensor_from(&values, [entries])?;
    // Without smoothness, so that many steps are needed.
    let known: Vec<f64> = (0..N).map(|i| ((i * 7919) % 1013) as f64 / 1013.0 - 0.5).collect();
    let solution = program.tensor_from(&known, [N])?;
    let mut b = program.zeros([N])?;
    multiply(&offsets, &columns, &values, &solution, &mut b).launch()?;

    // The closure runs with the program's context, which the handle belongs to from then on.
    let [mut y, mut other] = [program.zeros::<f64, 1>([N])?, program.zeros::<f64, 1>([N])?];
    let create = |raw: &qd::ForeignCall<'_>| {
        let [offsets, columns, values, x] = [0, 1, 2, 3].map(|at| raw.reads[at].address);
        let of = Memory { offsets, columns, values, work: DevicePtr::NULL };
        // SAFETY: the tensors of the matrix live as long as its description, and are not written.
        unsafe { Rows::new(N, entries, of, x, raw.writes[0].address) }
    };
    let matrix = reads![&offsets, &columns, &values, &solution];
    let rows = program.foreign_on_current("create", matrix, writes![&mut y], create)??;
    let mut work = program.zeros::<u8, 1>([rows.work_bytes()?.max(4)])?;
    let mut by_cusparse = |x: &Values, y: &mut Values| -> Result<()> {
        let matrix = reads![&offsets, &columns, &values, x];
        program.foreign_on_current("product", matrix, writes![&mut work, y], |raw| {
            let [work, y] = [raw.writes[0].address, raw.writes[1].address];
            // SAFETY: the tensors have the sizes of the matrix, and are borrowed for the call; all work is on the given
            // stream.
            unsafe { rows.multiply(raw.stream, work, raw.reads[3].address, y) }
        })?
    };
    let by_rows = |x: &Values, y: &mut Values| -> Result<()> {
        Ok(multiply(&offsets, &columns, &values, x, y).launch()?)
    };
    let by_stencil =
        |x: &Values, y: &mut Values| -> Result<()> { Ok(stencil(GRID, x, y).launch()?) };

    println!("{N} unknowns, {entries} entries, residual {TOLERANCE:.0e}");
    let [mut first, mut second] = [Solver::new(&program)?, Solver::new(&program)?];
    let steps = first.solve(&b, &mut by_cusparse)?;
    let error = largest_difference(&first.x.to_vec()?, &known);
    println!("products by cuSPARSE: {steps} steps, largest difference to the solution {error:.1e}");
    let own_steps = second.solve(&b, by_rows)?;
    let difference = largest_difference(&second.x.to_vec()?, &first.x.to_vec()?);
    println!(
        "products by a kernel: {own_steps} steps, largest difference to cuSPARSE {difference:.1e}"
    );
    for (what, difference) in [("solutions", error), ("solvers", difference)] {
        if difference > 1e-6 {
            return Err(Error::Different { what, difference });
        }
    }

    // Several for one host wait.
    let products = |product: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
        let all = median(&program, || (0..PRODUCTS).try_for_each(|_| product()))?;
        Ok(all.as_secs_f64() * 1e6 / PRODUCTS as f64)
    };
    println!(
        "a product: cuSPARSE {:.1} µs, kernel {:.1} µs, kernel without matrix {:.1} µs",
        products(&mut || by_cusparse(&solution, &mut y))?,
        products(&mut || by_rows(&solution, &mut other))?,
        products(&mut || by_stencil(&solution, &mut other))?
    );
    let with_cusparse = median(&program, || first.steps(STEPS_PER_LOOK, &mut by_cusparse))?;
    let with_rows = median(&program, || second.steps(STEPS_PER_LOOK, by_rows))?;
    let with_stencil = median(&program, || second.steps(STEPS_PER_LOOK, by_stencil))?;
    println!(
        "{STEPS_PER_LOOK} steps: cuSPARSE {with_cusparse:.1?}, kernel {with_rows:.1?}, kernel without matrix \
         {with_stencil:.1?}"
    );
    Ok(())
}
