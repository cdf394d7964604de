//! `cargo xtask fuzz`: runs the driver of `source-fuzz`, random kernels as Rust source.

use clap::Args;

use crate::shell::{self, TaskError, Workspace};

/// The number of kernels in CI: a few minutes on two cores.
const IN_CI: u64 = 250;

/// The options of `cargo xtask fuzz`.
#[derive(Args)]
pub(crate) struct FuzzArgs {
    /// The seed of the run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many kernels.
    #[arg(long, default_value_t = IN_CI)]
    count: u64,
    /// Generate and run only the kernel of this number.
    #[arg(long)]
    only: Option<u64>,
    /// Give every kernel a trap of this kind, such as `func.trait`.
    #[arg(long)]
    trap: Option<String>,
    /// Succeed if every known defect is found; run it with their fixes reverted.
    #[arg(long)]
    self_check: bool,
    /// Keep sources and binaries even if all kernels agree.
    #[arg(long)]
    keep: bool,
    /// Show why each module was rejected.
    #[arg(long)]
    rejections: bool,
}

/// Runs the driver.
pub(crate) fn run(workspace: &Workspace, args: &FuzzArgs) -> Result<(), TaskError> {
    let mut fuzz = workspace.cargo(["run", "--quiet", "--package", "quadrants-source-fuzz", "--"]);
    fuzz.arg(format!("--seed={}", args.seed)).arg(format!("--count={}", args.count));
    if let Some(only) = args.only {
        fuzz.arg(format!("--only={only}"));
    }
    if let Some(kind) = &args.trap {
        fuzz.arg(format!("--trap={kind}"));
    }
    for (flag, set) in [
        ("--self-check", args.self_check),
        ("--keep", args.keep),
        ("--rejections", args.rejections),
    ] {
        if set {
            fuzz.arg(flag);
        }
    }
    shell::run(&mut fuzz)
}

/// The step of CI.
pub(crate) fn in_ci(workspace: &Workspace) -> Result<(), TaskError> {
    let args = FuzzArgs {
        seed: 1,
        count: IN_CI,
        only: None,
        trap: None,
        self_check: false,
        keep: false,
        rejections: false,
    };
    run(workspace, &args)
}
