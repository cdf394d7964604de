//! Which GPUs this machine has, asked of the `quadrants` command: it opens devices as the tests do, and so
//! knows a driver that is there without a device, which no look at files does.

use crate::shell::{self, Failure, Workspace};

/// Whether a backend of this name finds a real device here.
pub(crate) fn has_hardware(workspace: &Workspace, backend: &str) -> Result<bool, Failure> {
    let mut info =
        workspace.cargo(["run", "--quiet", "--package", "quadrants", "--bin", "quadrants"]);
    info.args(["--", "info"]);
    // The question is about hardware: a simulator in the driver's place must not answer it.
    info.env_remove("QUADRANTS_CUDA_LIBRARY").env_remove("QUADRANTS_HIP_LIBRARY");
    Ok(names_device(&shell::read(&mut info)?, backend))
}

/// Whether `quadrants info` lists a device of the backend: a line `cuda:0 …`.
fn names_device(info: &str, backend: &str) -> bool {
    info.lines().any(|line| {
        line.trim_start()
            .strip_prefix(backend)
            .and_then(|rest| rest.strip_prefix(':'))
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            && !line.contains("simulated")
    })
}

#[cfg(test)]
mod tests {
    use super::names_device;

    #[test]
    fn a_device_is_a_line_with_an_ordinal() {
        let info = "cpu:0  this processor\ncuda:0  NVIDIA H200, sm_90\namdgpu  no device\n";
        assert!(names_device(info, "cuda"));
        assert!(!names_device(info, "amdgpu"));
        assert!(!names_device("cuda:0  Simulated device (simulated)", "cuda"));
        assert!(!names_device("cuda: libcuda.so.1 was not found", "cuda"));
    }
}
