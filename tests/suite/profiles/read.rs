//! A timeline is read from its trace as it was written, and no text makes the reader panic.

use quadrants::{Error, Result, Timeline};
use quadrants_tests::{TestBackend, on_all_backends};

use super::forms::{check_xml, sample};

/// Everything that a timeline shows.
fn shown(timeline: &Timeline) -> String {
    let (tracks, spans, arrows) = (timeline.tracks(), timeline.spans(), timeline.arrows());
    let rest = (timeline.device(), timeline.clock(), timeline.lost());
    format!("{tracks:#?} {spans:#?} {arrows:#?} {rest:?} {timeline} {}", timeline.svg())
}

fn problem(text: &str) -> String {
    match Timeline::from_chrome_trace(text) {
        Err(Error::TraceFormat { what }) => what,
        Ok(timeline) => panic!("{timeline}\n{text}"),
        Err(error) => panic!("{error:?}"),
    }
}

#[on_all_backends]
fn a_timeline_is_read_as_it_was_written(backend: TestBackend) -> Result<()> {
    let Some(timeline) = sample(backend)? else { return Ok(()) };
    let read = Timeline::from_chrome_trace(&timeline.chrome_trace())?;
    assert_eq!(shown(&read), shown(&timeline));
    let (_, empty) = backend.open().expect("as before").program.profile(|| ())?;
    assert_eq!(shown(&Timeline::from_chrome_trace(&empty.chrome_trace())?), shown(&empty));
    Ok(())
}

#[test]
fn other_files_are_refused_with_the_reason() {
    for (text, expected) in [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("binary", "no JSON"),
        ("[]", "another program wrote it"),
        (r#"{"traceEvents":[]}"#, "another program wrote it"),
        (r#"{"otherData":{"quadrants":2}}"#, "format version 2"),
        (r#"{"otherData":{"quadrants":1}}"#, "`clock` is no text"),
    ] {
        let what = problem(text);
        assert!(what.contains(expected), "{what}: {text}");
    }
}

#[on_all_backends]
fn a_trace_with_wrong_values_is_refused(backend: TestBackend) -> Result<()> {
    let Some(timeline) = sample(backend)? else { return Ok(()) };
    let whole = timeline.chrome_trace();
    for (from, to) in [
        ("\"clock\":\"", "\"clock\":\"wall "),
        ("\"kind\":\"stream\"", "\"kind\":\"river\""),
        ("\"cat\":\"task\"", "\"cat\":\"job\""),
        ("\"ts\":", "\"ts\":-1"),
        ("\"ts\":", "\"ts\":1e300,\"was\":"),
        ("\"dur\":", "\"length\":"),
        ("\"line\":", "\"line\":99999999999"),
        ("\"ph\":\"X\"", "\"ph\":7"),
        ("\"from\":", "\"from\":77777"),
        ("\"name\":\"event\"", "\"name\":\"hope\""),
        ("\"ph\":\"M\",\"name\":\"thread_name\"", "\"ph\":\"M\",\"name\":\"other\""),
    ] {
        let text = whole.replacen(from, to, 1);
        if text == whole {
            // Only asynchronous devices have arrows between streams.
            assert!(to.contains("hope") || to.contains("77777"), "{from} is not in {whole}");
            continue;
        }
        let refused = Timeline::from_chrome_trace(&text).is_err();
        assert!(refused, "{from} became {to}");
    }
    Ok(())
}

/// Sums of the largest numbers do not overflow.
#[on_all_backends]
fn the_largest_values_have_a_table(backend: TestBackend) -> Result<()> {
    let Some(timeline) = sample(backend)? else { return Ok(()) };
    let bytes = timeline.spans().iter().find_map(|span| span.bytes).expect("a copy");
    let text = timeline.chrome_trace();
    let text = text.replace("\"dur\":", "\"dur\":1e15,\"was\":");
    let text = text.replace(&format!("\"bytes\":{bytes}"), "\"bytes\":18446744073709551615");
    let read = Timeline::from_chrome_trace(&text)?;
    assert!(read.rows().iter().any(|row| row.bytes == u64::MAX));
    check_xml(&read.svg());
    assert!(read.to_string().contains("GB/s"));
    Ok(())
}

#[on_all_backends]
fn a_damaged_trace_is_an_error_or_a_timeline(backend: TestBackend) -> Result<()> {
    let Some(timeline) = sample(backend)? else { return Ok(()) };
    let whole = timeline.chrome_trace();
    for end in (0..whole.trim_end().len()).step_by(37) {
        if let Some(begin) = whole.get(..end) {
            problem(begin);
        }
    }
    let mut seed = 1u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut still_read = 0;
    for _ in 0..2000 {
        let mut bytes = whole.clone().into_bytes();
        bytes[random(whole.len())] = b" 019-\"{}[],:ae"[random(14)];
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Ok(read) = Timeline::from_chrome_trace(&text) {
            still_read += usize::from(!shown(&read).is_empty());
        }
    }
    assert!(still_read > 0, "other digits are no damage");
    Ok(())
}

/// Like the damage above, but whole tokens: numbers at limits, other kinds of values, and pieces that are removed or
/// repeated.
#[on_all_backends]
fn mutated_traces_are_errors_or_timelines(backend: TestBackend) -> Result<()> {
    const TOKENS: [&str; 20] = [
        "0",
        "-1",
        "1e15",
        "1e16",
        "1e999",
        "-0.0",
        "18446744073709551615",
        "18446744073709551616",
        "null",
        "true",
        "\"\"",
        "\"\\u001b]0;title\\u0007\"",
        "\"<&>'\"",
        "\"\\ud83d\"",
        "[]",
        "{}",
        "[",
        "}",
        "\"task\"",
        "\"host\"",
    ];
    let Some(timeline) = sample(backend)? else { return Ok(()) };
    let whole = timeline.chrome_trace();
    // Where a token begins or ends.
    let marks = |c: char| matches!(c, '{' | '}' | '[' | ']' | ':' | ',');
    let cuts: Vec<usize> = whole.match_indices(marks).map(|(at, _)| at).collect();
    let mut seed = 3u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut still_read = 0;
    for round in 0..1500 {
        let at = random(cuts.len() - 8);
        let (begin, end) = (cuts[at], cuts[at + 1 + random(7)]);
        let piece = match random(4) {
            0 => String::new(),
            1 => whole[begin..end].repeat(2),
            _ => format!("{}{}", &whole[begin..=begin], TOKENS[random(TOKENS.len())]),
        };
        let text = format!("{}{piece}{}", &whole[..begin], &whole[end..]);
        let Ok(read) = Timeline::from_chrome_trace(&text) else { continue };
        still_read += 1;
        let table = read.to_string();
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(!table.contains(is_control), "round {round}: {table:?}");
        check_xml(&read.svg());
        let again = Timeline::from_chrome_trace(&read.chrome_trace())?;
        assert_eq!(again.to_string(), table, "round {round}");
    }
    assert!(still_read > 100, "{still_read}");
    Ok(())
}
