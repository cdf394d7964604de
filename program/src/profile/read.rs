//! Reads a timeline from the trace that it was written as.

use std::{sync::Arc, time::Duration};

use super::{
    chrome::{KNOWN, VERSION},
    json::JsonValue,
    timeline::{
        Arrow, ArrowKind, GraphNode, Span, SpanKind, Timeline, TimelineClock, Track, TrackKind,
    },
};
use crate::{Error, Result};

/// The largest time in microseconds: 31 years. Sums of times stay far below the limit of a duration.
const MAX_MICROSECONDS: f64 = 1e15;

impl Timeline {
    /// Reads the timeline that [`chrome_trace`](Self::chrome_trace) or the environment variable
    /// [`TRACE_VARIABLE`](crate::TRACE_VARIABLE) wrote.
    ///
    /// # Errors
    /// [`Error::TraceFormat`] for any other text.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// use quadrants_program::Timeline;
    /// let (_, timeline) = prog.profile(|| prog.zeros::<f32, 1>([100])?.to_vec())?;
    /// let read = Timeline::from_chrome_trace(&timeline.chrome_trace())?;
    /// assert_eq!(read.to_string(), timeline.to_string());
    /// assert!(Timeline::from_chrome_trace("{}").is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_chrome_trace(text: &str) -> Result<Self> {
        read(text).map_err(|what| Error::TraceFormat { what })
    }
}

fn read(text: &str) -> Result<Timeline, String> {
    if text.trim().is_empty() {
        return Err("it is empty; a program writes it at its end".to_owned());
    }
    let trace = JsonValue::parse(text).map_err(|error| format!("no JSON: {error}"))?;
    let other = &trace["otherData"];
    match other["quadrants"].as_u64() {
        Some(VERSION) => {}
        Some(found) => return Err(format!("it has format version {found}, not {VERSION}")),
        None => return Err("another program wrote it".to_owned()),
    }
    let clock = TimelineClock::with_text(string(other, "clock")?);
    let mut timeline = Timeline {
        device: string(other, "device")?.to_owned(),
        clock: clock.ok_or("its clock is unknown")?,
        tracks: Vec::new(),
        spans: Vec::new(),
        arrows: Vec::new(),
        lost: number(other, "lost")?,
        notes: Vec::new(),
    };
    for note in other["notes"].as_array().unwrap_or_default() {
        let text = note.as_str().filter(|text| !text.contains(char::is_control));
        timeline.notes.push(text.ok_or("a note is no text")?.to_owned());
    }
    let graphs = match &other["graphs"] {
        // A trace of an earlier version.
        graphs if graphs.is_null() => Vec::new(),
        graphs => {
            let graphs = graphs.as_array().ok_or("`graphs` is no list")?;
            graphs.iter().map(nodes).collect::<Result<Vec<_>, String>>()?
        }
    };
    let events = trace["traceEvents"].as_array().ok_or("it has no events")?;
    for (at, event) in events.iter().enumerate() {
        timeline.read_event(event, &graphs).map_err(|what| format!("event {at}: {what}"))?;
    }
    let (tracks, spans) = (timeline.tracks.len(), timeline.spans.len());
    if timeline.spans.iter().any(|span| span.track >= tracks) {
        return Err("a span has no track".to_owned());
    }
    if timeline.arrows.iter().any(|arrow| arrow.from >= spans || arrow.to >= spans) {
        return Err("an arrow has no spans".to_owned());
    }
    Ok(timeline)
}

impl Timeline {
    fn read_event(&mut self, event: &JsonValue, graphs: &[Arc<[GraphNode]>]) -> Result<(), String> {
        match (string(event, "ph")?, string(event, "name")?) {
            ("M", "thread_name") => {
                if index(event, "tid")? != self.tracks.len() {
                    return Err("a track is out of order".to_owned());
                }
                self.tracks.push(track(&event["args"])?);
            }
            ("X", name) => self.spans.push(span(event, name, graphs)?),
            ("s", kind) => self.arrows.push(arrow(&event["args"], kind)?),
            _ => {}
        }
        Ok(())
    }
}

fn track(args: &JsonValue) -> Result<Track, String> {
    let kind = match string(args, "kind")? {
        "stream" => TrackKind::Stream(number(args, "stream")?),
        "nodes" => TrackKind::Nodes(number(args, "stream")?),
        "worker" => TrackKind::Worker,
        "copies" => TrackKind::Copies,
        "fills" => TrackKind::Fills,
        "frees" => TrackKind::Frees,
        "host" => TrackKind::Host,
        kind => return Err(format!("the kind of track `{kind}` is unknown")),
    };
    Ok(Track { name: string(args, "name")?.to_owned(), kind })
}

fn nodes(graph: &JsonValue) -> Result<Arc<[GraphNode]>, String> {
    let node = |node: &JsonValue| {
        let text = string(node, "kind")?;
        let kind = SpanKind::with_text(text);
        Ok(GraphNode {
            kind: kind.ok_or_else(|| format!("the kind of node `{text}` is unknown"))?,
            name: string(node, "name")?.into(),
            file: string(node, "file")?.into(),
            line: number(node, "line")?,
            task: number(node, "task")?,
            region_block: number(node, "group")?,
            stream: number(node, "stream")?,
            bytes: if node["bytes"].is_null() { None } else { Some(number(node, "bytes")?) },
        })
    };
    graph.as_array().ok_or("a graph is no list")?.iter().map(node).collect()
}

fn span(event: &JsonValue, label: &str, graphs: &[Arc<[GraphNode]>]) -> Result<Span, String> {
    let text = string(event, "cat")?;
    let kind = SpanKind::with_text(text);
    let kind = kind.ok_or_else(|| format!("the kind of span `{text}` is unknown"))?;
    let args = &event["args"];
    let is_task = kind == SpanKind::Task;
    let of_task = |name: &str| if is_task { number::<u32>(args, name) } else { Ok(0) };
    let of_foreign = |name: &str| match kind {
        SpanKind::Foreign => number::<u32>(args, name),
        _ => Ok(0),
    };
    let has_place = kind.has_place() || !args["line"].is_null();
    let line = if has_place { number(args, "line")? } else { 0 };
    let name = match line {
        0 => label,
        line => label.strip_suffix(&format!(":{line}")).unwrap_or(label),
    };
    let start = time(event, "ts")?;
    let nodes = match &args["graph"] {
        graph if graph.is_null() => None,
        _ => Some(graphs.get(index(args, "graph")?).ok_or("a graph has no nodes")?.clone()),
    };
    let has_node_times = nodes.is_some() && string(args, "node_times")? == KNOWN;
    let optional = |name: &'static str| (!args[name].is_null()).then_some(name);
    Ok(Span {
        kind,
        name: name.into(),
        file: if has_place { string(args, "file")?.into() } else { Arc::from("") },
        line,
        task: of_task("task")?,
        region_block: of_task("group")?,
        reads: of_foreign("reads")?,
        writes: of_foreign("writes")?,
        nodes: nodes.unwrap_or_default(),
        has_node_times,
        bytes: optional("bytes").map(|name| number(args, name)).transpose()?,
        track: index(event, "tid")?,
        start,
        end: start + time(event, "dur")?,
        submitted: optional("submitted_us").map(|name| time(args, name)).transpose()?,
    })
}

fn arrow(args: &JsonValue, kind: &str) -> Result<Arrow, String> {
    let found = ArrowKind::with_text(kind);
    let kind = found.ok_or_else(|| format!("the kind of arrow `{kind}` is unknown"))?;
    Ok(Arrow { kind, from: index(args, "from")?, to: index(args, "to")? })
}

/// A text without control characters, which would change the terminal that it is printed on.
fn string<'a>(object: &'a JsonValue, name: &str) -> Result<&'a str, String> {
    let text = object[name].as_str().ok_or_else(|| format!("`{name}` is no text"))?;
    let has_control = text.contains(char::is_control);
    if has_control { Err(format!("`{name}` has a control character")) } else { Ok(text) }
}

fn number<T: TryFrom<u64>>(object: &JsonValue, name: &str) -> Result<T, String> {
    let number = object[name].as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("`{name}` is no number in range"))
}

fn index(object: &JsonValue, name: &str) -> Result<usize, String> {
    number(object, name)
}

/// A time in microseconds, to the nanosecond.
fn time(object: &JsonValue, name: &str) -> Result<Duration, String> {
    let time = object[name].as_f64().filter(|time| (0.0..=MAX_MICROSECONDS).contains(time));
    let time = time.ok_or_else(|| format!("`{name}` is no time"))?;
    Ok(Duration::from_nanos((time * 1000.0).round() as u64))
}
