//! The timeline as a trace file of Chrome's format, which `ui.perfetto.dev` and `chrome://tracing` open.

use std::{
    collections::HashMap,
    fmt::{self, Write},
    sync::Arc,
    time::Duration,
};

use super::timeline::{GraphNode, SpanKind, Timeline, TrackKind};

/// The version of what the trace has beyond Chrome's format, which `read.rs` needs.
pub(super) const VERSION: u64 = 1;

/// Whether the times of a graph's nodes are known.
pub(super) const KNOWN: &str = "known";
const NOT_KNOWN: &str = "not known";

/// The process numbers of the device and of the host.
const DEVICE: u32 = 1;
const HOST: u32 = 2;

impl Timeline {
    /// The timeline in the JSON format of Chrome's trace viewer and of Perfetto.
    #[must_use]
    pub fn chrome_trace(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_chrome(&mut text);
        text
    }

    fn write_chrome(&self, out: &mut String) -> fmt::Result {
        write!(
            out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"quadrants\":{VERSION},\"device\":{},\"clock\":{},\
             \"lost\":{},\"graphs\":[",
            quoted(&self.device),
            quoted(self.clock.text()),
            self.lost
        )?;
        let graphs = self.write_graphs(out)?;
        out.push_str("],\"notes\":[");
        for (at, note) in self.notes.iter().enumerate() {
            write!(out, "{}{}", if at == 0 { "" } else { "," }, quoted(note))?;
        }
        out.push_str("]},\"traceEvents\":[\n");
        for (process, name) in [(DEVICE, self.device.as_str()), (HOST, "host")] {
            writeln!(
                out,
                "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{process},\"tid\":0,\"args\":{{\"name\":{}}}}},",
                quoted(name)
            )?;
        }
        for (at, track) in self.tracks.iter().enumerate() {
            let (process, name) = (process_of(track.kind), quoted(&track.name));
            let (kind, stream) = (track.kind.text(), track.kind.stream());
            write!(
                out,
                "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{process},\"tid\":{at},\
                 \"args\":{{\"name\":{name},\"kind\":\"{kind}\",\"stream\":{stream}}}}},\n\
                 {{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{process},\"tid\":{at},\
                 \"args\":{{\"sort_index\":{at}}}}},\n",
            )?;
        }
        for span in &self.spans {
            write!(
                out,
                "{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{",
                quoted(&span.label()),
                span.kind.text(),
                process_of(self.tracks[span.track].kind),
                span.track,
                Microseconds(span.start),
                Microseconds(span.duration())
            )?;
            let mut comma = "";
            let mut arg = |name: &str, value: &dyn fmt::Display| {
                let written = write!(out, "{comma}\"{name}\":{value}");
                comma = ",";
                written
            };
            if span.kind.has_place() || span.line != 0 {
                arg("file", &quoted(&span.file))?;
                arg("line", &span.line)?;
            }
            if span.kind == SpanKind::Foreign {
                arg("reads", &span.reads)?;
                arg("writes", &span.writes)?;
            }
            if span.kind == SpanKind::Task {
                arg("task", &span.task)?;
                arg("group", &span.region_block)?;
            }
            if let Some(graph) = graphs.get(&span.nodes) {
                arg("graph", graph)?;
                arg("node_times", &quoted(if span.has_node_times { KNOWN } else { NOT_KNOWN }))?;
            }
            if let Some(bytes) = span.bytes {
                arg("bytes", &bytes)?;
            }
            if let Some(submitted) = span.submitted {
                arg("submitted_us", &Microseconds(submitted))?;
            }
            out.push_str("}},\n");
        }
        for (id, arrow) in self.arrows.iter().enumerate() {
            let ends = [("s", arrow.from, true), ("f", arrow.to, false)];
            for (phase, span, at_end) in ends {
                let span = &self.spans[span];
                // A reader of the file finds the spans by their numbers, a viewer by the time.
                let binding = match at_end {
                    true => format!("\"args\":{{\"from\":{},\"to\":{}}},", arrow.from, arrow.to),
                    false => "\"bp\":\"e\",".to_owned(),
                };
                writeln!(
                    out,
                    "{{\"ph\":\"{phase}\",{binding}\"id\":{id},\"name\":\"{}\",\"cat\":\"order\",\"pid\":{DEVICE},\
                     \"tid\":{},\"ts\":{}}},",
                    arrow.kind.text(),
                    span.track,
                    // An arrow belongs to the span that is running at its time.
                    Microseconds(match at_end {
                        true => span.end.saturating_sub(Duration::from_nanos(1)).max(span.start),
                        false => span.start,
                    })
                )?;
            }
        }
        // The format has no comma after the last element.
        out.truncate(out.trim_end_matches(",\n").len());
        out.push_str("\n]}\n");
        Ok(())
    }
}

impl Timeline {
    /// Writes the nodes of each graph once. Returns their numbers.
    fn write_graphs(
        &self,
        out: &mut String,
    ) -> Result<HashMap<Arc<[GraphNode]>, usize>, fmt::Error> {
        let mut graphs = HashMap::new();
        for span in &self.spans {
            if span.nodes.is_empty() || graphs.contains_key(&span.nodes) {
                continue;
            }
            out.push_str(if graphs.is_empty() { "[" } else { ",\n[" });
            for (at, node) in span.nodes.iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                write!(
                    out,
                    "{comma}{{\"kind\":\"{}\",\"name\":{},\"file\":{},\"line\":{},\"task\":{},\"group\":{},\
                     \"stream\":{}",
                    node.kind.text(),
                    quoted(&node.name),
                    quoted(&node.file),
                    node.line,
                    node.task,
                    node.region_block,
                    node.stream
                )?;
                if let Some(bytes) = node.bytes {
                    write!(out, ",\"bytes\":{bytes}")?;
                }
                out.push('}');
            }
            out.push(']');
            graphs.insert(span.nodes.clone(), graphs.len());
        }
        Ok(graphs)
    }
}

fn process_of(track: TrackKind) -> u32 {
    if track == TrackKind::Host { HOST } else { DEVICE }
}

/// A duration in microseconds, to the nanosecond.
struct Microseconds(Duration);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        write!(f, "{}.{:03}", ns / 1000, ns % 1000)
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
