//! Which backends have a real device on this machine.
//!
//! The whole-system suite has a test that opens each backend's device and prints a line for each real one. Opening a
//! device is the only certain way to know.

/// How the lines of the test begin; the backend's name follows.
const START: &str = "hardware: ";

/// The backends that the test's output names.
pub(crate) fn hardware_in(output: &str) -> Vec<String> {
    // With `--nocapture`, the first line follows libtest's `test NAME ... ` on the same line.
    let names = output.lines().filter_map(|line| line.split_once(START));
    names.map(|(_, name)| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::hardware_in;

    #[test]
    fn the_lines_of_the_test_are_read() {
        let output = "running 1 test\ntest drivers::hardware::devices_are_listed ... hardware: cuda\n\
                      hardware: amdgpu\nok\n";
        assert_eq!(hardware_in(output), ["cuda", "amdgpu"]);
        assert!(hardware_in("running 1 test\ntest a ... ok\n").is_empty());
    }
}
