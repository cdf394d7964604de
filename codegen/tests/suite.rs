//! Tests of the printed text and of the simulator's compiler.

mod meaning;

use std::{collections::HashSet, fs, path::Path};

use quadrants_codegen::{
    CompileRequest, Compiler, Dialect, Error, SimulatorCompiler, print_kernel,
};
use quadrants_ir::{
    AtomicOp, BlockId, ExprId, Offloaded, ScalarType, SimImage, Stmt,
    abi::{Form, Forms, Passing},
    offload,
    schedule::schedule,
    simplify, verify_offloaded,
};
use quadrants_samples::{self as samples, builder::Builder};

/// A minimal dialect.
struct Plain;

impl Dialect for Plain {
    fn argument_qualifier(&self) -> &'static str {
        ""
    }

    fn atomic(&self, op: AtomicOp, _: ScalarType, address: &str, value: &str) -> String {
        format!("atomic{op:?}({address}, {value})")
    }

    fn compare_exchange(&self, address: &str, expected: &str, value: &str) -> String {
        format!("compareExchange({address}, &{expected}, {value});")
    }

    fn exchange(&self, address: &str, value: &str) -> String {
        format!("exchange({address}, {value})")
    }

    fn shuffle(&self, value: &str, lane: &str) -> String {
        format!("shuffle({value}, {lane})")
    }

    fn ballot(&self, vote: &str) -> String {
        format!("ballot({vote})")
    }

    fn system_fence(&self) -> &'static str {
        "fence();"
    }
}

/// The text of a kernel that is scheduled for these forms.
fn print_scheduled(kernel: &Offloaded, forms: impl Into<Forms>, passing: Passing) -> String {
    let forms = forms.into();
    print_kernel(&schedule(kernel, forms), &Plain, forms, passing)
}

/// Compares a text with a golden file. With `QUADRANTS_BLESS` set, it writes the file.
fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("QUADRANTS_BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert_eq!(text, expected, "{name} differs; look at it, and bless it if it is right");
}

fn sample(name: &str) -> Offloaded {
    samples::all().into_iter().find(|kernel| kernel.name == name).unwrap()
}

#[test]
fn saxpy_matches_its_golden_file() {
    golden("saxpy.txt", &print_scheduled(&sample("saxpy"), Form::Proven, Passing::Value));
}

#[test]
fn a_checked_stencil_checks_every_access() {
    golden("stencil.txt", &print_scheduled(&sample("stencil"), Form::Checked, Passing::Buffer));
}

/// Elements of strided tensors, whose strides are arguments. Bytes are not read by words, and histograms not counted in
/// shared memory.
#[test]
fn strided_tensors_match_their_golden_file() {
    let mut text = String::new();
    for (name, form) in [
        ("stencil", Forms::NARROW),
        ("stencil", Forms::CHECKED),
        ("bytes", Forms::NARROW),
        ("histogram", Forms::NARROW),
    ] {
        let mut kernel = sample(name);
        kernel.params.iter_mut().for_each(|param| param.strided = param.kind.elem().is_some());
        let printed = print_scheduled(&kernel, form, Passing::Value);
        text += &printed[printed.find("struct qd_args").unwrap()..];
        text += "\n";
    }
    golden("strided.txt", &text);
}

/// 32-bit indices and counters: sums are signed, extents are `i32`, and nothing is converted to 64 bits. Loads in a
/// serial loop that only reads are plain.
#[test]
fn narrow_indices_match_their_golden_file() {
    let mut text = String::new();
    for name in ["ranges_i32", "volume", "names", "control"] {
        text += &functions(&print_scheduled(&sample(name), Forms::NARROW, Passing::Value));
    }
    golden("narrow.txt", &text);
}

/// The strides of components are constants where they are interleaved, and arguments otherwise.
#[test]
fn components_match_their_golden_file() {
    let mut m = Builder::new("components");
    let (from, to) =
        (m.component("from", ScalarType::F32, 1, 3), m.component("to", ScalarType::F64, 1, 1));
    let (i, x) = (m.local("i", ScalarType::U64), m.local("x", ScalarType::F32));
    let (zero, end, at, second) = (m.constant(0u64), m.dim(to, 0), m.read(i), m.constant(2u64));
    let value = m.load(from, &[at, second]);
    let read = m.read(x);
    let read = m.cast(ScalarType::F64, read);
    let body = vec![Stmt::Let { local: x, value }, m.store(to, &[at], read)];
    let parallel = m.parallel(&[(i, zero, end)], body);
    m.kernel.body = vec![parallel];
    let kernel = simplify(&offload(&m.kernel).unwrap());
    let mut text = String::new();
    for forms in [Forms::NARROW, Forms::NARROW.with_planes(), Forms::PROVEN, Forms::CHECKED] {
        text += &functions(&print_scheduled(&kernel, forms, Passing::Value));
    }
    golden("components.txt", &text);
}

#[test]
fn control_flow_matches_its_golden_file() {
    let mut text = String::new();
    for name in ["control", "asserts", "serial", "names", "volume", "ranges_i32"] {
        text += &functions(&print_scheduled(&sample(name), Form::Proven, Passing::Value));
    }
    golden("flow.txt", &text);
}

#[test]
fn operators_match_their_golden_file() {
    let mut text = String::new();
    for name in [
        "operators_i32",
        "operators_bool",
        "functions_f32",
        "divisions_i32",
        "casts_to_u32",
        "atomics_i64",
    ] {
        text += &print_scheduled(&sample(name), Form::Proven, Passing::Value);
    }
    golden("scalar.txt", &text);
}

/// The part of a text from the first task on.
fn functions(text: &str) -> String {
    text[text.find("extern \"C\"").unwrap()..].to_owned() + "\n"
}

#[test]
fn the_samples_are_valid_and_have_unique_names() {
    let mut names = HashSet::new();
    for kernel in samples::all() {
        verify_offloaded(&kernel).unwrap();
        assert!(names.insert(kernel.name.clone()), "{} twice", kernel.name);
    }
    assert!(names.len() > 40, "{} samples", names.len());
}

#[test]
fn every_task_has_a_function_of_its_name() {
    for kernel in samples::all() {
        for form in [Form::Proven, Form::Checked] {
            let text = print_scheduled(&kernel, form, Passing::Value);
            for (task, _) in kernel.tasks() {
                let head = format!("__global__ void {}(", kernel.function_name(task));
                assert_eq!(text.matches(&head).count(), 1, "{head}");
            }
        }
    }
}

#[test]
fn the_proven_form_has_no_index_reports() {
    let text = print_scheduled(&sample("stencil"), Form::Proven, Passing::Value);
    assert!(!text.contains("qd_fail"), "{text}");
}

#[test]
fn shared_arrays_are_zeroed_unless_initialized_before_use() {
    let kernel = sample("filled");
    for form in [Form::Proven, Form::Checked] {
        let text = print_scheduled(&kernel, form, Passing::Value);
        let cleared = |array: &str| text.contains(&format!("blockDim.x) {array}["));
        for array in ["within", "again"] {
            assert!(!cleared(array), "{array} is cleared: {text}");
        }
        for array in ["beside", "spread", "some", "late", "half"] {
            assert!(cleared(array), "{array} is not cleared: {text}");
        }
    }
}

#[test]
fn shared_expressions_are_printed_once_per_statement() {
    let text = print_scheduled(&sample("sharing"), Form::Proven, Passing::Value);
    golden("sharing.txt", &functions(&text));
    let deep = print_scheduled(&samples::sharing(100), Form::Proven, Passing::Value);
    // The launch analysis must not expand the expression either: as a tree it has 2^100 nodes.
    let _ = quadrants_ir::launch_analysis::LaunchAnalysis::new(&samples::sharing(100));
    assert!(deep.len() < 400_000, "{} bytes", deep.len());
}

#[test]
fn the_simulators_image_is_the_kernel() {
    let kernel = sample("saxpy");
    let request = CompileRequest::new("sm_90", Form::Checked, Passing::Buffer);
    let compiled = SimulatorCompiler::default().compile(&kernel, &request).unwrap();
    let image = SimImage::decode(&compiled.image).unwrap();
    assert_eq!(image, SimImage { kernel, forms: Forms::CHECKED, passing: Passing::Buffer });
}

#[test]
fn an_invalid_kernel_is_rejected() {
    let mut kernel = sample("saxpy");
    let body = kernel.tasks[0].body;
    let block: &mut quadrants_ir::Block = &mut kernel.blocks[BlockId::new(body.raw())];
    block.stmts.push(Stmt::Eval { value: ExprId::new(0) });
    let request = CompileRequest::new("sm_90", Form::Proven, Passing::Value);
    let refused = SimulatorCompiler::default().compile(&kernel, &request);
    assert!(matches!(refused, Err(Error::InvalidKernel(_))), "{refused:?}");
}
