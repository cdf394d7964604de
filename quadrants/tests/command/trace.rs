//! `quadrants trace`: the table and the picture of what QUADRANTS_TRACE wrote.

use std::{fs, path::Path, process::Command};

use super::{fails, quadrants, simulated, succeeds};

fn trace(file: &Path) -> Command {
    let mut command = quadrants();
    command.arg("trace").arg(file);
    command
}

#[test]
fn a_trace_becomes_a_table_and_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, svg) = (folder.path().join("out.json"), folder.path().join("out.svg"));
    for (mut command, arch, clock) in
        [(quadrants(), "cpu", "host time"), (simulated(), "cuda", "logical time of the simulator")]
    {
        command.env("QUADRANTS_TRACE", &file).args(["doctor", "--arch", arch]);
        succeeds(&mut command);
        let out = succeeds(&mut trace(&file));
        let head = out.lines().next().expect("a head");
        assert!(head.starts_with(&format!("{arch}:0 ")) && head.contains(clock), "{out}");
        let row = out.lines().find(|line| line.starts_with("doctor:")).expect("the kernel");
        assert_eq!(row.split_whitespace().nth(1), Some("3"), "three launches: {out}");
        for column in ["count", "total", "min", "median", "max", "share", "GB/s"] {
            assert!(out.lines().nth(1).is_some_and(|line| line.contains(column)), "{out}");
        }
        let with = succeeds(trace(&file).arg("--svg").arg(&svg));
        assert_eq!(with, format!("{out}wrote {}\n", svg.display()));
        let picture = fs::read_to_string(&svg).expect("a picture");
        assert!(picture.starts_with("<svg") && picture.contains("doctor:"), "{picture}");
    }
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.json");
    succeeds(quadrants().env("QUADRANTS_TRACE", &file).args(["doctor", "--arch", "cpu"]));
    let whole = fs::read(&file).expect("a trace");
    let foreign = br#"{"traceEvents":[{"ph":"X","name":"f","ts":1,"dur":2,"pid":1,"tid":1}]}"#;
    for (contents, expected) in [
        (&b""[..], "it is empty"),
        (&whole[..whole.len() / 2], "no JSON"),
        (&foreign[..], "another program wrote it"),
        (&b"\xff\xfe"[..], "UTF-8"),
    ] {
        fs::write(&file, contents).expect("a file");
        let error = fails(&mut trace(&file));
        assert!(error.contains(expected) && error.contains("out.json"), "{error}");
    }
    let error = fails(&mut trace(&folder.path().join("missing.json")));
    assert!(error.contains("cannot read") && error.contains("missing.json"), "{error}");
    fails(&mut trace(folder.path()));
    fs::write(&file, whole).expect("a file");
    let error = fails(trace(&file).arg("--svg").arg(folder.path().join("none/out.svg")));
    assert!(error.contains("cannot write"), "{error}");
}
