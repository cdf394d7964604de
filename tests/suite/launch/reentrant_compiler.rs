//! A user-written `Compiler` that launches the kernel that it is compiling: the inner launch is an error, and the
//! outer one succeeds. The launch runs in a child process with a time limit, since a deadlock would hang the suite.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use quadrants::{Opened, Program, Result, ir::Offloaded};
use quadrants_codegen::{CompileRequest, Compiled, Compiler};
use quadrants_tests::{TestBackend, on_gpu_backends};

use crate::{child, common::set};

const N: usize = 16;

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[("launch in a compiler", launch_in_a_compiler)];

/// A compiler that launches `set` once while it compiles.
#[derive(Debug)]
struct Launching {
    compiler: Arc<dyn Compiler>,
    program: OnceLock<Program>,
    launched: Mutex<Option<std::result::Result<(), String>>>,
}

impl Launching {
    fn launch(program: &Program) -> Result<()> {
        let mut x = program.zeros::<f32, 1>([N])?;
        set(1.0, &mut x).launch()
    }
}

// SAFETY: the images are those of another compiler.
unsafe impl Compiler for Launching {
    fn identity(&self) -> quadrants_codegen::Result<String> {
        self.compiler.identity()
    }

    fn compile(
        &self,
        kernel: &Offloaded,
        request: &CompileRequest<'_>,
    ) -> quadrants_codegen::Result<Compiled> {
        if let Some(program) = self.program.get() {
            let is_first = self.launched.lock().expect("no panic").is_none();
            if is_first {
                *self.launched.lock().expect("no panic") = Some(Ok(()));
                let result = Self::launch(program).map_err(|error| error.to_string());
                *self.launched.lock().expect("no panic") = Some(result);
            }
        }
        self.compiler.compile(kernel, request)
    }
}

fn launch_in_a_compiler(backend: TestBackend) -> Result<()> {
    let (_world, opened) = backend.simulated_device();
    let compiler = Arc::new(Launching {
        compiler: opened.compiler.clone().expect("a compiler"),
        program: OnceLock::new(),
        launched: Mutex::new(None),
    });
    let opened = Opened { compiler: Some(compiler.clone()), ..opened };
    let program = Program::builder().cache(None).open(opened)?;
    compiler.program.set(program.clone()).expect("set once");
    let mut x = program.zeros::<f32, 1>([N])?;
    set(2.0, &mut x).launch()?;
    assert_eq!(x.to_vec()?, [2.0; N]);
    let inner = compiler.launched.lock().expect("no panic").clone();
    println!("inner launch: {inner:?}");
    // The compiler keeps the program alive; end the process without waiting for it.
    std::process::exit(i32::from(!matches!(inner, Some(Err(_)))));
}

#[on_gpu_backends]
fn a_launch_of_a_kernel_inside_its_own_compiler_is_an_error(backend: TestBackend) {
    let Some(output) =
        child::output_or_hang("launch in a compiler", backend, Duration::from_secs(20))
    else {
        panic!("a launch inside the compiler of the same kernel deadlocks");
    };
    assert!(output.status.success(), "{output:#?}");
}
