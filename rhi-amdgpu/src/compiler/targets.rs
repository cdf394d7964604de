//! Tests that compile all emitted text: the samples for every supported architecture, and, if `QUADRANTS_COMPILE_DUMP`
//! names a folder, the texts that other tests wrote there, each for one architecture in turn. hipRTC compiles for the
//! architectures that it supports, and a separate clang for all.

use std::{
    env, fs,
    path::PathBuf,
    process::{self, Command},
    thread,
    time::Instant,
};

use quadrants_codegen::{CompileRequest, Error};
use quadrants_samples::units::Units;

use super::{hiprtc::Hiprtc, text};

const CLANG_ARCHS: [&str; 5] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200"];
const HIPRTC_ARCHS: [&str; 2] = ["gfx90a", "gfx1030"];

fn units() -> Units {
    Units::new("hip", |kernel, form, passing| {
        text(kernel, &CompileRequest::new("", form, passing)).text
    })
}

/// A clang that supports all of the architectures; 19 is the first version that does.
fn clang() -> Option<String> {
    let named = env::var("QUADRANTS_CLANG").ok();
    let usual = ["clang-19", "clang-20", "clang-21"].map(str::to_owned);
    named.into_iter().chain(usual).find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|said| said.status.success())
    })
}

#[test]
fn clang_compiles_all_text_for_every_promised_architecture() {
    let Some(clang) = clang() else {
        println!("skipped: no clang (tried $QUADRANTS_CLANG, clang-19, clang-20, clang-21)");
        return;
    };
    let folder = env::temp_dir().join(format!("quadrants-clang-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let Units { units, count, in_turn } = units();
    let files: Vec<PathBuf> = units
        .iter()
        .enumerate()
        .map(|(i, unit)| {
            let file = folder.join(format!("{i}.hip"));
            fs::write(&file, format!("{}{unit}", include_str!("builtins.hpp"))).unwrap();
            file
        })
        .collect();
    let start = Instant::now();
    let compile = &|turn: usize, arch: &str| {
        let its = |at: usize| !in_turn || at % CLANG_ARCHS.len() == turn;
        for (_, file) in files.iter().enumerate().filter(|(at, _)| its(*at)) {
            let ran = Command::new(&clang)
                .args(["-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", "-nostdinc"])
                .args(["-std=c++17", "-O1", "-w", "-munsafe-fp-atomics", "-S", "-o", "/dev/null"])
                .arg(format!("--offload-arch={arch}"))
                .arg(file)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{arch}, {}: {said}", file.display());
        }
    };
    thread::scope(|scope| {
        for thread in 0..2 {
            let archs = CLANG_ARCHS.iter().enumerate().filter(move |(turn, _)| turn % 2 == thread);
            scope.spawn(move || archs.for_each(|(turn, arch)| compile(turn, arch)));
        }
    });
    println!(
        "{count} texts by {clang} for {CLANG_ARCHS:?} in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// In a child process, because old libraries abort the process on unknown architectures.
#[test]
fn hiprtc_compiles_all_text_for_what_it_knows() {
    const CHILD: &str = "QUADRANTS_TEST_HIPRTC_CHILD";
    if env::var_os(CHILD).is_none() {
        let ran = Command::new(env::current_exe().unwrap())
            .args(["--exact", "compiler::targets::hiprtc_compiles_all_text_for_what_it_knows"])
            .arg("--nocapture")
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        println!("{said}");
        let complaints = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.contains("1 passed"), "{complaints}");
        return;
    }
    let hiprtc = match Hiprtc::get() {
        Ok(hiprtc) => hiprtc,
        Err(Error::CompilerNotFound { searched, .. }) => {
            println!("skipped: no hipRTC (searched {})", searched.join("; "));
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let (Units { units, count, in_turn }, start) = (units(), Instant::now());
    for (turn, arch) in HIPRTC_ARCHS.into_iter().enumerate() {
        hiprtc.check_arch(arch).unwrap();
        let its = |at: usize| !in_turn || at % HIPRTC_ARCHS.len() == turn;
        for (_, unit) in units.iter().enumerate().filter(|(at, _)| its(*at)) {
            match hiprtc.compile("batch", unit, arch, &super::options(&<_>::default())) {
                Ok((image, _)) => assert!(!image.is_empty()),
                Err(Error::Rejected { log, .. }) => panic!("{arch}: {log}"),
                Err(error) => panic!("{arch}: {error}"),
            }
        }
    }
    println!(
        "{count} texts by {} for {HIPRTC_ARCHS:?} in {:.0} s",
        hiprtc.identity(),
        start.elapsed().as_secs_f64()
    );
}
