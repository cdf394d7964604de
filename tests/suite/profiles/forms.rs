//! The forms of a timeline: table, trace and picture.

use std::collections::BTreeSet;

use quadrants::{self as qd, SpanKind, Timeline};
use quadrants_tests::{TestBackend, on_all_backends};
use serde_json::Value;

use super::{N, SCALE_LINE, blocks, scale, spans_of};
use crate::common::order;

/// The timeline of two streams that wait for each other, with regions and copies.
pub(super) fn sample(backend: TestBackend) -> quadrants::Result<Option<Timeline>> {
    let Some(on) = backend.open() else { return Ok(None) };
    let program = &on.program;
    let (one, two) = (program.create_stream()?, program.create_stream()?);
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let mut y = program.tensor_from(&[1.0f32; N], [N])?;
    let (launched, timeline) = program.profile(|| {
        for _ in 0..4 {
            scale(2.0, &mut x).launch_on(&one)?;
            order(program, &one, &two)?;
            blocks(&mut x, &mut y).launch_on(&two)?;
            order(program, &two, &one)?;
        }
        y.to_vec().map(drop)
    })?;
    launched?;
    Ok(Some(timeline))
}

#[on_all_backends]
fn the_table_has_a_row_for_each_task(backend: TestBackend) -> quadrants::Result<()> {
    let Some(timeline) = sample(backend)? else { return Ok(()) };
    let rows = timeline.rows();
    let row = rows.iter().find(|row| row.name == format!("scale:{SCALE_LINE}")).expect("a row");
    let mut times: Vec<_> = spans_of(&timeline, SpanKind::Task)
        .filter(|span| &*span.name == "scale")
        .map(qd::Span::duration)
        .collect();
    times.sort();
    assert_eq!(row.count, 4);
    assert_eq!((row.min, row.median, row.max), (times[0], times[2], times[3]));
    assert_eq!(row.total, times.iter().sum());
    let shares: f64 = rows.iter().filter(|row| !row.kind.is_host()).map(|row| row.share).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    let text = timeline.to_string();
    let line = text.lines().find(|line| line.starts_with(&row.name)).expect("a line");
    assert_eq!(line.split_whitespace().nth(1), Some("4"), "{text}");
    assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
    Ok(())
}

#[on_all_backends]
fn the_trace_is_json_with_all_spans_and_arrows(backend: TestBackend) -> quadrants::Result<()> {
    let Some(timeline) = sample(backend)? else { return Ok(()) };
    check_trace(&timeline.chrome_trace(), |events| {
        let with = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
        assert_eq!(with("X"), timeline.spans().len());
        assert_eq!((with("s"), with("f")), (timeline.arrows().len(), timeline.arrows().len()));
    });
    Ok(())
}

/// Checks a trace, and calls `then` with its events.
pub(super) fn check_trace(text: &str, then: impl FnOnce(&[Value])) {
    let trace: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let events = trace["traceEvents"].as_array().expect("events");
    let mut threads = BTreeSet::new();
    for event in events {
        let (process, thread) = (event["pid"].as_u64(), event["tid"].as_u64());
        match event["ph"].as_str().expect("a phase") {
            "M" if event["name"] == "thread_name" => {
                threads.insert((process, thread));
            }
            "M" => {}
            "X" => {
                assert!(event["ts"].as_f64() >= Some(0.0) && event["dur"].as_f64() >= Some(0.0));
                assert!(threads.contains(&(process, thread)), "{event}");
            }
            "s" | "f" => {
                // It is inside of a span.
                let at = event["ts"].as_f64().expect("a time");
                let inside = |span: &&Value| {
                    let start = span["ts"].as_f64().expect("a time");
                    let end = start + span["dur"].as_f64().expect("a time");
                    span["tid"].as_u64() == thread && start <= at + 1e-6 && at <= end + 1e-6
                };
                let mut spans = events.iter().filter(|event| event["ph"] == "X");
                assert!(spans.any(|span| inside(&span)), "{event}");
            }
            other => panic!("the phase {other}"),
        }
    }
    then(events);
}

#[on_all_backends]
fn the_picture_is_xml_with_all_tracks(backend: TestBackend) -> quadrants::Result<()> {
    let Some(timeline) = sample(backend)? else { return Ok(()) };
    let svg = timeline.svg();
    check_xml(&svg);
    for track in timeline.tracks() {
        assert!(svg.contains(&format!(">{}</text>", track.name)), "{}", track.name);
    }
    let legend = format!("scale:{SCALE_LINE} · 4×");
    assert!(svg.contains(&legend), "{svg}");
    assert!(svg.matches("marker-end").count() >= timeline.arrows().len());
    // Texts in bars are not wider than the bars.
    for group in svg.split("<g>").skip(1) {
        let group = group.split("</g>").next().unwrap_or_default();
        let width: f64 = attribute(group, "width").parse().expect("a width");
        let text = group.split("</title>").nth(1).and_then(|bar| bar.split("<text").nth(1));
        let Some(text) = text.and_then(|text| text.split('>').nth(1)) else { continue };
        let text = text.trim_end_matches("</text");
        assert!(6.0 * text.chars().count() as f64 <= width, "{text} in {width}");
    }
    let (_, empty) = backend.open().expect("as before").program.profile(|| ())?;
    check_xml(&empty.svg());
    check_trace(&empty.chrome_trace(), |_| ());
    Ok(())
}

fn attribute<'a>(text: &'a str, name: &str) -> &'a str {
    let after = text.split(&format!("{name}=\"")).nth(1).expect(name);
    after.split('"').next().expect("a quote")
}

/// Checks that tags are balanced, attributes quoted, and that only known entities occur.
pub(super) fn check_xml(text: &str) {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at]);
        let end = at + rest[at..].find('>').expect("the end of a tag");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a name");
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic()), "{tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        check_text(tag);
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
}

fn check_text(text: &str) {
    for entity in text.split('&').skip(1) {
        let name = entity.split(';').next().expect("a name");
        assert!(["amp", "lt", "gt", "quot"].contains(&name), "{text}");
    }
}
