//! Plain kernels on the GPU against the same written by hand in CUDA, in all the ways that one would try: the fastest
//! is the rival. Each side works on memory of its own, and what both computed is compared before anyone is timed.

use std::fmt::Debug;

use quadrants::{Arch, Program, Result, Tensor};
use quadrants_bench::{
    Case, Options, Rival, SpeedTarget,
    driver::Raw,
    kernels,
    nvrtc::{ByText, Function},
    until_done,
};

const SAMPLES: usize = 15;
/// At least 0.97 of the best by hand.
const TARGET: SpeedTarget = SpeedTarget::Ratio(1.0 / 0.97);

/// What every case uses.
struct Bench<'a> {
    options: Options,
    program: Program,
    raw: &'a Raw,
    text: ByText<'a>,
    /// The same with less care about the last digits, as the kernels that say so are compiled.
    fast: ByText<'a>,
}

/// A way to launch a kernel written by hand.
struct CudaVariant<'a> {
    name: &'static str,
    function: Function<'a>,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<u64>,
}

impl CudaVariant<'_> {
    fn launch(&self) {
        self.function.launch(self.grid, self.block, &self.args);
    }
}

fn main() -> Result<()> {
    let options = Options::from_args();
    if !options.wants("cuda") {
        return Ok(());
    }
    let program = Program::open(Arch::Cuda)?;
    let raw = Raw::load();
    let text = ByText::compile(&raw, include_str!("../kernels.cu"), &[]);
    let fast = ByText::compile(&raw, include_str!("../kernels.cu"), &["--use_fast_math"]);
    let bench = Bench { options, program, raw: &raw, text, fast };
    bench.saxpy()?;
    bench.jacobi()?;
    bench.sum()?;
    bench.histogram()?;
    bench.mandelbrot()?;
    bench.nbody()?;
    bench.chain()?;
    bench.stencil()?;
    bench.transpose()?;
    bench.spmv()?;
    bench.uneven_rows()?;
    bench.box_filter()?;
    bench.lattice()?;
    bench.bitonic()?;
    bench.mpm()
}

/// Blocks that cover `n`.
fn over(n: usize, block: usize) -> u32 {
    n.div_ceil(block) as u32
}

fn float(value: f32) -> u64 {
    u64::from(value.to_bits())
}

/// Numbers between 0 and 1 that repeat after 1024.
fn wave(n: usize) -> Vec<f32> {
    (0..n).map(|k| (k % 1024) as f32 / 1024.0).collect()
}

impl<'a> Bench<'a> {
    fn case(&self, name: &str, giga: f64, unit: &'static str) -> Option<Case> {
        let case = Case::new("kernels", name, "ms").target(TARGET).work(giga, unit);
        self.options.selects(&case).then_some(case)
    }

    fn way(
        &self,
        name: &'static str,
        grid: [u32; 3],
        block: [u32; 3],
        args: Vec<u64>,
    ) -> CudaVariant<'a> {
        CudaVariant { name, function: self.text.function(name), grid, block, args }
    }

    /// A block of device memory with the data.
    fn memory<T: Copy>(&self, data: &[T]) -> u64 {
        let address = self.raw.buffers(1, size_of_val(data))[0];
        self.raw.write(address, data);
        address
    }

    /// Times ours against all ways by hand, `count` launches to a sample.
    fn run(
        &self,
        case: &Case,
        count: usize,
        mut ours: impl FnMut() -> Result<()>,
        ways: &[CudaVariant<'_>],
    ) {
        let mut samples: Vec<_> = ways
            .iter()
            .map(|way| until_done(count, || way.launch(), || self.raw.synchronize()))
            .collect();
        let mut rivals: Vec<Rival<'_>> = ways
            .iter()
            .zip(&mut samples)
            .map(|(way, sample)| (way.name, sample as &mut dyn FnMut() -> f64))
            .collect();
        let mut ours = until_done(
            count,
            || ours().expect("launches"),
            || self.program.sync().expect("completes"),
        );
        self.options.run(case, SAMPLES, &mut ours, &mut rivals);
    }

    /// Runs every way once, and holds what it leaves at `address` against ours.
    fn agree<T: Copy + Default + Debug + PartialEq>(
        &self,
        ours: &[T],
        address: u64,
        start: &[T],
        ways: &[CudaVariant<'_>],
        close: impl Fn(T, T) -> bool,
    ) {
        for way in ways {
            self.raw.write(address, start);
            way.launch();
            self.raw.synchronize();
            let theirs: Vec<T> = self.raw.read(address, ours.len());
            let differ = ours.iter().zip(&theirs).position(|(a, b)| !close(*a, *b));
            if let Some(at) = differ {
                panic!("{} gives {:?} at {at}, ours {:?}", way.name, theirs[at], ours[at]);
            }
        }
        self.raw.write(address, start);
    }

    fn free(&self, addresses: &[u64]) {
        addresses.iter().for_each(|address| self.raw.free(*address));
    }

    fn saxpy(&self) -> Result<()> {
        const N: usize = 1 << 28;
        let Some(case) = self.case("saxpy 2^28", 12e-9 * N as f64, "GB/s") else { return Ok(()) };
        let (data, zeros) = (wave(N), vec![0.0f32; N]);
        let x = self.program.tensor_from(&data, [N])?;
        let mut y = self.program.zeros::<f32, 1>([N])?;
        let (hx, hy) = (self.memory(&data), self.memory(&zeros));
        let args = vec![float(1e-3), hx, hy, N as u64];
        let way = |name, each: usize| {
            self.way(name, [over(N, 256 * each), 1, 1], [256, 1, 1], args.clone())
        };
        let ways = [way("saxpy", 1), way("saxpy_wide", 4), way("saxpy_apart", 4)];
        kernels::saxpy(1e-3, &x, &mut y).launch()?;
        self.agree(&y.to_vec()?, hy, &zeros, &ways, |a, b| (a - b).abs() <= 1e-9);
        self.run(&case, 10, || kernels::saxpy(1e-3, &x, &mut y).launch(), &ways);
        self.free(&[hx, hy]);
        Ok(())
    }

    fn jacobi(&self) -> Result<()> {
        const N: usize = 8192;
        let Some(case) = self.case("Jacobi 8192²", 8e-9 * (N * N) as f64, "GB/s") else {
            return Ok(());
        };
        let data = wave(N * N);
        let mut a = self.program.tensor_from(&data, [N, N])?;
        let mut b = self.program.tensor_from(&data, [N, N])?;
        let (ha, hb) = (self.memory(&data), self.memory(&data));
        let way = |name, block: [u32; 3], rows: usize| {
            let grid = [over(N - 2, block[0] as usize), over(N - 2, block[1] as usize * rows), 1];
            self.way(name, grid, block, vec![ha, hb, N as u64])
        };
        let ways = [
            way("jacobi", [64, 4, 1], 1),
            way("jacobi_walk8", [128, 2, 1], 8),
            way("jacobi_walk16", [128, 2, 1], 16),
            way("jacobi_rows2", [128, 2, 1], 2),
            way("jacobi_rows4", [64, 4, 1], 4),
            way("jacobi_rows8", [64, 4, 1], 8),
        ];
        kernels::jacobi(&a, &mut b).launch()?;
        self.agree(&b.to_vec()?, hb, &data, &ways, |a, b| (a - b).abs() <= 1e-6);
        let ours = || {
            std::mem::swap(&mut a, &mut b);
            kernels::jacobi(&a, &mut b).launch()
        };
        self.run(&case, 10, ours, &ways);
        self.free(&[ha, hb]);
        Ok(())
    }

    fn sum(&self) -> Result<()> {
        const N: usize = 1 << 26;
        let Some(case) = self.case("sum 2^26", 4e-9 * N as f64, "GB/s") else { return Ok(()) };
        let data = wave(N);
        let x = self.program.tensor_from(&data, [N])?;
        let mut total = self.program.zeros::<f32, 1>([1])?;
        let (hx, hs) = (self.memory(&data), self.memory(&[0.0f32]));
        let args = vec![hx, hs, N as u64];
        let way = |name| self.way(name, [132 * 8, 1, 1], [256, 1, 1], args.clone());
        let ways = [way("sum"), way("sum_wide")];
        kernels::sum(&x, &mut total).launch()?;
        self.agree(&total.to_vec()?, hs, &[0.0], &ways, |a, b| (a - b).abs() <= 1e-3 * b);
        self.run(&case, 10, || kernels::sum(&x, &mut total).launch(), &ways);
        self.free(&[hx, hs]);
        Ok(())
    }

    fn histogram(&self) -> Result<()> {
        const N: usize = 1 << 26;
        let Some(case) = self.case("histogram of 2^26 bytes", 1e-9 * N as f64, "GB/s") else {
            return Ok(());
        };
        let data: Vec<u8> =
            (0..N as u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let x = self.program.tensor_from(&data, [N])?;
        let mut bins = self.program.zeros::<u32, 1>([256])?;
        let zeros = [0u32; 256];
        let (hx, hb) = (self.memory(&data), self.memory(&zeros));
        let args = vec![hx, hb, N as u64];
        let way = |name| self.way(name, [132 * 8, 1, 1], [256, 1, 1], args.clone());
        let ways = [way("histogram"), way("histogram_wide")];
        kernels::histogram(&x, &mut bins).launch()?;
        self.agree(&bins.to_vec()?, hb, &zeros, &ways, |a, b| a == b);
        self.run(&case, 4, || kernels::histogram(&x, &mut bins).launch(), &ways);
        self.free(&[hx, hb]);
        Ok(())
    }

    fn mandelbrot(&self) -> Result<()> {
        const N: usize = 4096;
        let Some(case) =
            self.case("Mandelbrot 4096², 256 steps", 1e-9 * (N * N) as f64, "Gpixel/s")
        else {
            return Ok(());
        };
        let zeros = vec![0u32; N * N];
        let mut out = self.program.zeros::<u32, 2>([N, N])?;
        let ho = self.memory(&zeros);
        let way = |name, x: u32, y: u32| {
            self.way(
                name,
                [over(N, x as usize), over(N, y as usize), 1],
                [x, y, 1],
                vec![ho, N as u64, 256],
            )
        };
        let ways = [way("mandelbrot", 16, 16), way("mandelbrot", 128, 1), way("mandelbrot", 32, 8)];
        kernels::mandelbrot(256, &mut out).launch()?;
        // At the edge of the set a last digit decides.
        let ours = out.to_vec()?;
        ways[0].launch();
        let theirs: Vec<u32> = self.raw.read(ho, N * N);
        let differ = ours.iter().zip(&theirs).filter(|(a, b)| a != b).count();
        assert!(differ < N * N / 1000, "{differ} places differ");
        self.run(&case, 10, || kernels::mandelbrot(256, &mut out).launch(), &ways);
        self.free(&[ho]);
        Ok(())
    }

    fn nbody(&self) -> Result<()> {
        const N: usize = 65_536;
        let giga = 1e-9 * (N * N) as f64;
        let [plain, tiled] =
            ["N-body 65536", "N-body 65536, tiled"].map(|name| self.case(name, giga, "Gpair/s"));
        if plain.is_none() && tiled.is_none() {
            return Ok(());
        }
        let place = |factor: u32| -> Vec<f32> {
            let scatter = |k: u32| {
                (k.wrapping_mul(2_654_435_761).wrapping_mul(factor) >> 16) as f32 / 65_536.0
            };
            (0..N as u32).map(scatter).collect()
        };
        let mass: Vec<f32> = (0..N).map(|k| 0.5 + (k % 256) as f32 / 256.0).collect();
        let data = [place(1), place(2_246_822_519), place(3_266_489_917), mass];
        let tensor = |data: &Vec<f32>| self.program.tensor_from(data, [N]);
        let [x, y, z, m] =
            [tensor(&data[0])?, tensor(&data[1])?, tensor(&data[2])?, tensor(&data[3])?];
        let zeros = || self.program.zeros::<f32, 1>([N]);
        let [mut ax, mut ay, mut az] = [zeros()?, zeros()?, zeros()?];
        let mut args: Vec<u64> = data.iter().map(|data| self.memory(data)).collect();
        args.extend(self.raw.buffers(3, 4 * N));
        args.push(N as u64);
        let way = |name, block: u32| {
            let function = self.fast.function(name);
            let (grid, block) = ([over(N, block as usize), 1, 1], [block, 1, 1]);
            CudaVariant { name, function, grid, block, args: args.clone() }
        };
        let start = vec![0.0f32; N];
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-3 * (b.abs() + 100.0);
        if let Some(case) = plain {
            let ways = [way("nbody", 128), way("nbody", 256)];
            kernels::nbody(&x, &y, &z, &m, &mut ax, &mut ay, &mut az).launch()?;
            self.agree(&ax.to_vec()?, args[4], &start, &ways, close);
            let ours = || kernels::nbody(&x, &y, &z, &m, &mut ax, &mut ay, &mut az).launch();
            self.run(&case, 2, ours, &ways);
        }
        if let Some(case) = tiled {
            let ways = [way("nbody_tiled", 256)];
            kernels::nbody_tiled(&x, &y, &z, &m, &mut ax, &mut ay, &mut az).launch()?;
            self.agree(&ax.to_vec()?, args[4], &start, &ways, close);
            let ours = || kernels::nbody_tiled(&x, &y, &z, &m, &mut ax, &mut ay, &mut az).launch();
            self.run(&case, 2, ours, &ways);
        }
        self.free(&args[..7]);
        Ok(())
    }

    fn chain(&self) -> Result<()> {
        const N: usize = 1 << 24;
        let giga = 512e-9 * N as f64;
        let Some(case) = self.case("chain of 256 on 2^24", giga, "GFLOP/s") else { return Ok(()) };
        let data = wave(N);
        let mut x = self.program.tensor_from(&data, [N])?;
        let hx = self.memory(&data);
        let (a, b) = (0.999_f32, 0.5f32);
        let way = |name| {
            self.way(
                name,
                [over(N, 256), 1, 1],
                [256, 1, 1],
                vec![hx, float(a), float(b), N as u64],
            )
        };
        let ways = [way("chain"), way("chain_unrolled")];
        kernels::chain(a, b, &mut x).launch()?;
        self.agree(&x.to_vec()?, hx, &data, &ways, |a, b| (a - b).abs() <= 1e-3 * b);
        self.run(&case, 10, || kernels::chain(a, b, &mut x).launch(), &ways);
        self.free(&[hx]);
        Ok(())
    }

    fn stencil(&self) -> Result<()> {
        const N: usize = 512;
        let giga = 8e-9 * (N * N * N) as f64;
        let Some(case) = self.case("7-point stencil 512³", giga, "GB/s") else { return Ok(()) };
        let data = wave(N * N * N);
        let mut a = self.program.tensor_from(&data, [N, N, N])?;
        let mut b = self.program.tensor_from(&data, [N, N, N])?;
        let (ha, hb) = (self.memory(&data), self.memory(&data));
        let way = |name, block: [u32; 3], planes: u32| {
            let cover = |axis: usize, each: u32| over(N - 2, (block[axis] * each) as usize);
            self.way(
                name,
                [cover(0, 1), cover(1, 1), cover(2, planes)],
                block,
                vec![ha, hb, N as u64],
            )
        };
        let ways = [
            way("stencil", [32, 4, 2], 1),
            way("stencil", [64, 4, 1], 1),
            way("stencil_walk", [32, 8, 1], 16),
            way("stencil_walk", [64, 4, 1], 16),
        ];
        kernels::stencil(&a, &mut b).launch()?;
        self.agree(&b.to_vec()?, hb, &data, &ways, |a, b| (a - b).abs() <= 1e-5);
        let ours = || {
            std::mem::swap(&mut a, &mut b);
            kernels::stencil(&a, &mut b).launch()
        };
        self.run(&case, 10, ours, &ways);
        self.free(&[ha, hb]);
        Ok(())
    }

    fn transpose(&self) -> Result<()> {
        const N: usize = 16_384;
        let giga = 8e-9 * (N * N) as f64;
        let Some(case) = self.case("transpose 16384²", giga, "GB/s") else { return Ok(()) };
        let data = wave(N * N);
        let a = self.program.tensor_from(&data, [N, N])?;
        let mut b: Tensor<f32, 2> = self.program.zeros([N, N])?;
        let (ha, hb) = (self.memory(&data), self.raw.buffers(1, 4 * N * N)[0]);
        let ways = [self.way("transpose", [512, 512, 1], [32, 8, 1], vec![ha, hb, N as u64])];
        kernels::transpose(&a, &mut b).launch()?;
        self.agree(&b.to_vec()?, hb, &[], &ways, |a, b| a == b);
        self.run(&case, 10, || kernels::transpose(&a, &mut b).launch(), &ways);
        self.free(&[ha, hb]);
        Ok(())
    }

    /// A band with a few entries far away, as of a mesh.
    fn spmv(&self) -> Result<()> {
        const ROWS: usize = 1 << 22;
        const EACH: usize = 9;
        let starts: Vec<u32> = (0..=ROWS).map(|row| (row * EACH) as u32).collect();
        let column = |row: usize, k: usize| match k {
            0 => row.wrapping_mul(2_654_435_761) % ROWS,
            k => (row + 16 * k) % ROWS,
        };
        self.rows("sparse matrix of 2^22 rows by a vector", &starts, column)
    }

    /// Few rows are long: the lengths follow a power law.
    fn uneven_rows(&self) -> Result<()> {
        const ROWS: usize = 1 << 21;
        let mut starts = vec![0];
        for row in 0..ROWS as u32 {
            let random = (row.wrapping_mul(2_654_435_761) >> 8) as f64 / f64::from(1 << 24);
            let length = (1.0 / (random + 1e-9)).powf(0.88).min(4096.0) as u32;
            starts.push(starts[row as usize] + length);
        }
        let column = |row: usize, k: usize| (row * 31 + k).wrapping_mul(2_654_435_761) % ROWS;
        self.rows("sparse matrix of 2^21 uneven rows by a vector", &starts, column)
    }

    /// A sparse matrix, by the starts of its rows, times a vector.
    fn rows(
        &self,
        name: &str,
        starts: &[u32],
        column: impl Fn(usize, usize) -> usize,
    ) -> Result<()> {
        let rows = starts.len() - 1;
        let entries = starts[rows] as usize;
        let Some(case) = self.case(name, 2e-9 * entries as f64, "GFLOP/s") else {
            return Ok(());
        };
        let columns: Vec<u32> = (0..rows)
            .flat_map(|row| (0..(starts[row + 1] - starts[row]) as usize).map(move |k| (row, k)))
            .map(|(row, k)| column(row, k) as u32)
            .collect();
        let (values, vector) = (wave(entries), wave(rows));
        let tensors = (
            self.program.tensor_from(starts, [starts.len()])?,
            self.program.tensor_from(&columns, [columns.len()])?,
            self.program.tensor_from(&values, [values.len()])?,
            self.program.tensor_from(&vector, [rows])?,
        );
        let mut y = self.program.zeros::<f32, 1>([rows])?;
        let zeros = vec![0.0f32; rows];
        let args = vec![
            self.memory(starts),
            self.memory(&columns),
            self.memory(&values),
            self.memory(&vector),
            self.memory(&zeros),
            rows as u64,
        ];
        let way = |block: u32| {
            self.way("spmv", [over(rows, block as usize), 1, 1], [block, 1, 1], args.clone())
        };
        let ways = [way(128), way(256)];
        let (s, c, v, x) = &tensors;
        kernels::spmv(s, c, v, x, &mut y).launch()?;
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-3 * (1.0 + b.abs());
        self.agree(&y.to_vec()?, args[4], &zeros, &ways, close);
        self.run(&case, 10, || kernels::spmv(s, c, v, x, &mut y).launch(), &ways);
        self.free(&args[..5]);
        Ok(())
    }

    /// All neighbours of a cell, by three inner loops.
    fn box_filter(&self) -> Result<()> {
        const N: usize = 509;
        let giga = 8e-9 * (N * N * N) as f64;
        let Some(case) = self.case("27-point stencil 509³", giga, "GB/s") else { return Ok(()) };
        let data = wave(N * N * N);
        let a = self.program.tensor_from(&data, [N, N, N])?;
        let mut b = self.program.zeros::<f32, 3>([N, N, N])?;
        let zeros = vec![0.0f32; N * N * N];
        let (ha, hb) = (self.memory(&data), self.memory(&zeros));
        let way = |block: [u32; 3]| {
            let cover = |axis: usize| over(N - 2, block[axis] as usize);
            self.way("box_filter", [cover(0), cover(1), cover(2)], block, vec![ha, hb, N as u64])
        };
        let ways = [way([32, 4, 2]), way([64, 4, 1]), way([32, 8, 1]), way([128, 2, 1])];
        kernels::box_filter(&a, &mut b).launch()?;
        self.agree(&b.to_vec()?, hb, &zeros, &ways, |a, b| (a - b).abs() <= 1e-5);
        self.run(&case, 10, || kernels::box_filter(&a, &mut b).launch(), &ways);
        self.free(&[ha, hb]);
        Ok(())
    }

    /// A periodic flow on a plane with nine velocities.
    fn lattice(&self) -> Result<()> {
        const N: usize = 4096;
        const OMEGA: f32 = 1.2;
        let giga = 72e-9 * (N * N) as f64;
        let name = "lattice Boltzmann D2Q9, 4096², periodic";
        let Some(case) = self.case(name, giga, "GB/s") else { return Ok(()) };
        let data: Vec<f32> = wave(9 * N * N).iter().map(|x| 0.1 + 0.02 * x).collect();
        let f = self.program.tensor_from(&data, [9, N, N])?;
        let mut g = self.program.zeros::<f32, 3>([9, N, N])?;
        let (hf, hg) = (self.memory(&data), self.raw.buffers(1, 36 * N * N)[0]);
        let way = |block: [u32; 3]| {
            let grid = [over(N, block[0] as usize), over(N, block[1] as usize), 1];
            self.way("lattice", grid, block, vec![float(OMEGA), hf, hg, N as u64])
        };
        let ways = [way([32, 8, 1]), way([128, 2, 1]), way([256, 1, 1])];
        kernels::lattice(OMEGA, &f, &mut g).launch()?;
        self.agree(&g.to_vec()?, hg, &[], &ways, |a, b| (a - b).abs() <= 1e-5);
        self.run(&case, 10, || kernels::lattice(OMEGA, &f, &mut g).launch(), &ways);
        self.free(&[hf, hg]);
        Ok(())
    }

    /// All steps of a bitonic network.
    fn bitonic(&self) -> Result<()> {
        const LOG: u32 = 24;
        const N: usize = 1 << LOG;
        let Some(case) = self.case("bitonic sort of 2^24, 300 launches", 1e-9 * N as f64, "Gkey/s")
        else {
            return Ok(());
        };
        let data: Vec<u32> = (0..N as u32).map(|k| k.wrapping_mul(2_654_435_761)).collect();
        let mut a = self.program.tensor_from(&data, [N])?;
        let address = self.memory(&data);
        let steps: Vec<(u64, u64)> = (1..=LOG)
            .flat_map(|size| (0..size).rev().map(move |step| (1 << step, 1 << size)))
            .collect();
        let function = self.text.function("bitonic");
        let by_hand = || {
            for &(step, size) in &steps {
                let args = [address, N as u64 / 2, step, size];
                function.launch([over(N / 2, 256), 1, 1], [256, 1, 1], &args);
            }
        };
        let mut ours = || -> Result<()> {
            for &(step, size) in &steps {
                kernels::bitonic(step as usize, size as usize, &mut a).launch()?;
            }
            Ok(())
        };
        ours()?;
        by_hand();
        self.raw.synchronize();
        let theirs: Vec<u32> = self.raw.read(address, N);
        let mut theirs_timed = until_done(1, by_hand, || self.raw.synchronize());
        let mut ours_timed =
            until_done(1, || ours().expect("launches"), || self.program.sync().expect("completes"));
        self.options.run(&case, SAMPLES, &mut ours_timed, &mut [("bitonic", &mut theirs_timed)]);
        drop(ours_timed);
        assert!(theirs.is_sorted(), "the rival sorts");
        assert_eq!(a.to_vec()?, theirs);
        self.free(&[address]);
        Ok(())
    }

    fn mpm(&self) -> Result<()> {
        const PARTICLES: usize = 1 << 20;
        const CELLS: usize = 1024;
        const DT: f32 = 1e-5;
        let giga = 1e-9 * PARTICLES as f64;
        let name = "material point step, 2^20 particles, 1024² cells";
        let Some(case) = self.case(name, giga, "Gparticle/s") else { return Ok(()) };
        // In a square in the middle, in no order.
        let scatter = |k: u32| (k.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32;
        let places: Vec<f32> = (0..2 * PARTICLES as u32).map(|k| 0.3 + 0.4 * scatter(k)).collect();
        let (zeros, ones) = (vec![0.0f32; 4 * PARTICLES], vec![1.0f32; PARTICLES]);
        let mut place = self.program.tensor_from(&places, [PARTICLES, 2])?;
        let mut speed = self.program.zeros([PARTICLES, 2])?;
        let mut affine = self.program.zeros([PARTICLES, 4])?;
        let mut grown = self.program.tensor_from(&ones, [PARTICLES])?;
        let mut momentum = self.program.zeros([CELLS, CELLS, 2])?;
        let mut mass = self.program.zeros([CELLS, CELLS])?;
        let mut ours = || {
            let (a, b, c) = (&mut place, &mut speed, &mut affine);
            kernels::mpm(DT, a, b, c, &mut grown, &mut momentum, &mut mass).launch()
        };
        let [hp, hs, ha, hg] = [
            self.memory(&places),
            self.memory(&zeros[..2 * PARTICLES]),
            self.memory(&zeros),
            self.memory(&ones),
        ];
        let grid = self.raw.buffers(2, 8 * CELLS * CELLS);
        let (hm, hw) = (grid[0], grid[1]);
        let (n, g, dt) = (PARTICLES as u64, CELLS as u64, float(DT));
        let linear =
            |name, count: usize, args| self.way(name, [over(count, 256), 1, 1], [256, 1, 1], args);
        let tasks = [
            linear("mpm_clear", CELLS * CELLS, vec![hm, hw, g]),
            linear("mpm_scatter", PARTICLES, vec![hp, hs, ha, hg, hm, hw, dt, n, g]),
            self.way(
                "mpm_grid",
                [over(CELLS, 32), over(CELLS, 8), 1],
                [32, 8, 1],
                vec![hm, hw, dt, g],
            ),
            linear("mpm_gather", PARTICLES, vec![hp, hs, ha, hg, hm, dt, n, g]),
        ];
        ours()?;
        tasks.iter().for_each(CudaVariant::launch);
        self.raw.synchronize();
        let mut rival = until_done(
            10,
            || tasks.iter().for_each(CudaVariant::launch),
            || self.raw.synchronize(),
        );
        let mut ours = until_done(
            10,
            || ours().expect("launches"),
            || self.program.sync().expect("completes"),
        );
        self.options.run(&case, SAMPLES, &mut ours, &mut [("four kernels", &mut rival)]);
        drop(ours);
        let theirs: Vec<f32> = self.raw.read(hp, 2 * PARTICLES);
        let differ =
            place.to_vec()?.iter().zip(&theirs).filter(|(a, b)| (*a - *b).abs() > 1e-4).count();
        assert!(differ == 0, "{differ} coordinates differ");
        self.free(&[hp, hs, ha, hg, hm, hw]);
        Ok(())
    }
}
