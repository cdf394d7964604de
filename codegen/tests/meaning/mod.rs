//! Compares printed text with the reference interpreter: the host's C++ compiler compiles the samples, with an
//! undefined behaviour sanitizer if available, and both run on the same memory.

mod coarsened;
mod speculative;

use std::thread;

use quadrants_ir::{
    Offloaded, Param, ParamId, ParamKind, ScalarType, TaskId,
    abi::{ERROR_WORD, Form, Forms, Passing},
    launch_analysis, verify_offloaded,
};
use quadrants_samples::{
    self as samples, Builder,
    case::Case,
    host_program::{Checks, HostProgram, HostText},
    run::SampleArg,
};

use crate::print_scheduled;

/// The number of elements of each tensor: a power of 2 and of 4, for the shapes.
const ELEMENTS: usize = 64;
/// The number of argument sets per kernel.
fn rounds() -> usize {
    if samples::full_size() { 8 } else { 6 }
}

/// The sanitizer and the optimizer take most of the test's time.
fn checks() -> Checks {
    if samples::full_size() { Checks::Undefined } else { Checks::None }
}

#[test]
fn printed_text_agrees_with_the_interpreter() {
    compare(samples::all());
}

/// With columns before rows, and a gap after each element.
#[test]
fn printed_text_for_strided_tensors_agrees_with_the_interpreter() {
    let mut kernels = samples::all();
    for (at, kernel) in kernels.iter_mut().enumerate() {
        for (number, param) in kernel.params.iter_mut().enumerate() {
            // In some kernels all tensors, in others every other one.
            param.strided = param.kind.elem().is_some() && (at + number) % 3 < 2;
        }
        verify_offloaded(kernel).unwrap();
    }
    compare(kernels);
}

fn compare(mut kernels: Vec<Offloaded>) {
    // Float sums depend on the order.
    kernels.retain(|kernel| {
        !kernel.name.starts_with("roots") && kernel.name != "reductions_of_floats"
    });
    let cases: Vec<(usize, Case<'_>)> = kernels
        .iter()
        .enumerate()
        .flat_map(|(at, kernel)| cases(at, kernel).into_iter().map(move |case| (at, case)))
        .collect();
    let mut compared = 0;
    let mut clean = vec![true; cases.len()];
    let variants = [
        (Forms::CHECKED, Passing::Buffer),
        (Forms::CHECKED.without_planes(), Passing::Value),
        (Forms::PROVEN, Passing::Value),
        (Forms::NARROW, Passing::Value),
    ];
    // Interleaved checked text differs from other checked text only in components.
    let differs = |kernel: &Offloaded, forms| {
        let is_component = |param: &Param| matches!(param.kind, ParamKind::Component { .. });
        forms != Forms::CHECKED.without_planes() || kernel.params.iter().any(is_component)
    };
    let build = &|(forms, passing)| {
        let text = |kernel| print_scheduled(kernel, forms, passing);
        let chosen = kernels.iter().filter(|kernel| differs(kernel, forms));
        let texts: Vec<_> =
            chosen.map(|kernel| HostText { kernel, text: text(kernel), passing }).collect();
        HostProgram::build(&texts, checks()).unwrap()
    };
    let programs = thread::scope(|scope| {
        let builds = variants.map(|variant| scope.spawn(move || build(variant)));
        builds.map(|build| build.join().unwrap())
    });
    for ((forms, passing), program) in variants.into_iter().zip(programs) {
        let text = |kernel| print_scheduled(kernel, forms, passing);
        let form = forms.of(TaskId::new(0));
        let Some(program) = program else {
            println!("skipped: no C++ compiler (tried $CXX, c++, g++, clang++)");
            return;
        };
        // Arguments that raise an index error in the checked form are invalid for the proven form.
        let fits = |case: &Case<'_>| {
            let plan = launch_analysis::LaunchAnalysis::new(case.kernel);
            let most = plan.unchecked_forms(&case.words);
            let has_layout = forms.has_planes() || !most.has_planes();
            has_layout && (most.has_narrow_indices() || !forms.has_narrow_indices())
        };
        let chosen: Vec<_> = (0..cases.len())
            .filter(|&i| differs(&kernels[cases[i].0], forms))
            .filter(|&i| fits(&cases[i].1) && (form == Form::Checked || clean[i]))
            .collect();
        // The position of a kernel among those of the program.
        let position =
            |at: usize| kernels[..at].iter().filter(|kernel| differs(kernel, forms)).count();
        let input: Vec<_> = chosen.iter().map(|&i| (position(cases[i].0), &cases[i].1)).collect();
        let ran = program.run(&input).unwrap();
        for (&i, at) in chosen.iter().zip(0..) {
            let case = &cases[i].1;
            let expected = case.interpret(form).unwrap();
            let found = ran.outputs.get(at).map(Vec::as_slice);
            if let Some(disagreement) = case.disagreement(&expected, found) {
                panic!(
                    "{} {forms:?}, large {}: {disagreement}\n{}\n{}",
                    case.kernel.name,
                    case.large,
                    ran.stderr,
                    text(case.kernel)
                );
            }
            let is_record = |(buffer, bytes): (&samples::case::Buffer, &Vec<u8>)| {
                buffer.word == ERROR_WORD && bytes[0] != 0
            };
            clean[i] &= !case.buffers.iter().zip(&expected).any(is_record);
            compared += 1;
        }
    }
    println!("{compared} runs of {} kernels compared", kernels.len());
    assert!(compared > 2 * kernels.len());
}

/// More messages than fit, of values of every type.
#[test]
fn printed_text_leaves_the_messages_of_the_interpreter() {
    let mut b = Builder::new("messages");
    let numbers = [
        b.constant(-5_i32),
        b.constant(1_u64 << 63),
        b.constant(-7_i64),
        b.constant(0.1_f32),
        b.constant(-2.5_f64),
        b.constant(true),
    ];
    let unsigned = b.constant(70_000_u32);
    let narrow = [ScalarType::I8, ScalarType::U16, ScalarType::I16, ScalarType::U8];
    let narrow = narrow.map(|ty| {
        let wide = if ty.wide() == ScalarType::U32 { unsigned } else { numbers[0] };
        b.cast(ty, wide)
    });
    let half = b.cast(ScalarType::F16, numbers[3]);
    let args = [&numbers[..], &narrow, &[half]].concat();
    let first = b.print("{0:?}", &[], &args);
    let body = b.serial(vec![first]);
    b.kernel.body.push(body);
    let count = b.scalar("count", ScalarType::U64);
    let (i, zero) = (b.local("i", ScalarType::U64), b.constant(0_u64));
    let at = b.read(i);
    let each = b.print("{} at {}", &[at], &[at, numbers[3]]);
    let each = b.parallel(&[(i, zero, count)], vec![each]);
    b.kernel.body.push(each);
    let kernel = b.finish();
    verify_offloaded(&kernel).unwrap();

    let counts = [0_u64, 3, 1023, 1024, 1500];
    let cases = counts.map(|count| {
        let mut case = Case::with(&kernel, &[SampleArg::Scalar(count.into())]);
        case.add_messages();
        case
    });
    let (form, passing) = (Form::Proven, Passing::Value);
    let text = print_scheduled(&kernel, form, passing);
    let host = HostText { kernel: &kernel, text: text.clone(), passing };
    let Some(program) = HostProgram::build(&[host], checks()).unwrap() else {
        println!("skipped: no C++ compiler");
        return;
    };
    let input: Vec<_> = cases.iter().map(|case| (0, case)).collect();
    let ran = program.run(&input).unwrap();
    for (at, (case, count)) in cases.iter().zip(counts).enumerate() {
        let expected = case.interpret(form).unwrap();
        let total = expected.last().and_then(|bytes| bytes.first_chunk()).copied();
        assert_eq!(total.map(u64::from_le_bytes), Some(count + 1), "the counter");
        let found = ran.outputs.get(at).map(Vec::as_slice);
        let disagreement = case.disagreement(&expected, found);
        assert_eq!(disagreement, None, "{count}\n{}\n{text}", ran.stderr);
    }
}

/// The cases of a kernel, with different arguments, alternating between one thread and many.
fn cases(index: usize, kernel: &Offloaded) -> Vec<Case<'_>> {
    let mut random = Random(index as u64 + 1);
    let mut list = Vec::new();
    for round in 0..rounds() {
        let mut case = Case::new(kernel, 7 + round as u64);
        for (i, param) in kernel.params.iter().enumerate() {
            let id = ParamId::new(i as u32);
            let (room, strided) = if param.strided { (2, true) } else { (1, false) };
            match param.kind {
                ParamKind::Scalar(ty) => case.scalar(id, random.value(ty)),
                ParamKind::Tensor { elem, rank, .. } => {
                    let bytes = (0..room * ELEMENTS)
                        .flat_map(|_| random.value(elem).to_le_bytes()[..elem.size()].to_vec())
                        .collect();
                    let mut shape =
                        vec![[1, 64, 8, 4, 2, 2, 2][usize::from(rank)]; usize::from(rank)];
                    if kernel.name == "rows_beyond" && rank == 1 && i % 4 == round / 3 {
                        // Shorter than the other dimensions, and empty.
                        shape[0] = [40, 3, 0][round % 3];
                    }
                    if kernel.name == "gathered" && i == 1 && round >= rounds() - 4 {
                        shape[0] = [5, 0][round / 2 % 2];
                    }
                    if kernel.name == "listed" && rank == 2 && i == 7 && round % 4 == 3 {
                        // Without the row that is stored to.
                        shape[0] = 1;
                    }
                    case.tensor(id, &shape, bytes);
                    if strided {
                        case.element_strides(id, &strides_of(&shape));
                    }
                }
                ParamKind::Component { elem, rank, scalars, .. } => {
                    let bytes = (0..room * ELEMENTS * scalars as usize)
                        .flat_map(|_| random.value(elem).to_le_bytes()[..elem.size()].to_vec())
                        .collect();
                    let extent = [1u64, 64, 8, 4, 2, 2, 2][usize::from(rank)];
                    let count = extent.pow(u32::from(rank));
                    // With the strides of an array of structs, and of a struct of arrays.
                    let plane = room as u64 * count;
                    let strides = [[u64::from(scalars), 1], [1, plane]][round / 2 % 2];
                    let shape = vec![extent; usize::from(rank)];
                    case.component(id, &shape, strides, bytes);
                    if strided {
                        case.element_strides(id, &strides_of(&shape));
                    }
                }
            }
        }
        let plan = launch_analysis::LaunchAnalysis::new(kernel);
        // Bounds computed on the device must be small, or be rejected.
        let short = |task: &TaskId| {
            kernel.tasks[task.index()].kind.has_device_bounds()
                || plan.extents(*task, &case.words).iterations() < 10_000
        };
        case.tasks = kernel.tasks().map(|(task, _)| task).filter(short).collect();
        case.find_interiors();
        case.large = round % 2 == 1 && is_free_of_races(&kernel.name);
        // Several iterations report errors, and run in another order than in the interpreter.
        case.any_error = ["gathered", "listed"].contains(&kernel.name.as_str());
        list.push(case);
    }
    list
}

/// Strides for a shape: column-major order, with a gap after each element.
fn strides_of(shape: &[u64]) -> Vec<u64> {
    (0..shape.len()).map(|axis| 2 * shape[..axis].iter().product::<u64>()).collect()
}

/// Whether the result, including the error record, is independent of the order of iterations.
fn is_free_of_races(name: &str) -> bool {
    [
        "saxpy",
        "stencil",
        "volume",
        "element_types",
        "serial",
        "groups",
        "names",
        "control",
        "device_bounds",
        "blocks",
        "reductions",
        "histogram",
        "gathered",
        "tabled",
        "bytes",
        "covered",
    ]
    .contains(&name)
}

/// A random generator that prefers edge cases.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }

    fn value(&mut self, ty: ScalarType) -> u64 {
        let (pick, raw) = (self.next(), self.next());
        let small = (raw % 17) as i64 - 8;
        match ty {
            ScalarType::Bool => raw & 1,
            ScalarType::F32 => u64::from(
                match pick % 8 {
                    0 => f32::from_bits(raw as u32),
                    1 => [f32::NAN, f32::INFINITY, -f32::INFINITY, 2147483648.0][raw as usize % 4],
                    2 => raw as i64 as f32,
                    _ => small as f32 * 0.37,
                }
                .to_bits(),
            ),
            ScalarType::F64 => match pick % 8 {
                0 => f64::from_bits(raw),
                1 => [f64::NAN, f64::INFINITY, -f64::INFINITY, 4294967295.5][raw as usize % 4],
                2 => raw as i64 as f64,
                _ => small as f64 * 0.37,
            }
            .to_bits(),
            ScalarType::F16 => raw & 0xffff,
            _ => {
                let (low, high) = ty.int_range().unwrap();
                let value = match pick % 8 {
                    0 => raw as i128,
                    1 => low + i128::from(raw % 3),
                    2 => high - i128::from(raw % 3),
                    _ => i128::from(small),
                };
                if ty.size() == 4 { u64::from(value as u32) } else { value as u64 }
            }
        }
    }
}
