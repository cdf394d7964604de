//! What the printer prints, and what the simulator's compiler makes.

mod meaning;

use std::{collections::HashSet, fs, path::Path};

use quadrants_codegen::{
    CompileRequest, Compiler, Dialect, Error, SimulatorCompiler, print_kernel, samples,
};
use quadrants_ir::{
    AtomicOp, BlockId, ExprId, Offloaded, ScalarType, SimImage, Stmt,
    abi::{Form, Passing},
    verify_offloaded,
};

/// A member of the family as plain as can be.
struct Plain;

impl Dialect for Plain {
    fn by_value(&self) -> &'static str {
        ""
    }

    fn atomic(&self, op: AtomicOp, _: ScalarType, address: &str, value: &str) -> String {
        format!("atomic{op:?}({address}, {value})")
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

/// Compares a text with a file beside the tests; with `QUADRANTS_BLESS` set it writes the file.
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
fn saxpy_reads_as_it_was_written() {
    golden("saxpy.txt", &print_kernel(&sample("saxpy"), &Plain, Form::Proven, Passing::Value));
}

#[test]
fn a_checked_stencil_guards_every_access() {
    golden(
        "stencil.txt",
        &print_kernel(&sample("stencil"), &Plain, Form::Checked, Passing::Buffer),
    );
}

#[test]
fn control_flow_keeps_its_shape() {
    let mut text = String::new();
    for name in ["control", "asserts", "serial", "names", "volume", "ranges_i32"] {
        text += &functions(&print_kernel(&sample(name), &Plain, Form::Proven, Passing::Value));
    }
    golden("flow.txt", &text);
}

#[test]
fn operators_mean_what_the_ir_means() {
    let mut text = String::new();
    for name in [
        "operators_i32",
        "operators_bool",
        "functions_f32",
        "divisions_i32",
        "casts_to_u32",
        "atomics_i64",
    ] {
        text += &print_kernel(&sample(name), &Plain, Form::Proven, Passing::Value);
    }
    golden("scalar.txt", &text);
}

/// The part of a text that begins with the first task.
fn functions(text: &str) -> String {
    text[text.find("extern \"C\"").unwrap()..].to_owned() + "\n"
}

#[test]
fn the_samples_are_well_formed_and_distinct() {
    let mut names = HashSet::new();
    for kernel in samples::all() {
        verify_offloaded(&kernel).unwrap();
        assert!(names.insert(kernel.name.clone()), "{} twice", kernel.name);
    }
    assert!(names.len() > 40, "{} samples", names.len());
}

#[test]
fn every_task_is_one_function_of_its_name() {
    for kernel in samples::all() {
        for form in [Form::Proven, Form::Checked] {
            let text = print_kernel(&kernel, &Plain, form, Passing::Value);
            for (task, _) in kernel.tasks() {
                let head = format!("__global__ void {}(", kernel.function_name(task));
                assert_eq!(text.matches(&head).count(), 1, "{head}");
            }
        }
    }
}

#[test]
fn the_proven_form_reports_no_index() {
    let text = print_kernel(&sample("stencil"), &Plain, Form::Proven, Passing::Value);
    assert!(!text.contains("qd_fail"), "{text}");
}

#[test]
fn arrays_are_cleared_that_are_not_filled_before_they_are_read() {
    let kernel = sample("filled");
    for form in [Form::Proven, Form::Checked] {
        let text = print_kernel(&kernel, &Plain, form, Passing::Value);
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
    let text = print_kernel(&sample("sharing"), &Plain, Form::Proven, Passing::Value);
    golden("sharing.txt", &functions(&text));
    let deep = print_kernel(&samples::sharing(100), &Plain, Form::Proven, Passing::Value);
    // Neither does what the host prepares; as a tree the expression has 2^100 nodes.
    let _ = quadrants_ir::launch_analysis::HostPlan::new(&samples::sharing(100));
    assert!(deep.len() < 100_000, "{} bytes", deep.len());
}

#[test]
fn the_simulators_image_is_the_kernel() {
    let kernel = sample("saxpy");
    let request = CompileRequest::new("sm_90", Form::Checked, Passing::Buffer);
    let compiled = SimulatorCompiler::default().compile(&kernel, &request).unwrap();
    let image = SimImage::decode(&compiled.image).unwrap();
    assert_eq!(image, SimImage { kernel, form: Form::Checked, passing: Passing::Buffer });
}

#[test]
fn a_kernel_that_breaks_a_rule_is_refused() {
    let mut kernel = sample("saxpy");
    let body = kernel.tasks[0].body;
    let block: &mut quadrants_ir::Block = &mut kernel.blocks[BlockId::new(body.raw())];
    block.stmts.push(Stmt::Eval { value: ExprId::new(0) });
    let request = CompileRequest::new("sm_90", Form::Proven, Passing::Value);
    let refused = SimulatorCompiler::default().compile(&kernel, &request);
    assert!(matches!(refused, Err(Error::InvalidKernel(_))), "{refused:?}");
}
