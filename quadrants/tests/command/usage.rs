//! The command line: help, wrong arguments, completions, and an output that nobody reads.

use std::process::Stdio;

use super::{ends_with, quadrants, succeeds};

const COMMANDS: [&str; 7] = ["info", "doctor", "cache", "trace", "new", "bench", "completions"];

#[test]
fn every_command_has_help() {
    let all = succeeds(quadrants().arg("--help"));
    for command in COMMANDS {
        assert!(all.contains(&format!("\n  {command} ")), "{command}: {all}");
        let help = succeeds(quadrants().args([command, "--help"]));
        assert!(help.contains(&format!("Usage: quadrants {command}")), "{help}");
    }
    assert!(succeeds(quadrants().arg("--version")).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_arguments_are_refused_with_the_usage() {
    for args in [
        &[][..],
        &["inform"],
        &["info", "--yaml"],
        &["doctor", "--arch", "tpu"],
        &["bench", "--arch"],
        &["cache"],
        &["cache", "clear", "--older-than", "-1"],
        &["cache", "clear", "--older-than", "soon"],
        &["trace"],
        &["new"],
        &["completions", "cmd.exe"],
    ] {
        let (out, err) = ends_with(2, quadrants().args(args));
        assert_eq!(out, "", "{args:?}");
        assert!(err.contains("Usage:") || err.contains("--help"), "{args:?}: {err}");
    }
    let (_, err) = ends_with(2, quadrants().args(["doctor", "--arch", "tpu"]));
    assert!(err.contains("unknown backend `tpu`; help: use one of this build ("), "{err}");
}

#[test]
fn completions_name_all_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = succeeds(quadrants().args(["completions", shell]));
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn an_output_that_nobody_reads_is_no_failure() {
    for args in [&["info"][..], &["info", "--json"], &["doctor"], &["completions", "bash"]] {
        let mut child = quadrants()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && err.is_empty(), "{args:?}: {err}");
    }
}
