//! Tests of the example: the same sources in every stream mode, and one-line errors for invalid input.

use image::{Rgb, RgbImage};
use tempfile::TempDir;

use super::*;

/// A dark sky with a gradient, some noise, and sources at known positions.
fn sky(width: u32, height: u32, sources: &[(u32, u32)]) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let noise = (x * 7919 + y * 104_729 + x * y * 31) % 13;
        let light = sources.iter().map(|(at_x, at_y)| {
            let (dx, dy) = (x as f32 - *at_x as f32, y as f32 - *at_y as f32);
            150.0 * (-(dx * dx + dy * dy) / 6.0).exp()
        });
        let value = 10.0 + x as f32 / 8.0 + noise as f32 + light.sum::<f32>();
        Rgb([value as u8, (value * 0.9) as u8, (value * 0.7) as u8])
    })
}

fn arguments(folder: &TempDir, more: &[&str]) -> Options {
    let out = folder.path().join("out");
    let mut all = vec!["galaxies", "--backend", "cpu", "--out", out.to_str().unwrap()];
    all.extend(more);
    Options::try_parse_from(all).unwrap()
}

fn message_of(options: &Options) -> String {
    let message = one_line(&run(options).expect_err("the input is wrong"));
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn every_stream_mode_gives_the_catalogue_of_the_reference() {
    let places = [(20, 30), (60, 12), (75, 60), (40, 50)];
    let picture = sky(96, 80, &places);
    let reference = reference::sources(&picture, 4.0);
    assert_eq!(reference.len(), places.len());
    for (x, y) in places {
        assert!(reference.iter().any(|s| s.x.abs_diff(x) <= 1 && s.y.abs_diff(y) <= 1), "{x} {y}");
    }
    let program = open(Backend::Cpu).unwrap();
    for streams in [Streams::Explicit, Streams::Parallel, Streams::Serial] {
        let found = pipeline::run(&program, &picture, 4.0, streams).unwrap();
        catalogue::compare(&found.sources, &reference, 4.0).unwrap();
        assert_eq!(found.stages.len(), 4);
    }
}

#[test]
fn a_crop_of_the_photograph_gives_the_catalogue_of_the_reference() {
    let part = photo::read(Path::new(PHOTO), Some("96x96+280+60".parse().unwrap())).unwrap();
    let reference = reference::sources(&part, 2.0);
    assert!(reference.len() > 3, "{reference:?}");
    let program = open(Backend::Cpu).unwrap();
    let found = pipeline::run(&program, &part, 2.0, Streams::Parallel).unwrap();
    catalogue::compare(&found.sources, &reference, 2.0).unwrap();
}

#[test]
fn a_run_writes_its_four_files_and_prints_a_summary() {
    let folder = TempDir::new().unwrap();
    let input = folder.path().join("sky.png");
    sky(64, 48, &[(30, 20)]).save(&input).unwrap();
    let options = arguments(&folder, &["--input", input.to_str().unwrap()]);
    let summary = run(&options).unwrap();
    assert!(summary.contains("sources  1\n"), "{summary}");
    for picture in ["annotated.png", "detection.png", "background.png"] {
        let written = image::open(options.out.join(picture)).unwrap();
        assert_eq!((written.width(), written.height()), (64, 48));
    }
    let catalogue = options.out.join("sources.csv");
    assert_eq!(catalogue::read(&catalogue).unwrap().len(), 1);

    let again = ["--input", input.to_str().unwrap(), "--expect", catalogue.to_str().unwrap()];
    assert!(run(&arguments(&folder, &again)).unwrap().contains("the expected one"));
    fs::write(&catalogue, "x,y,snr\n9,9,44.0000\n").unwrap();
    assert!(message_of(&arguments(&folder, &again)).contains("the catalogues differ"));
}

#[test]
fn a_trace_shows_the_streams_of_the_channels() {
    let folder = TempDir::new().unwrap();
    let [input, trace] = ["sky.png", "run.json"].map(|name| folder.path().join(name));
    sky(64, 48, &[(30, 20)]).save(&input).unwrap();
    let paths = ["--input", input.to_str().unwrap(), "--trace", trace.to_str().unwrap()];
    let summary = run(&arguments(&folder, &paths)).unwrap();
    let picture = folder.path().join("run.svg");
    let lines = format!("trace    {}\nstreams  {}\n", trace.display(), picture.display());
    assert!(summary.contains(&lines), "{summary}");
    let timeline = qd::Timeline::from_chrome_trace(&fs::read_to_string(trace).unwrap()).unwrap();
    let is_stream = |track: &&qd::Track| matches!(track.kind, qd::TrackKind::Stream(_));
    assert!(timeline.tracks().iter().filter(is_stream).count() >= 3, "{timeline}");
    assert_eq!(fs::read_to_string(picture).unwrap(), timeline.svg());
}

#[test]
fn a_picture_of_one_color_has_no_sources() {
    let picture = RgbImage::from_pixel(40, 40, Rgb([7, 7, 7]));
    let program = open(Backend::Cpu).unwrap();
    let found = pipeline::run(&program, &picture, 4.0, Streams::Serial).unwrap();
    assert_eq!(found.sources.len(), 0);
}

#[test]
fn a_missing_file_is_named_in_the_error() {
    let folder = TempDir::new().unwrap();
    let message = message_of(&arguments(&folder, &["--input", "/no/such/picture.png"]));
    assert!(message.starts_with("cannot read /no/such/picture.png: "), "{message}");
}

#[test]
fn a_text_file_named_png_is_rejected() {
    let folder = TempDir::new().unwrap();
    let input = folder.path().join("letter.png");
    fs::write(&input, "Dear reader,\n").unwrap();
    let message = message_of(&arguments(&folder, &["--input", input.to_str().unwrap()]));
    assert!(message.contains("is no PNG or JPEG picture"), "{message}");
}

#[test]
fn a_picture_smaller_than_the_filter_is_rejected() {
    let folder = TempDir::new().unwrap();
    let input = folder.path().join("tiny.png");
    RgbImage::new(3, 3).save(&input).unwrap();
    let message = message_of(&arguments(&folder, &["--input", input.to_str().unwrap()]));
    assert!(message.contains("3x3 pixels, and must be at least 17x17"), "{message}");
}

#[test]
fn a_crop_outside_the_picture_is_rejected_by_the_program() {
    let folder = TempDir::new().unwrap();
    let message = message_of(&arguments(&folder, &["--crop", "256x256+900+0"]));
    assert!(message.contains("256x256+900+0 does not lie within the picture of 1000x872"));
}

#[test]
fn an_unwritable_folder_is_named_in_the_error() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("out"), "a file where the folder would be").unwrap();
    let message = message_of(&arguments(&folder, &[]));
    assert!(message.starts_with("cannot write into the folder "), "{message}");
}

#[test]
fn wrong_arguments_give_a_message_of_one_line() {
    for (arguments, expected) in [
        (["--backend", "metal"], "'metal' for '--backend <BACKEND>' [possible values: cpu, cuda"),
        (["--streams", "many"], "[possible values: explicit, parallel, serial]"),
        (["--crop", "12"], "not of the form WxH+X+Y"),
        (["--threshold", "NaN"], "not a number"),
        (["--trace", "run.svg"], "name the trace, such as out.json"),
    ] {
        let error = Options::try_parse_from(["galaxies"].into_iter().chain(arguments)).unwrap_err();
        let line = one_line(&usage(&error));
        assert!(line.contains(expected), "{line}");
    }
}
