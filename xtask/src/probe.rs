//! Which GPUs this machine has, asked of the `quadrants` command: it opens devices as the tests do, and so
//! knows a driver that is there without a device, which no look at files does.

use crate::shell::{self, Failure, Workspace};

/// The answer, asked for at most once.
pub(crate) struct Probe<'a> {
    workspace: &'a Workspace,
    info: Option<String>,
}

impl<'a> Probe<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, info: None }
    }

    /// Whether a backend of this name finds a real device here.
    pub(crate) fn has_hardware(&mut self, backend: &str) -> Result<bool, Failure> {
        let info = match self.info.take() {
            Some(info) => info,
            None => info(self.workspace)?,
        };
        Ok(names_device(self.info.insert(info), backend))
    }
}

fn info(workspace: &Workspace) -> Result<String, Failure> {
    let mut info =
        workspace.cargo(["run", "--quiet", "--package", "quadrants", "--features", "cli"]);
    info.args(["--bin", "quadrants", "--", "info"]);
    // The question is about hardware: a simulator in the driver's place must not answer it.
    info.env_remove("QUADRANTS_CUDA_LIBRARY").env_remove("QUADRANTS_HIP_LIBRARY");
    shell::read(&mut info)
}

/// Whether `quadrants info` lists a real device of the backend. Its lines are `cuda: …`, and below that
/// for each device `  0: name (arch)` and what is known of an opened one, its memory first.
fn names_device(info: &str, backend: &str) -> bool {
    let of_backend = |line: &&str| line.split(':').next() == Some(backend);
    let mut lines = info.lines().skip_while(|line| !of_backend(line)).skip(1);
    let mut real = false;
    lines.by_ref().take_while(|line| line.starts_with(' ')).any(|line| {
        if line.trim_start().starts_with("memory:") {
            return real;
        }
        real = !line.contains(", simulated)");
        false
    })
}

#[cfg(test)]
mod tests {
    use super::names_device;

    #[test]
    fn a_device_that_opened_is_hardware() {
        let info = "cuda: driver 13.0\n  0: NVIDIA H200 (sm_90)\n     memory: 143771 MiB\n\
                    amdgpu: driver 5.2: no device\ncpu: driver 1\n  0: a processor (x86_64)\n     \
                    memory: 1 MiB\n";
        assert!(names_device(info, "cuda"));
        assert!(names_device(info, "cpu"));
        assert!(!names_device(info, "amdgpu"));
    }

    #[test]
    fn simulated_and_broken_devices_are_no_hardware() {
        let simulated = "cuda: driver 13.0\n  0: A device (sm_90, simulated)\n     memory: 1 MiB\n";
        assert!(!names_device(simulated, "cuda"));
        assert!(!names_device("cuda: driver 13.0\n  0: it does not open\n", "cuda"));
        assert!(!names_device("cuda: not available: libcuda.so.1 was not found\n", "cuda"));
        assert!(!names_device("", "cuda"));
    }
}
