//! `QUADRANTS_DUMP`: the files that kernels write. The variable is read once per process, so the tests run this
//! program again with the variable set.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use quadrants_tests::TestBackend;

use crate::common;

#[test]
fn a_kernel_runs_on_every_backend() -> quadrants::Result<()> {
    for backend in [TestBackend::Cpu, TestBackend::Cuda, TestBackend::AmdGpu] {
        let Some(on) = backend.open() else { continue };
        let x = on.program.tensor_from(&[1.0f32, 2.0, 3.0], [3])?;
        let mut y = on.program.tensor_from(&[10.0f32, 20.0, 30.0], [3])?;
        common::saxpy(2.0, &x, &mut y).launch()?;
        assert_eq!(y.to_vec()?, [12.0, 24.0, 36.0]);
    }
    Ok(())
}

#[test]
fn a_dump_contains_the_ir_and_source_of_each_kernel() {
    let folder = std::env::temp_dir().join(format!("quadrants-dump-{}", std::process::id()));
    run_with_dump(&folder);
    let files: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let read = |ending: &str| {
        let name = files.iter().find(|name| name.starts_with("saxpy-") && name.ends_with(ending));
        name.map(|name| fs::read_to_string(folder.join(name)).unwrap())
    };
    let ir = read(".ir").unwrap();
    assert!(ir.starts_with("kernel saxpy("), "{ir}");
    assert!(ir.contains("\noffloaded saxpy("), "{ir}");
    for (backend, ending) in [(TestBackend::Cuda, "cu"), (TestBackend::AmdGpu, "hip")] {
        // The launch decides the form; one of the two ran.
        let text = read(&format!(".proven.{ending}")).or(read(&format!(".checked.{ending}")));
        match backend.open() {
            Some(_) => assert!(text.unwrap().contains(" void saxpy_0("), "{files:?}"),
            None => assert_eq!(text, None),
        }
    }
    // No temporary files remain.
    assert!(files.iter().all(|n| n.ends_with(".ir") || n.ends_with(".cu") || n.ends_with(".hip")));
    // The same kernels have the same names in another process.
    run_with_dump(&folder);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), files.len());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_unwritable_dump_folder_does_not_fail_launches() {
    run_with_dump(&std::env::current_exe().unwrap().join("below a file"));
}

fn run_with_dump(folder: &Path) {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            concat!(module_path!(), "::a_kernel_runs_on_every_backend")
                .trim_start_matches("suite::"),
        ])
        .env("QUADRANTS_DUMP", folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}
