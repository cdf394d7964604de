//! Host time of allocations and transfers with a launch, against the same driver calls by hand: asynchronous
//! allocation, fill or copy, launch, free. Also uploads of several threads, and an upload beside a kernel.

use std::{sync::Barrier, thread};

use quadrants::{self as qd, Arch, Program, Result};
use quadrants_bench::{
    Case, Options, SpeedTarget,
    driver::Raw,
    enqueue, kernels,
    nvrtc::{ByText, Function},
    seconds,
};

/// Calls in flight in one sample.
const IN_FLIGHT: usize = 200;
const SAMPLES: usize = 31;
/// The elements of a small tensor: 1 KiB.
const SMALL: usize = 256;
/// The elements of a large one: 64 MiB.
const LARGE: usize = 1 << 24;
const TARGET: SpeedTarget = SpeedTarget::Ratio(1.1);

const TEXT: &str = r#"
extern "C" __global__ void touch(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"#;

struct Bench<'a> {
    options: Options,
    program: Program,
    raw: &'a Raw,
    touch: Function<'a>,
    saxpy: Function<'a>,
}

fn main() -> Result<()> {
    let options = Options::from_args();
    if !options.wants("cuda") {
        return Ok(());
    }
    let program = Program::open(Arch::Cuda)?;
    let raw = Raw::load();
    let text = ByText::compile(&raw, TEXT, &[]);
    let [touch, saxpy] = ["touch", "saxpy"].map(|name| text.function(name));
    let bench = Bench { options, program, raw: &raw, touch, saxpy };
    bench.fresh_tensors()?;
    bench.transfers()?;
    bench.large_uploads()?;
    bench.threads()?;
    bench.overlap()?;
    bench.streams()
}

fn blocks(n: usize) -> [u32; 3] {
    [n.div_ceil(256) as u32, 1, 1]
}

impl Bench<'_> {
    fn case(&self, name: &str, unit: &'static str) -> Case {
        Case::new("memory", name, unit).target(TARGET)
    }

    /// Microseconds that the host needs for one call, of many in flight.
    fn host(&self, name: &str, mut ours: impl FnMut() -> Result<()>, by_hand: impl FnMut()) {
        self.options.run(
            &self.case(name, "us"),
            SAMPLES,
            &mut enqueue(
                IN_FLIGHT,
                || ours().expect("launches"),
                || self.program.device_sync().expect("completes"),
            ),
            &mut [("driver by hand", &mut enqueue(IN_FLIGHT, by_hand, || self.raw.synchronize()))],
        );
    }

    fn touch(&self, address: u64, n: usize, stream: usize) {
        self.touch.launch_on(stream, blocks(n), [256, 1, 1], &[address, n as u64]);
    }

    fn fresh_tensors(&self) -> Result<()> {
        let (program, raw) = (&self.program, self.raw);
        let ours_on = program.create_stream()?;
        let hand_on = raw.stream();
        for (name, stream) in [("default stream", 0), ("explicit stream", hand_on)] {
            let launch = |x: &mut qd::Tensor<f32, 1>| match stream {
                0 => kernels::touch(x).launch(),
                _ => kernels::touch(x).launch_on(&ours_on),
            };
            self.host(
                &format!("zeros of 1 KiB, launch, drop; {name}"),
                || launch(&mut program.zeros::<f32, 1>([SMALL])?),
                || {
                    let x = raw.alloc_async(4 * SMALL, stream);
                    raw.fill_async(x, 4 * SMALL, stream);
                    self.touch(x, SMALL, stream);
                    raw.free_async(x, stream);
                },
            );
            let data = [1.0f32; SMALL];
            self.host(
                &format!("tensor_from of 1 KiB, launch, drop; {name}"),
                || launch(&mut program.tensor_from(&data, [SMALL])?),
                || {
                    let x = raw.alloc_async(4 * SMALL, stream);
                    raw.write_async(x, &data, stream);
                    self.touch(x, SMALL, stream);
                    raw.free_async(x, stream);
                },
            );
            let mut y = program.zeros::<f32, 1>([SMALL])?;
            let hy = raw.buffers(1, 4 * SMALL)[0];
            self.host(
                &format!("launch with a host array of 1 KiB; {name}"),
                || {
                    let x = qd::host(&data, [SMALL])?;
                    let launch = kernels::saxpy(2.0, &x, &mut y);
                    if stream == 0 { launch.launch() } else { launch.launch_on(&ours_on) }
                },
                || {
                    let x = raw.alloc_async(4 * SMALL, stream);
                    raw.write_async(x, &data, stream);
                    let args = [u64::from(2.0f32.to_bits()), x, hy, SMALL as u64];
                    self.saxpy.launch_on(stream, blocks(SMALL), [256, 1, 1], &args);
                    raw.free_async(x, stream);
                },
            );
        }
        Ok(())
    }

    fn transfers(&self) -> Result<()> {
        let (program, raw) = (&self.program, self.raw);
        let mut x = program.zeros::<f32, 1>([SMALL])?;
        let hx = raw.buffers(1, 4 * SMALL)[0];
        let mut data = [1.0f32; SMALL];
        self.host(
            "launch, read of 1 KiB",
            || {
                kernels::touch(&mut x).launch()?;
                x.to_vec().map(drop)
            },
            || {
                self.touch(hx, SMALL, 0);
                raw.read_wait(hx, &mut data, 0);
            },
        );
        self.host("write of 1 KiB", || x.write(&data), || raw.write_async(hx, &data, 0));
        self.host(
            "write of 1 KiB, launch",
            || {
                x.write(&data)?;
                kernels::touch(&mut x).launch()
            },
            || {
                raw.write_async(hx, &data, 0);
                self.touch(hx, SMALL, 0);
            },
        );
        Ok(())
    }

    /// Milliseconds from the call until the data is on the device.
    fn large_uploads(&self) -> Result<()> {
        let (program, raw) = (&self.program, self.raw);
        let case = self.case("tensor_from of 64 MiB, until it is there", "ms").work(0.0671, "GB/s");
        if !self.options.selects(&case) {
            return Ok(());
        }
        let data = vec![1.0f32; LARGE];
        let stream = raw.stream();
        self.options.run(
            &case,
            9,
            &mut || {
                let mut x = None;
                let time = seconds(|| {
                    x = Some(program.tensor_from(&data, [LARGE]).expect("uploads"));
                    program.device_sync().expect("completes");
                });
                time * 1e3
            },
            &mut [("cuMemcpyHtoDAsync from pageable memory", &mut || {
                let mut x = 0;
                let time = seconds(|| {
                    x = raw.alloc_async(4 * LARGE, stream);
                    raw.write_async(x, &data, stream);
                    raw.stream_synchronize(stream);
                });
                raw.free_async(x, stream);
                raw.stream_synchronize(stream);
                time * 1e3
            })],
        );
        Ok(())
    }

    /// Uploads of four threads at once, against the same uploads in turn.
    fn threads(&self) -> Result<()> {
        const THREADS: usize = 4;
        let program = &self.program;
        let case = Case::new("memory", "tensor_from of 4 × 16 MiB by 4 threads", "ms");
        if !self.options.selects(&case) {
            return Ok(());
        }
        let data = vec![1.0f32; LARGE / THREADS];
        let upload = || program.tensor_from(&data, [data.len()]).expect("uploads");
        let at_once = || {
            let barrier = Barrier::new(THREADS + 1);
            let mut time = 0.0;
            thread::scope(|scope| {
                let workers: Vec<_> = (0..THREADS)
                    .map(|_| {
                        scope.spawn(|| {
                            barrier.wait();
                            let x = upload();
                            program.device_sync().expect("completes");
                            x
                        })
                    })
                    .collect();
                barrier.wait();
                time = seconds(|| {
                    workers.into_iter().for_each(|worker| drop(worker.join().expect("no panic")));
                });
            });
            time * 1e3
        };
        let in_turn = || {
            seconds(|| {
                let all: Vec<_> = (0..THREADS).map(|_| upload()).collect();
                program.device_sync().expect("completes");
                drop(all);
            }) * 1e3
        };
        let (mut at_once, mut in_turn) = (at_once, in_turn);
        self.options.run(&case, 9, &mut at_once, &mut [("in turn on one thread", &mut in_turn)]);
        Ok(())
    }

    /// An upload and a kernel on another stream together, against the longer of the two alone.
    fn overlap(&self) -> Result<()> {
        let program = &self.program;
        let case = Case::new("memory", "upload of 64 MiB beside a kernel", "ms");
        if !self.options.selects(&case) {
            return Ok(());
        }
        let data = vec![1.0f32; LARGE];
        let stream = program.create_stream()?;
        let mut busy = program.zeros::<f32, 1>([LARGE])?;
        program.device_sync()?;
        let upload = || program.tensor_from(&data, [LARGE]).expect("uploads");
        let upload_alone = || {
            seconds(|| {
                let x = upload();
                program.device_sync().expect("completes");
                drop(x);
            })
        };
        let alone = (0..5).map(|_| upload_alone()).fold(f64::INFINITY, f64::min);
        let mut kernel = |count: usize| {
            (0..count).for_each(|_| {
                kernels::chain(0.9, 0.1, &mut busy).launch_on(&stream).expect("launches");
            });
        };
        kernel(1);
        program.device_sync()?;
        let one = seconds(|| {
            kernel(20);
            program.device_sync().expect("completes");
        }) / 20.0;
        let count = (alone / one).ceil() as usize;
        let kernel = std::cell::RefCell::new(kernel);
        self.options.run(
            &case,
            9,
            &mut || {
                seconds(|| {
                    kernel.borrow_mut()(count);
                    let x = upload();
                    program.device_sync().expect("completes");
                    drop(x);
                }) * 1e3
            },
            &mut [("the longer of the two alone", &mut || {
                let kernels = seconds(|| {
                    kernel.borrow_mut()(count);
                    program.device_sync().expect("completes");
                });
                kernels.max(upload_alone()) * 1e3
            })],
        );
        Ok(())
    }

    /// Making a stream against leasing one from the pool, and two streams with events against one.
    fn streams(&self) -> Result<()> {
        let (program, raw) = (&self.program, self.raw);
        self.options.run(
            &self.case("create and destroy a stream", "us"),
            SAMPLES,
            &mut enqueue(20, || drop(program.create_stream().expect("creates")), || ()),
            &mut [("driver by hand", &mut enqueue(20, || raw.destroy_stream(raw.stream()), || ()))],
        );
        // A quarter of the device's threads each, so that both can run at once.
        const N: usize = 1 << 14;
        let case = Case::new("memory", "20 kernels on two streams with events", "ms");
        let streams = [program.create_stream()?, program.create_stream()?];
        let mut tensors = [program.zeros::<f32, 1>([N])?, program.zeros::<f32, 1>([N])?];
        let tensors = std::cell::RefCell::new(&mut tensors);
        self.options.run(
            &case,
            SAMPLES,
            &mut || {
                seconds(|| {
                    let mut tensors = tensors.borrow_mut();
                    for _ in 0..10 {
                        for (x, stream) in tensors.iter_mut().zip(&streams) {
                            kernels::chain(0.9, 0.1, x).launch_on(stream).expect("launches");
                        }
                    }
                    let joined = program.create_event().expect("an event");
                    joined.record(&streams[1]).expect("records");
                    joined.wait(&streams[0]).expect("waits");
                    streams[0].synchronize().expect("completes");
                }) * 1e3
            },
            &mut [("one stream", &mut || {
                seconds(|| {
                    let mut tensors = tensors.borrow_mut();
                    for _ in 0..10 {
                        for x in tensors.iter_mut() {
                            kernels::chain(0.9, 0.1, x).launch_on(&streams[0]).expect("launches");
                        }
                    }
                    streams[0].synchronize().expect("completes");
                }) * 1e3
            })],
        );
        Ok(())
    }
}
