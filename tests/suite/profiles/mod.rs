//! Guarantees: a profile records each operation once, with its place in the source, its stream and times that agree
//! with the order of streams and events; it changes no result, and nothing of it stays when it has ended.

mod forms;
pub(crate) mod interfaces;
mod order;
mod read;
mod spans;
pub(crate) mod traces;

use std::collections::BTreeMap;

use quadrants::{self as qd, Span, SpanKind, Tensor, Timeline, TrackKind};

const N: usize = 1 << 12;

/// The line of the loop of [`scale`].
const SCALE_LINE: u32 = line!() + 4;

#[qd::kernel]
fn scale(factor: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] *= factor;
    }
}

/// The lines of the loops of [`blocks`].
const BLOCK_LINES: [u32; 3] = [line!() + 5, line!() + 10, line!() + 13];

#[qd::kernel]
fn blocks(a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += 1.0;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            b[i] += 2.0;
        }
        for i in 0..b.len() {
            b[i] *= 2.0;
        }
    });
}

#[qd::kernel]
fn sum(x: &Tensor<f32, 1>) -> f32 {
    let mut total = 0.0;
    for i in 0..x.len() {
        total += x[i];
    }
    total
}

/// Fails at the index `at`.
#[qd::kernel]
fn fail(at: usize, x: &mut Tensor<f32, 1>) {
    for i in 0..1 {
        x[at + i] = 1.0;
    }
}

/// The number of spans of each task, by line.
fn tasks(timeline: &Timeline) -> BTreeMap<(String, u32), usize> {
    let mut counts = BTreeMap::new();
    for span in spans_of(timeline, SpanKind::Task) {
        *counts.entry((span.name.to_string(), span.line)).or_default() += 1;
    }
    counts
}

fn spans_of(timeline: &Timeline, kind: SpanKind) -> impl Iterator<Item = &Span> {
    timeline.spans().iter().filter(move |span| span.kind == kind)
}

fn track_of(timeline: &Timeline, span: &Span) -> TrackKind {
    timeline.tracks()[span.track].kind
}

/// Checks what holds for every timeline: no span ends before it starts, the operations of a stream do not overlap, the
/// arrows are in the order of time and between tracks, and all operations have their times.
fn check(timeline: &Timeline) {
    assert_eq!(timeline.lost(), 0, "{timeline:#?}");
    let is_shared = |track: usize| {
        matches!(timeline.tracks()[track].kind, qd::TrackKind::Fills | qd::TrackKind::Frees)
    };
    let mut last = vec![std::time::Duration::ZERO; timeline.tracks().len()];
    for span in timeline.spans() {
        assert!(span.start <= span.end, "{span:#?}");
        if !span.kind.is_host() && !is_shared(span.track) {
            // The events of a real device have a resolution of half a microsecond.
            let slack = std::time::Duration::from_micros(1);
            assert!(last[span.track] <= span.start + slack, "{span:#?} in {timeline:#?}");
            last[span.track] = span.end;
        }
    }
    let orders = |arrow: &&qd::Arrow| arrow.kind != qd::ArrowKind::Missing;
    for arrow in timeline.arrows().iter().filter(orders) {
        let (from, to) = (&timeline.spans()[arrow.from], &timeline.spans()[arrow.to]);
        let slack = std::time::Duration::from_micros(1);
        assert!(is_shared(from.track) || from.end <= to.start + slack, "{from:#?} {to:#?}");
        assert_ne!(from.track, to.track);
    }
}
