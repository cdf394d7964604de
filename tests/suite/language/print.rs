//! `println!` in kernels: the text is that of std, messages name kernel, place and iteration, come at waits and in the
//! order of the stream, and those that do not fit are counted.

use std::sync::{Arc, Mutex};

use quadrants::{
    self as qd, Kernel, KernelMessage, KernelOutput, KernelValue, Matrix, Program, Result, Tensor,
    Vector, builder::KernelBuilder, ir::ScalarType::I32,
};
use quadrants_tests::{On, TestBackend, on_all_backends};

/// What the kernels of a program printed, in order.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<KernelOutput>>>);

impl Printed {
    fn open(backend: TestBackend) -> Option<(On, Self)> {
        let printed = Self::default();
        let list = printed.clone();
        let print = move |output: &KernelOutput| list.0.lock().unwrap().push(output.clone());
        Some((backend.open_with(Program::builder().print_to(print))?, printed))
    }

    fn take(&self) -> Vec<KernelOutput> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn messages(&self) -> Vec<KernelMessage> {
        let all = self.take().into_iter().map(|output| match output {
            KernelOutput::Message(message) => message,
            other => panic!("{other}"),
        });
        all.collect()
    }

    /// The texts, in order.
    fn texts(&self) -> Vec<String> {
        self.messages().into_iter().map(|message| message.text).collect()
    }

    /// The iterations with the texts, sorted.
    fn sorted(&self) -> Vec<(Vec<i64>, String)> {
        let all = self.messages().into_iter().map(|message| (message.iteration, message.text));
        let mut all: Vec<_> = all.collect();
        all.sort();
        all
    }
}

#[qd::kernel]
fn of_each_type(
    integers: (i32, i64, u32, u64, usize),
    small: (i8, u8, i16, u16),
    floats: (f32, f64, qd::f16),
    flag: bool,
    lines: &mut Tensor<u32, 1>,
) {
    let (a, b, c, d, e) = integers;
    let (f, g, h, i) = small;
    let (x, y, z) = floats;
    println!("{a} {b} {c} {d} {e} {f} {g} {h} {i} {x} {y} {z} {flag}");
    println!("{a:?} {f:?} {x:?} {y:?} {z:?} {flag:?}");
    println!("{:>8}|{:<8}|{:^8}|{:08}|{:+}|{:*^+9}|", a, b, c, a, d, e);
    println!("{a:x} {b:#X} {f:b} {:#o} {a:e}", g);
    println!("{x:.3} {0:8.2}|{0:<8.2}|{0:+08.1}|{1:e}|{z:6.1}|", y, x);
    println!("{{{flag:>6}}} {flag:<6}| {named}", named = a + 1);
    println!();
    println!("no values");
    println!("{} {} {}", 3, 0.5, -a);
    lines[0] = 9;
}

fn expected(
    (a, b, c, d, e): (i32, i64, u32, u64, usize),
    (f, g, h, i): (i8, u8, i16, u16),
    (x, y, z): (f32, f64, qd::f16),
    flag: bool,
) -> Vec<String> {
    vec![
        format!("{a} {b} {c} {d} {e} {f} {g} {h} {i} {x} {y} {z} {flag}"),
        format!("{a:?} {f:?} {x:?} {y:?} {z:?} {flag:?}"),
        format!("{:>8}|{:<8}|{:^8}|{:08}|{:+}|{:*^+9}|", a, b, c, a, d, e),
        format!("{a:x} {b:#X} {f:b} {:#o} {a:e}", g),
        format!("{x:.3} {0:8.2}|{0:<8.2}|{0:+08.1}|{1:e}|{z:6.1}|", y, x),
        format!("{{{flag:>6}}} {flag:<6}| {named}", named = a.wrapping_add(1)),
        String::new(),
        "no values".to_owned(),
        format!("{} {} {}", 3, 0.5, a.wrapping_neg()),
    ]
}

#[on_all_backends]
fn the_text_is_that_of_std(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let mut lines = on.program.zeros::<u32, 1>([1])?;
    let half = qd::f16::from_f32;
    for (integers, small, floats, flag) in [
        ((-7, 1 << 40, 9, u64::MAX, 12), (-5, 200, -300, 60_000), (1.5, -0.1, half(0.1)), true),
        ((0, i64::MIN, 0, 0, 0), (0, 0, 0, 0), (-0.0, 1e300, half(-65504.0)), false),
        (
            (i32::MAX - 1, -1, u32::MAX, 1, usize::MAX),
            (i8::MIN, 255, i16::MIN, 1),
            (f32::NAN, f64::NEG_INFINITY, half(f32::INFINITY)),
            true,
        ),
    ] {
        of_each_type(integers, small, floats, flag, &mut lines).launch()?;
        assert_eq!(printed.take(), [], "nothing is printed before a wait");
        assert_eq!(lines.to_vec()?, [9]);
        assert_eq!(printed.texts(), expected(integers, small, floats, flag));
    }
    on.program.sync()?;
    assert_eq!(printed.take(), []);
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Debug, KernelValue)]
enum Kind {
    Near = -2,
    Far,
}

#[derive(Clone, Copy, PartialEq, Debug, KernelValue)]
struct Ray {
    at: Vector<f32, 2>,
    r#type: Kind,
    of: Pair<u8>,
}

#[derive(Clone, Copy, PartialEq, Debug, KernelValue)]
struct Pair<T>(T, bool);

#[derive(Clone, Copy, PartialEq, Debug, KernelValue)]
struct Nothing;

#[qd::kernel]
fn of_aggregates(m: Matrix<i32, 2, 2>, ray: Ray, rays: &Tensor<Pair<u8>, 1>) {
    let Ray { at, .. } = ray;
    println!("{m:?} {ray:?} {at:6.2?}");
    println!("{:#?} {m:#?}", ray);
    println!("{:?} {:?} {:#?}", (1, -0.5), (at,), ([at, at * 2.0], Nothing));
    println!("{ray:#?}{:?} {0:?} {:+08.1?}", at, rays.len() as f32);
    for i in 0..rays.len() {
        println!("{:?} {:?}", rays[i], [i; 2]);
    }
}

#[on_all_backends]
fn aggregates_are_printed_as_by_a_derived_debug(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let m = Matrix([[1, -2], [3, 4]]);
    let rays = on.program.tensor_from(&[Pair(200, true)], [1])?;
    for kind in [Kind::Near, Kind::Far] {
        let ray = Ray { at: Vector([0.5, 1e20]), r#type: kind, of: Pair(3, false) };
        of_aggregates(m, ray, &rays).launch()?;
        on.program.sync()?;
        let at = ray.at;
        let expected = [
            format!("{m:?} {ray:?} {at:6.2?}"),
            format!("{:#?} {m:#?}", ray),
            format!("{:?} {:?} {:#?}", (1, -0.5), (at,), ([at, at * 2.0], Nothing)),
            format!("{ray:#?}{:?} {0:?} {:+08.1?}", at, 1.0_f32),
            format!("{:?} {:?}", Pair(200_u8, true), [0; 2]),
        ];
        assert_eq!(printed.texts(), expected);
    }
    Ok(())
}

#[qd::kernel]
fn too_large(m: Matrix<f32, 4, 4>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{m:?} {:?}", m * 2.0);
        x[i] = 1.0;
    }
}

#[on_all_backends]
fn a_message_with_too_many_numbers_is_an_error_of_the_launch(backend: TestBackend) -> Result<()> {
    let Some((on, _)) = Printed::open(backend) else { return Ok(()) };
    let mut x = on.program.zeros([2])?;
    let error = too_large(Matrix::zero(), &mut x).launch().unwrap_err().to_string();
    let what = "a message has at most 27 numbers here, and this one has 32; help: print the parts";
    assert!(error.contains(what), "{error}");
    Ok(())
}

#[qd::kernel]
fn configured(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = if cfg!(debug_assertions) { 2 } else { 3 };
        if cfg!(any()) {
            x[i] = 4;
        }
    }
}

#[on_all_backends]
fn cfg_is_that_of_the_crate_with_the_kernel(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.zeros([2])?;
    configured(&mut x).launch()?;
    assert_eq!(x.to_vec()?, [if cfg!(debug_assertions) { 2 } else { 3 }; 2]);
    Ok(())
}

#[qd::kernel]
fn squares(x: &Tensor<i32, 1>) {
    for i in 0..x.len() {
        let square = x[i] * x[i];
        if square > 10 {
            println!("{square}");
        }
    }
}

#[on_all_backends]
fn a_message_names_kernel_place_and_iteration(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let x = on.program.tensor_from(&[1, -4, 3, 5], [4])?;
    squares(&x).launch()?;
    on.program.sync()?;
    let mut messages = printed.messages();
    messages.sort_by_key(|message| message.iteration.clone());
    let line = messages[0].line;
    let lines: Vec<_> =
        messages.iter().map(|message| KernelOutput::Message(message.clone()).to_string()).collect();
    let place = format!("squares ({}:{line})", file!());
    assert_eq!(lines, [format!("{place} at 1: 16"), format!("{place} at 3: 25")]);
    let source =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/suite/language/print.rs"));
    let source = source.expect("this file");
    let nth = source.lines().nth(line as usize - 1);
    assert_eq!(nth.map(str::trim), Some("println!(\"{square}\");"));
    Ok(())
}

#[qd::func]
fn loud(x: i32) -> i32 {
    println!("x is {x}");
    x + 1
}

#[qd::func]
fn louder(x: i32) -> i32 {
    loud(x) * loud(x + 100)
}

#[qd::kernel]
fn of_funcs(y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        y[i] = louder(i as i32);
    }
}

/// Loops of these forms are strips or reductions where nothing prints.
#[on_all_backends]
fn funcs_print_once_per_call(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let mut y = on.program.zeros::<i32, 1>([40])?;
    of_funcs(&mut y).launch()?;
    let expected: Vec<i32> = (0..40).map(|i| (i + 1) * (i + 101)).collect();
    assert_eq!(y.to_vec()?, expected);
    let each = |i: i64| [(vec![i], format!("x is {i}")), (vec![i], format!("x is {}", i + 100))];
    let mut all: Vec<_> = (0..40).flat_map(each).collect();
    all.sort();
    assert_eq!(printed.sorted(), all);
    Ok(())
}

#[qd::kernel]
fn nested(n: usize, sum: &mut Tensor<i32, 1>) {
    println!("before {n}");
    for (i, j) in qd::ndrange((0..n, 2..5)) {
        qd::atomic_add(&mut sum[0], 1);
        println!("tile {}", i * 10 + j);
    }
    for i in (2..12).rev().step_by(3) {
        for k in 0..3 {
            if k == 1 {
                continue;
            }
            println!("step {k}");
        }
        qd::atomic_add(&mut sum[0], i);
    }
    println!("after");
}

#[on_all_backends]
fn iterations_are_the_values_of_the_loop_variables(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let mut sum = on.program.zeros::<i32, 1>([1])?;
    nested(2, &mut sum).launch()?;
    assert_eq!(sum.to_vec()?, [6 + 11 + 8 + 5 + 2]);
    let all = printed.messages();
    assert_eq!((&*all[0].text, &*all[all.len() - 1].text), ("before 2", "after"));
    assert!(all[0].iteration.is_empty() && all[all.len() - 1].iteration.is_empty());
    let mut inner: Vec<_> =
        all[1..all.len() - 1].iter().map(|m| (m.iteration.clone(), m.text.clone())).collect();
    inner.sort();
    let mut expected = Vec::new();
    for (i, j) in (0..2).flat_map(|i| (2..5).map(move |j| (i, j))) {
        expected.push((vec![i, j], format!("tile {}", i * 10 + j)));
    }
    for i in [11, 8, 5, 2] {
        expected.extend([0, 2].map(|k| (vec![i], format!("step {k}"))));
    }
    expected.sort();
    assert_eq!(inner, expected);
    Ok(())
}

#[qd::kernel]
fn branches(x: &Tensor<i32, 1>) {
    for i in 0..x.len() {
        match x[i] {
            0 => println!("zero"),
            1 | 2 => {
                println!("few {}", x[i])
            }
            _ => println!("many"),
        }
        if x[i] > 1 {
            println!("large")
        } else {
            println!("small {i}")
        }
        let mut k = 0;
        while k < x[i] {
            k += 2;
            println!("k {k}");
        }
    }
}

macro_rules! made {
    ($name:ident, $text:literal) => {
        #[qd::kernel]
        fn $name(x: &Tensor<i32, 1>) {
            for i in 0..x.len() {
                let y = x[i];
                println!($text, y);
                println!("{y} of {i}");
            }
        }
    };
}

made!(by_a_macro, "value {}");

#[on_all_backends]
fn messages_can_be_wherever_statements_can(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let x = on.program.tensor_from(&[0, 2, 3], [3])?;
    let of = |printed: &Printed, i: i64| -> Vec<String> {
        let all = printed.messages().into_iter();
        all.filter(|message| message.iteration == [i]).map(|message| message.text).collect()
    };
    for (i, expected) in [
        (0, &["zero", "small 0"][..]),
        (1, &["few 2", "large", "k 2"]),
        (2, &["many", "large", "k 2", "k 4"]),
    ] {
        branches(&x).launch()?;
        on.program.sync()?;
        assert_eq!(of(&printed, i), expected);
        by_a_macro(&x).launch()?;
        on.program.sync()?;
        let y = [0, 2, 3][i as usize];
        assert_eq!(of(&printed, i), [format!("value {y}"), format!("{y} of {i}")]);
    }
    Ok(())
}

#[qd::kernel]
fn say(what: i32) {
    println!("{what}");
}

#[on_all_backends]
fn messages_of_a_stream_come_in_order_at_its_wait(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let (one, two) = (on.program.create_stream()?, on.program.create_stream()?);
    let event = on.program.create_event()?;
    for at in 0..30 {
        say(at).launch_on(&one)?;
        say(100 + at).launch_on(&two)?;
        if at == 9 {
            event.record(&one)?;
        }
    }
    assert_eq!(printed.take(), []);
    event.synchronize()?;
    let early = printed.texts();
    let numbers = |from: i32, to: i32| (from..to).map(|at| at.to_string()).collect::<Vec<_>>();
    assert!(early.len() >= 10, "{early:?}");
    one.synchronize()?;
    assert_eq!([early, printed.texts()].concat(), numbers(0, 30));
    on.program.device_sync()?;
    assert_eq!(printed.texts(), numbers(100, 130));
    say(7).launch_on(&two)?;
    drop(two);
    assert_eq!(printed.texts(), ["7"], "a drop waits");
    Ok(())
}

#[qd::kernel]
fn count(n: usize) {
    for i in 0..n {
        println!("{i}");
    }
}

#[on_all_backends]
fn messages_that_do_not_fit_are_counted(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let stream = on.program.default_stream();
    for round in 0..3 {
        count(1000).launch_on(stream)?;
        count(500).launch_on(stream)?;
        on.program.sync()?;
        let mut all = printed.take();
        let last = all.pop().expect("the number of those that were dropped");
        let KernelOutput::Dropped { dropped, of } = last else { panic!("{last}") };
        assert_eq!((all.len(), dropped, of), (1024, 476, 1500), "{round}");
        assert_eq!(last.to_string(), "476 of 1500 messages of kernels were dropped");
        assert!(all.iter().all(|output| matches!(output, KernelOutput::Message(_))));
        // The buffer is free again.
        count(1024).launch_on(stream)?;
        on.program.sync()?;
        assert_eq!(printed.sorted().len(), 1024);
    }
    Ok(())
}

#[qd::kernel]
fn two_blocks(a: &mut Tensor<i32, 1>, b: &mut Tensor<i32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += 1;
            println!("a {}", a[i]);
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            b[i] += 2;
            println!("b {}", b[i]);
        }
    });
}

#[on_all_backends]
fn regions_and_graphs_print_at_each_launch(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let mut a = on.program.zeros::<i32, 1>([2])?;
    let mut b = on.program.zeros::<i32, 1>([2])?;
    let all = |round: i32| {
        let each =
            |i: i64| [(vec![i], format!("a {round}")), (vec![i], format!("b {}", 2 * round))];
        let mut all: Vec<_> = (0..2).flat_map(each).collect();
        all.sort();
        all
    };
    // Often enough for a region graph.
    for round in 1..8 {
        two_blocks(&mut a, &mut b).launch()?;
        on.program.sync()?;
        assert_eq!(printed.sorted(), all(round));
    }
    let stream = on.program.create_stream()?;
    let mut graph = on.program.capture(|| two_blocks(&mut a, &mut b).launch())?;
    assert_eq!(printed.take(), [], "a capture runs nothing");
    for round in 8..12 {
        graph.launch_on(&stream)?;
        stream.synchronize()?;
        assert_eq!(printed.sorted(), all(round));
    }
    Ok(())
}

#[qd::kernel]
fn of_blocks(total: &mut Tensor<u32, 1>) {
    qd::block_for([2, 2], 4, |block| {
        let mut shared = block.shared::<u32>(4);
        block.each(|thread| {
            shared[thread] = thread as u32;
        });
        block.each(|thread| {
            if thread == 3 {
                println!("thread {thread} sees {}", shared[0] + shared[3]);
            }
            qd::atomic_add(&mut total[0], shared[thread]);
        });
    });
}

#[on_all_backends]
fn phases_of_thread_blocks_print(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let mut total = on.program.zeros::<u32, 1>([1])?;
    of_blocks(&mut total).launch()?;
    assert_eq!(total.to_vec()?, [24]);
    let text = || "thread 3 sees 3".to_owned();
    let expected = [[0, 0], [0, 1], [1, 0], [1, 1]].map(|block| (block.to_vec(), text()));
    assert_eq!(printed.sorted(), expected);
    Ok(())
}

#[qd::kernel]
fn out_of_range(offset: usize, x: &mut Tensor<f32, 1>, v: Vector<f32, 2>) {
    for i in 0..x.len() {
        println!("{:.1}", v[i % 2]);
        x[i + offset] = v[0];
        println!("done");
    }
}

/// Iterations in the interior print as those around it.
#[on_all_backends]
fn a_kernel_with_an_error_prints_first(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let mut x = on.program.zeros::<f32, 1>([3])?;
    out_of_range(1, &mut x, Vector([0.25, 4.0])).launch().ok();
    let error = on.program.sync();
    let mut texts = printed.texts();
    texts.sort();
    assert_eq!(texts, ["0.2", "0.2", "4.0", "done", "done", "done"]);
    // The CPU's launch itself returns the error.
    assert!(error.is_err() || backend == TestBackend::Cpu);
    Ok(())
}

#[qd::kernel]
fn noisy_sum(x: &Tensor<i32, 1>) -> i32 {
    println!("of {}", x.len());
    x[0] + x[1]
}

#[on_all_backends]
fn a_launch_that_waits_for_a_value_prints(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let x = on.program.tensor_from(&[1, 2], [2])?;
    assert_eq!(noisy_sum(&x).launch()?, 3);
    assert_eq!(printed.texts(), ["of 2"]);
    Ok(())
}

#[qd::kernel]
fn loud_outside(a: &mut Tensor<i32, 1>, b: &mut Tensor<i32, 1>) {
    let both = loud(1);
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] = both;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            b[i] = both;
        }
    });
}

/// Each block evaluates the values outside of the blocks that it uses: a message would be repeated.
#[on_all_backends]
fn no_message_is_repeated_by_blocks(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let mut a = on.program.zeros::<i32, 1>([2])?;
    let mut b = on.program.zeros::<i32, 1>([2])?;
    let error = loud_outside(&mut a, &mut b).launch().unwrap_err().to_string();
    assert!(
        error.contains("a func that prints is called outside of the `stream_parallel`"),
        "{error}"
    );
    on.program.sync()?;
    assert_eq!(printed.take(), []);
    Ok(())
}

/// A callback may wait for the stream again, and its panic reaches no caller.
#[on_all_backends]
fn a_callback_may_wait_and_panic(backend: TestBackend) -> Result<()> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let program = Arc::new(Mutex::new(None::<Program>));
    let (list, slot) = (heard.clone(), program.clone());
    let builder = Program::builder().print_to(move |output: &KernelOutput| {
        list.lock().unwrap().push(output.to_string());
        let program = slot.lock().unwrap().clone();
        program.expect("set before the launch").sync().unwrap();
        // As a panic, without the message of the panic hook.
        std::panic::resume_unwind(Box::new("not heard"));
    });
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    *program.lock().unwrap() = Some(on.program.clone());
    say(1).launch_on(on.program.default_stream())?;
    say(2).launch_on(on.program.default_stream())?;
    on.program.sync()?;
    *program.lock().unwrap() = None;
    let heard: Vec<String> = heard.lock().unwrap().clone();
    let ends: Vec<_> = heard.iter().map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(ends, [Some("1"), Some("2")]);
    Ok(())
}

#[test]
fn funcs_print_outside_of_kernels() {
    assert_eq!(louder(1), 2 * 102);
}

/// Messages of a kernel that is dropped before the wait are not lost.
#[on_all_backends]
fn a_dropped_kernel_has_printed(backend: TestBackend) -> Result<()> {
    let Some((on, printed)) = Printed::open(backend) else { return Ok(()) };
    let builder = KernelBuilder::new("made");
    let x = builder.param_scalar("x", I32);
    builder.print("made of {} and {:>3}", &[x, x]);
    let kernel = Kernel::new(builder.build().expect("valid"))?;
    kernel.call::<()>().arg(5).launch_on(on.program.default_stream())?;
    drop(kernel);
    on.program.sync()?;
    assert_eq!(printed.texts(), ["made of 5 and   5"]);
    Ok(())
}
