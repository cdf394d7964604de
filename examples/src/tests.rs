//! Tests of every example: the command line, the files that it writes, and how many kernels use `unsafe`.

use std::{fs, path::Path, sync::Arc};

use quadrants::{
    self as qd, SpanKind, Timeline,
    codegen::{CompileRequest, Compiled},
    ir::Offloaded,
};
use quadrants_tests::{On, TestBackend, on_all_backends};
use tempfile::TempDir;

use crate::{
    ALL, About, Result, halo, launch_all, precompile::EXAMPLES, smoke, testing, unsafe_share::Share,
};

#[on_all_backends]
fn every_example_draws_a_picture_on_every_backend(backend: TestBackend) -> Result<()> {
    let names =
        |abouts: &mut dyn Iterator<Item = &About>| abouts.map(|a| a.name).collect::<Vec<_>>();
    assert_eq!(names(&mut EXAMPLES.iter().map(|(about, _)| about)), names(&mut ALL.iter()));
    for (about, work) in EXAMPLES {
        let Some(On { program, world }) = backend.open() else { return Ok(()) };
        let folder = TempDir::new().unwrap();
        let size = about.sizes.0.max(8).to_string();
        let out = folder.path().to_str().unwrap();
        let options = ["--out", out, "--steps", "2", "--size", &size];
        let summary = testing::run_on(|| Ok(program), about, work, &options)?;
        assert!(summary.contains("kernels"), "{summary}");
        let picture = folder.path().join(format!("{}.png", about.name));
        let written = image::open(picture).unwrap().to_rgb8();
        assert!(written.pixels().any(|pixel| pixel != written.get_pixel(0, 0)), "{}", about.name);
        drop(world);
    }
    Ok(())
}

/// What a run with `--trace` wrote. Asserts that the summary names both files.
fn timeline_of(folder: &Path, name: &str, summary: &str) -> Timeline {
    let [trace, picture] =
        ["json", "svg"].map(|extension| folder.join(name).with_extension(extension));
    let lines = format!("trace      {}\nstreams    {}\n", trace.display(), picture.display());
    assert!(summary.contains(&lines), "{summary}");
    let timeline = Timeline::from_chrome_trace(&fs::read_to_string(trace).unwrap()).unwrap();
    assert!(fs::read_to_string(picture).unwrap().starts_with("<svg "));
    timeline
}

#[on_all_backends]
fn a_trace_shows_the_launches_of_all_steps(backend: TestBackend) -> Result<()> {
    for (about, work) in EXAMPLES {
        let Some(On { program, world }) = backend.open() else { return Ok(()) };
        let folder = TempDir::new().unwrap();
        let out = folder.path().to_str().unwrap();
        let trace = folder.path().join("run.json");
        let size = about.sizes.0.max(8).to_string();
        let trace = ["--trace", trace.to_str().unwrap(), "--size", &size];
        let options = [&["--out", out, "--steps", "3"][..], &trace].concat();
        let summary = testing::run_on(|| Ok(program), about, work, &options)?;
        let timeline = timeline_of(folder.path(), "run", &summary);
        let tasks = timeline.spans().iter().filter(|span| span.kind == SpanKind::Task);
        assert!(tasks.count() >= 3, "{}: {timeline}", about.name);
        assert_eq!(timeline.lost(), 0);
        drop(world);
    }
    Ok(())
}

#[test]
fn each_device_has_a_trace() {
    for devices in [["--simulated", "2"], ["--devices", "2"]] {
        let folder = TempDir::new().unwrap();
        let [out, trace] = ["out", "run.json"].map(|name| folder.path().join(name));
        let files = ["--out", out.to_str().unwrap(), "--trace", trace.to_str().unwrap()];
        let small = ["halo", "--size", "12", "--steps", "4"];
        let backend: &[&str] = if devices[0] == "--devices" { &["--backend", "cpu"] } else { &[] };
        let summary = halo::run(&[&small[..], &files, &devices[..], backend].concat()).unwrap();
        for name in ["run", "run-2"] {
            let timeline = timeline_of(folder.path(), name, &summary);
            assert!(
                timeline.spans().iter().any(|span| span.kind == SpanKind::Foreign),
                "{timeline}"
            );
        }
    }
}

/// The error message for these invalid options.
fn message_of(options: &[&str]) -> String {
    let error =
        testing::run(&smoke::ABOUT, smoke::work, options).expect_err("the options are wrong");
    let message = error.one_line();
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn a_run_writes_its_picture_and_prints_the_path() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("new/folder");
    let options = ["--out", out.to_str().unwrap(), "--steps", "3", "--size", "16"];
    let summary = testing::run(&smoke::ABOUT, smoke::work, &options).unwrap();
    let picture = out.join("smoke.png");
    assert!(summary.contains(&format!("picture    {}\n", picture.display())), "{summary}");
    assert!(summary.contains("steps      3\n"), "{summary}");
    let written = image::open(picture).unwrap().to_rgb8();
    assert_eq!(written.dimensions(), (16, 16));
    assert!(written.pixels().any(|pixel| pixel != written.get_pixel(0, 0)));
}

#[test]
fn wrong_options_give_a_message_of_one_line() {
    for (options, expected) in [
        (
            ["--backend", "metal"],
            "invalid value 'metal' for '--backend <BACKEND>' [possible values",
        ),
        (["--steps", "0"], "invalid value '0' for '--steps <N>'"),
        (["--size", "0"], "invalid value '0' for '--size <N>'"),
        (["--size", "-3"], "'-3'"),
        (["--size", "7"], "the size 7 is not within 8 to "),
        (["--sizes", "7"], "unexpected argument '--sizes'"),
        (["--trace", "run.svg"], "name the trace, such as out.json"),
        (["--trace", "/no/such/folder/run.json"], "cannot write /no/such/folder/run.json: "),
    ] {
        let message = message_of(&options);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_unwritable_folder_is_named_in_the_error() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    fs::write(&out, "a file where the folder would be").unwrap();
    let message = message_of(&["--out", out.to_str().unwrap()]);
    assert!(message.starts_with("cannot write into the folder "), "{message}");
}

#[test]
fn the_readme_names_every_example() {
    let readme = include_str!("../../README.md");
    for about in ALL {
        let line = format!("| [`{0}`](examples/src/{0}/kernels.rs) |", about.name);
        assert!(readme.contains(&line), "the README has no line {line}");
    }
}

#[test]
fn the_gallery_shows_every_program() {
    let gallery = include_str!("../../docs/book/src/gallery.md");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(gallery.contains(&format!("cargo run --release --example {name}")), "{name}");
        assert!(gallery.contains(&format!("(images/{name}.jpg)")), "{name}");
        count += 1;
    }
    assert!(count > ALL.len(), "{count} programs");
}

#[test]
fn at_most_a_twentieth_of_the_kernels_use_unsafe() {
    let mut sum = Share::default();
    for about in ALL {
        let share = Share::of(about.kernels);
        println!("{:<12} kernels: {share}", about.name);
        assert!(share.kernels > 0, "{} has no kernels", about.name);
        sum.kernels += share.kernels;
        sum.with_unsafe += share.with_unsafe;
    }
    println!("{:<12} kernels: {sum}", "all");
    assert!(sum.with_unsafe * 20 <= sum.kernels, "over a twentieth: {sum}");
}

#[test]
fn the_share_counts_kernels_and_ignores_comments() {
    let text = [
        "#[qd::func] fn f() { unsafe { } }",
        "#[qd::kernel]",
        "fn a() {",
        "    // unsafe { }",
        "}",
        "#[qd::kernel(strict)]",
        "fn b() { unsafe { x[j] = 1.0; } }",
    ];
    assert_eq!(Share::of(&text.join("\n")), Share { kernels: 2, with_unsafe: 1 });
}

#[test]
#[should_panic(expected = "what[1]")]
fn assert_close_rejects_nan() {
    testing::assert_close("within", &[1.0, 100.0], &[1.5, 100.0], 0.01);
    testing::assert_close("what", &[0.0, f32::NAN], &[0.0, 1.0], 0.01);
}

/// A compiler that returns the same image for every kernel.
#[derive(Debug)]
struct Toy;

// SAFETY: nothing runs its images.
unsafe impl qd::codegen::Compiler for Toy {
    fn identity(&self) -> qd::codegen::Result<String> {
        Ok("toy".to_owned())
    }

    fn disk_cache_name(&self) -> Option<String> {
        Some("toy".to_owned())
    }

    fn compile(&self, _: &Offloaded, _: &CompileRequest<'_>) -> qd::codegen::Result<Compiled> {
        Ok(Compiled::new(vec![1], None, String::new()))
    }
}

/// The exported file contains both forms of every kernel that the simulations launch.
#[test]
fn every_kernel_of_the_simulations_can_be_exported() -> Result<()> {
    let program = qd::Program::builder().cache(None).open(qd::Arch::Cpu)?;
    let folder = TempDir::new().unwrap();
    launch_all(&program, folder.path())?;
    let file = folder.path().join("kernels.qdk");
    let written = program.export_cache(&file, &[qd::Target::new("toy_1", Arc::new(Toy))])?;
    let kernels = qd::ExportedKernels::open(&file)?;
    let names: Vec<&str> = kernels.images().map(|image| &*image.name).collect();
    assert_eq!(names.len(), written.images);
    for name in ["couple, checked", "trace, proven", "sort, checked", "relax, proven"] {
        assert!(names.contains(&name), "{names:?}");
    }
    Ok(())
}
