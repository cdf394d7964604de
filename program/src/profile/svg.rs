//! The timeline as a picture: the tracks side by side over time, a colour per task, arrows, and a legend.

use std::{
    collections::HashMap,
    fmt::{self, Write},
    time::Duration,
};

use super::timeline::{ArrowKind, Span, SpanKind, Timeline, TrackKind, nodes_text, time_text};

/// The size of the picture and of its parts, in pixels.
const WIDTH: f64 = 1280.0;
const MARGIN: f64 = 20.0;
const BAR: f64 = 24.0;
const ROW: f64 = 30.0;
const TRACK_GAP: f64 = 16.0;
const LANES_TOP: f64 = 84.0;
const LEGEND_ROW: f64 = 22.0;
/// More than the mean width of a character, so that labels fit.
const CHARACTER: f64 = 6.7;
/// The largest number of arrows that are drawn.
const MAX_ARROWS: usize = 4000;

/// The colours of tasks and graphs, in the order of their first start. Neighbours differ in hue and lightness.
const COLOURS: [&str; 12] = [
    "#2f6db3", "#e8862e", "#3a9a5b", "#c8453b", "#7f5fb5", "#d9b22c", "#2aa5b0", "#b0527f",
    "#6b8e23", "#8c5a3c", "#5b7083", "#e07a9b",
];

/// What a picture shows, with the places of its parts.
struct Picture<'a> {
    timeline: &'a Timeline,
    left: f64,
    start: Duration,
    /// Pixels per nanosecond.
    scale: f64,
    /// The row of each span in its track: spans that overlap are in different rows.
    rows: Vec<usize>,
    /// The top of each track, and at the end the bottom of the last.
    tops: Vec<f64>,
    /// The colours and the totals of what is in the legend, in order.
    legend: Vec<LegendEntry>,
    entry_of: HashMap<String, usize>,
}

struct LegendEntry {
    label: String,
    colour: String,
    count: usize,
    total: Duration,
}

impl Timeline {
    /// The timeline as a picture in SVG, 1280 pixels wide: the tracks side by side over time.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = Picture::new(self).write(&mut out);
        out
    }
}

impl<'a> Picture<'a> {
    fn new(timeline: &'a Timeline) -> Self {
        let names = timeline.tracks.iter().map(|track| track.name.chars().count());
        let left = MARGIN + 12.0 + CHARACTER * (names.max().unwrap_or(0).clamp(8, 30) as f64);
        let start = timeline.spans.iter().map(|span| span.start).min().unwrap_or_default();
        let length = timeline.duration().as_nanos().max(1) as f64;
        let scale = (WIDTH - MARGIN - left) / length;
        let (rows, counts) = rows(timeline);
        let mut tops = vec![LANES_TOP];
        for count in counts {
            let last = tops[tops.len() - 1];
            tops.push(last + ROW * count as f64 + TRACK_GAP);
        }
        let mut picture = Self {
            timeline,
            left,
            start,
            scale,
            rows,
            tops,
            legend: Vec::new(),
            entry_of: HashMap::new(),
        };
        picture.make_legend();
        picture
    }

    fn make_legend(&mut self) {
        let mut coloured = 0;
        for span in &self.timeline.spans {
            let label = legend_label(span);
            let entry = *self.entry_of.entry(label.clone()).or_insert_with(|| {
                let colour = match fixed_colour(span.kind) {
                    Some(colour) => colour.to_owned(),
                    None => {
                        coloured += 1;
                        colour(coloured - 1)
                    }
                };
                self.legend.push(LegendEntry { label, colour, count: 0, total: Duration::ZERO });
                self.legend.len() - 1
            });
            let entry = &mut self.legend[entry];
            (entry.count, entry.total) = (entry.count + 1, entry.total + span.duration());
        }
    }

    fn x(&self, time: Duration) -> f64 {
        self.left + self.scale * time.saturating_sub(self.start).as_nanos() as f64
    }

    /// The top of a span's bar.
    fn y(&self, span: usize) -> f64 {
        self.tops[self.timeline.spans[span].track]
            + TRACK_GAP / 2.0
            + ROW * self.rows[span] as f64
            + (ROW - BAR) / 2.0
    }

    fn bottom(&self) -> f64 {
        self.tops[self.tops.len() - 1]
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let mut body = String::new();
        self.write_tracks(&mut body)?;
        self.write_axis(&mut body)?;
        self.write_spans(&mut body)?;
        self.write_arrows(&mut body)?;
        let height = self.write_legend(&mut body)?;
        write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n<defs>\n"
        )?;
        for kind in ARROWS {
            let (colour, _) = arrow_style(kind);
            writeln!(
                out,
                "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
                 markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.8 L8 4 L0 7.2 z\" fill=\"{colour}\"/></marker>",
                marker(kind)
            )?;
        }
        write!(out, "</defs>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n")?;
        self.write_title(out)?;
        out.push_str(&body);
        out.push_str("</svg>\n");
        Ok(())
    }

    fn write_title(&self, out: &mut String) -> fmt::Result {
        let timeline = self.timeline;
        let (busy, overlap) = timeline.busy();
        let device = shortened(&timeline.device, 90);
        writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"28\" font-size=\"16\" font-weight=\"bold\" fill=\"#1b2733\">{}</text>",
            escaped(&device)
        )?;
        writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"48\" fill=\"#4a5a68\">{}: {} in total, streams busy for {}, two or more at once \
             for {}</text>",
            timeline.clock.text(),
            time_text(timeline.duration()),
            time_text(busy),
            time_text(overlap)
        )
    }

    fn write_tracks(&self, out: &mut String) -> fmt::Result {
        for (at, track) in self.timeline.tracks.iter().enumerate() {
            let (top, height) = (self.tops[at], self.tops[at + 1] - self.tops[at]);
            let fill = match track.kind {
                TrackKind::Host => "#f1f1ee",
                _ if at % 2 == 0 => "#f5f8fb",
                _ => "#ebf0f5",
            };
            let (right, middle) = (WIDTH - MARGIN, top + height / 2.0 + 4.0);
            writeln!(
                out,
                "<rect x=\"{MARGIN}\" y=\"{top}\" width=\"{}\" height=\"{height}\" fill=\"{fill}\"/>\
                 <text x=\"{}\" y=\"{middle}\" fill=\"#1b2733\">{}</text>",
                right - MARGIN,
                MARGIN + 6.0,
                escaped(&shortened(&track.name, 30))
            )?;
        }
        Ok(())
    }

    fn write_axis(&self, out: &mut String) -> fmt::Result {
        let length = self.timeline.duration().as_nanos().max(1) as f64;
        let step = round_step(length / 10.0);
        let bottom = self.bottom();
        for at in 0..=(length / step) as u32 {
            let time = step * f64::from(at);
            let x = self.left + self.scale * time;
            writeln!(
                out,
                "<line x1=\"{x:.1}\" y1=\"{}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#d3dbe3\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#4a5a68\">{}</text>",
                LANES_TOP - 6.0,
                LANES_TOP - 12.0,
                tick_text(time, step)
            )?;
        }
        Ok(())
    }

    fn write_spans(&self, out: &mut String) -> fmt::Result {
        // What was drawn last in a row: its colour and where it ends.
        let mut drawn: HashMap<(usize, usize), (usize, f64)> = HashMap::new();
        for (at, span) in self.timeline.spans.iter().enumerate() {
            let label = span.label();
            let entry = self.entry_of[&legend_label(span)];
            let (x, end, y) = (self.x(span.start), self.x(span.end), self.y(at));
            let width = (end - x).max(1.0);
            let place = (span.track, self.rows[at]);
            // Of many spans in one pixel, one is visible.
            if drawn.get(&place).is_some_and(|&(last, to)| last == entry && x + width <= to + 0.5) {
                continue;
            }
            drawn.insert(place, (entry, x + width));
            let fill = &self.legend[entry].colour;
            let time = time_text(span.duration());
            write!(
                out,
                "<g><title>{}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{BAR}\" rx=\"{}\" \
                 fill=\"{fill}\"/>",
                escaped(&tooltip(span)),
                if width > 6.0 { 2.5 } else { 0.0 }
            )?;
            if let Some(text) = fitting(&label, &span.name, &time, width - 8.0) {
                write!(
                    out,
                    "<text x=\"{:.2}\" y=\"{}\" font-size=\"11\" fill=\"{}\">{}</text>",
                    x + 4.0,
                    y + BAR / 2.0 + 4.0,
                    text_colour(fill),
                    escaped(&text)
                )?;
            }
            out.push_str("</g>\n");
        }
        Ok(())
    }

    fn write_arrows(&self, out: &mut String) -> fmt::Result {
        for arrow in self.timeline.arrows.iter().take(MAX_ARROWS) {
            let (from, to) = (&self.timeline.spans[arrow.from], &self.timeline.spans[arrow.to]);
            let (x1, x2) = (self.x(from.end), self.x(to.start));
            let (top1, top2) = (self.y(arrow.from), self.y(arrow.to));
            // From the edge of one bar to the facing edge of the other.
            let (y1, y2) = if top1 < top2 { (top1 + BAR, top2) } else { (top1, top2 + BAR) };
            let middle = (y1 + y2) / 2.0;
            let (colour, dashes) = arrow_style(arrow.kind);
            let name = marker(arrow.kind);
            writeln!(
                out,
                "<path d=\"M{x1:.2} {y1:.1} C{x1:.2} {middle:.1} {x2:.2} {middle:.1} {x2:.2} {y2:.1}\" fill=\"none\" \
                 stroke=\"{colour}\" stroke-width=\"1.3\"{dashes} marker-end=\"url(#{name})\"/>"
            )?;
        }
        Ok(())
    }

    /// Returns the height of the picture.
    fn write_legend(&self, out: &mut String) -> Result<f64, fmt::Error> {
        let (mut x, mut y) = (MARGIN, self.bottom() + 28.0);
        let mut place = |width: f64| {
            if x > MARGIN && x + width > WIDTH - MARGIN {
                (x, y) = (MARGIN, y + LEGEND_ROW);
            }
            let at = (x, y);
            x += width;
            at
        };
        for entry in &self.legend {
            let label = shortened(&entry.label, 60);
            let text = format!("{label} · {}×, {}", entry.count, time_text(entry.total));
            let (x, y) = place(18.0 + CHARACTER * text.chars().count() as f64 + 18.0);
            writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\" fill=\"#1b2733\">{}</text>",
                y - 10.0,
                entry.colour,
                x + 18.0,
                escaped(&text)
            )?;
        }
        for kind in ARROWS {
            if !self.timeline.arrows.iter().any(|arrow| arrow.kind == kind) {
                continue;
            }
            let (colour, dashes) = arrow_style(kind);
            let (name, marker) = (kind.text(), marker(kind));
            let (x, y) = place(40.0 + CHARACTER * name.len() as f64 + 18.0);
            writeln!(
                out,
                "<path d=\"M{x:.1} {0:.1} L{1:.1} {0:.1}\" stroke=\"{colour}\" stroke-width=\"1.3\"{dashes} \
                 marker-end=\"url(#{marker})\"/><text x=\"{2:.1}\" y=\"{y:.1}\" fill=\"#1b2733\">{name}</text>",
                y - 4.0,
                x + 28.0,
                x + 36.0
            )?;
        }
        for note in &self.timeline.notes {
            let text = shortened(note, 160);
            let (x, y) = place(CHARACTER * text.chars().count() as f64 + 18.0);
            let text = escaped(&text);
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#4a5a68\">{text}</text>")?;
        }
        if !self.timeline.nodes_without_times().is_empty() {
            let text = "the times of nodes in graphs are not known";
            let (x, y) = place(CHARACTER * text.len() as f64 + 18.0);
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#4a5a68\">{text}</text>")?;
        }
        if self.timeline.lost > 0 {
            let text = format!("{} operations are missing", self.timeline.lost);
            let (x, y) = place(CHARACTER * text.len() as f64);
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#a33\">{text}</text>")?;
        }
        Ok(y + 20.0)
    }
}

/// The kinds of arrows, in the order of the legend.
const ARROWS: [ArrowKind; 5] =
    [ArrowKind::Event, ArrowKind::Fork, ArrowKind::Join, ArrowKind::Memory, ArrowKind::Missing];

/// The row of each span in its track, and the number of rows of each track.
fn rows(timeline: &Timeline) -> (Vec<usize>, Vec<usize>) {
    // The end of the last span of each row.
    let mut ends: Vec<Vec<Duration>> = vec![Vec::new(); timeline.tracks.len()];
    let place = |span: &Span| {
        let ends = &mut ends[span.track];
        let row = ends.iter().position(|end| *end <= span.start).unwrap_or(ends.len());
        match ends.get_mut(row) {
            Some(end) => *end = span.end,
            None => ends.push(span.end),
        }
        row
    };
    let rows = timeline.spans.iter().map(place).collect();
    (rows, ends.iter().map(|ends| ends.len().max(1)).collect())
}

/// What has one colour.
fn legend_label(span: &Span) -> String {
    match span.kind {
        kind if kind.is_named() => span.label(),
        kind => kind.text().to_owned(),
    }
}

fn fixed_colour(kind: SpanKind) -> Option<&'static str> {
    Some(match kind {
        SpanKind::Task | SpanKind::Foreign | SpanKind::Graph => return None,
        SpanKind::CopyToDevice => "#8fc7b8",
        SpanKind::CopyToHost => "#c9b3e0",
        SpanKind::CopyOnDevice => "#a9cbe8",
        SpanKind::Fill => "#d6dfa6",
        SpanKind::Allocation => "#b9c3cc",
        SpanKind::Free => "#97a3ae",
        SpanKind::HostWait => "#e3d9c6",
        SpanKind::HostCall => "#c9bda6",
    })
}

/// The colour of a task: from the list, then evenly spread hues.
fn colour(number: usize) -> String {
    match COLOURS.get(number) {
        Some(colour) => (*colour).to_owned(),
        None => format!("hsl({},45%,50%)", number * 137 % 360),
    }
}

/// The colour of text on a background.
fn text_colour(background: &str) -> &'static str {
    let channel = |at: usize| {
        let digits = background.get(at..at + 2).unwrap_or_default();
        u32::from_str_radix(digits, 16).unwrap_or(90)
    };
    let light = 299 * channel(1) + 587 * channel(3) + 114 * channel(5);
    if light > 150_000 { "#1b2733" } else { "#ffffff" }
}

/// The colour of an arrow, and its dashes as an attribute.
fn arrow_style(kind: ArrowKind) -> (&'static str, &'static str) {
    match kind {
        ArrowKind::Event => ("#b3261e", ""),
        ArrowKind::Fork => ("#1b2733", ""),
        ArrowKind::Join => ("#1b2733", " stroke-dasharray=\"5 2.5\""),
        ArrowKind::Memory => ("#8795a1", " stroke-dasharray=\"1.5 2.5\""),
        ArrowKind::Missing => ("#e11d8f", " stroke-dasharray=\"2 3\" stroke-linecap=\"round\""),
    }
}

/// The name of an arrow's head in the file.
fn marker(kind: ArrowKind) -> &'static str {
    if kind == ArrowKind::Missing { "missing" } else { kind.text() }
}

/// As much of a label as fits into a bar: with the time, without it, without the line, shortened, or nothing.
fn fitting(label: &str, name: &str, time: &str, width: f64) -> Option<String> {
    let room = (width / CHARACTER).floor();
    if room < 3.0 {
        return None;
    }
    let room = room as usize;
    let (short, long) = (label.chars().count(), label.chars().count() + 2 + time.chars().count());
    if long <= room {
        return Some(format!("{label}, {time}"));
    }
    Some(if short <= room { label.to_owned() } else { shortened(name, room) })
}

/// The first characters of a text.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

fn tooltip(span: &Span) -> String {
    let mut text = format!("{}: {}", span.name, time_text(span.duration()));
    if !span.file.is_empty() {
        text += &format!("\n{}:{}", span.file, span.line);
    }
    if span.region_block > 0 {
        text += &format!("\nblock {}", span.region_block);
    }
    if span.kind == SpanKind::Foreign {
        text += &format!("\nforeign operation: reads {}, writes {}", span.reads, span.writes);
    }
    if !span.nodes.is_empty() {
        text += &format!("\nnodes: {}", nodes_text(&span.nodes));
        if !span.has_node_times {
            text += "\nthe times of the nodes are not known";
        }
    }
    if let Some(bytes) = span.bytes {
        text += &format!("\n{bytes} bytes");
    }
    text
}

/// The next of 1, 2, 5, 10, … that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least);
    (power * factor.unwrap_or(10.0)).max(1.0)
}

/// The time at a tick, in the unit of the steps.
fn tick_text(time: f64, step: f64) -> String {
    let (unit, name) = match step {
        0.0..1e3 => (1.0, "ns"),
        1e3..1e6 => (1e3, "µs"),
        1e6..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {name}", (time / unit).round())
}

/// Text in XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no other control characters.
            c if c < ' ' && c != '\n' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
