//! The table of a timeline: where time goes, one row per task and kind of operation.

use std::{collections::HashMap, fmt, time::Duration};

use super::timeline::{ArrowKind, Span, SpanKind, Timeline, nodes_text, time_text};

/// A row of the table of a [`Timeline`]: all spans of one task, or all operations of one kind.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TimelineRow {
    /// The kind of the spans.
    pub kind: SpanKind,
    /// The kernel with the source line of the task, `saxpy:12`; or the operation.
    pub name: String,
    /// The number of spans.
    pub count: usize,
    /// The sum of their durations.
    pub total: Duration,
    /// The shortest.
    pub min: Duration,
    /// The median.
    pub median: Duration,
    /// The longest.
    pub max: Duration,
    /// The part of the sum over all rows of streams, from 0 to 1; of a host call, of the duration of the timeline. The
    /// sum has a graph or its nodes, not both.
    pub share: f64,
    /// The bytes of all spans; 0 where they are not known.
    pub bytes: u64,
}

impl Timeline {
    /// The rows of the table: operations of streams, then calls of the host, each by their total time.
    #[must_use]
    pub fn rows(&self) -> Vec<TimelineRow> {
        let mut places: HashMap<(SpanKind, String), usize> = HashMap::new();
        let mut groups: Vec<(SpanKind, String, Vec<&Span>)> = Vec::new();
        for span in &self.spans {
            let name = match span.kind {
                kind if kind.is_named() => span.label(),
                SpanKind::HostCall | SpanKind::HostWait => span.name.to_string(),
                kind => kind.text().to_owned(),
            };
            let place = *places.entry((span.kind, name.clone())).or_insert_with(|| {
                groups.push((span.kind, name, Vec::new()));
                groups.len() - 1
            });
            groups[place].2.push(span);
        }
        let busy: Duration = self.device_spans().map(Span::duration).sum();
        let whole = self.duration();
        let row = |(kind, name, spans): (SpanKind, String, Vec<&Span>)| {
            let mut times: Vec<Duration> = spans.iter().map(|span| span.duration()).collect();
            times.sort_unstable();
            let total: Duration = times.iter().sum();
            let of = if kind.is_host() { whole } else { busy };
            TimelineRow {
                kind,
                name,
                count: times.len(),
                total,
                min: times[0],
                median: times[times.len() / 2],
                max: times[times.len() - 1],
                share: if of.is_zero() { 0.0 } else { total.as_secs_f64() / of.as_secs_f64() },
                bytes: spans.iter().filter_map(|span| span.bytes).fold(0, u64::saturating_add),
            }
        };
        let mut rows: Vec<_> = groups.into_iter().map(row).collect();
        rows.sort_by_key(|row| (row.kind.is_host(), std::cmp::Reverse(row.total)));
        rows
    }
}

impl TimelineRow {
    /// The bytes per second of a copy or fill.
    fn bandwidth(&self) -> String {
        let moves = !matches!(self.kind, SpanKind::Allocation | SpanKind::HostCall);
        match self.total.as_secs_f64() {
            seconds if seconds > 0.0 && self.bytes > 0 && moves => {
                format!("{:.1}", self.bytes as f64 / seconds / 1e9)
            }
            _ => String::new(),
        }
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let (busy, overlap) = self.busy();
        writeln!(
            f,
            "{} ({}): {} in total, streams busy for {}, two or more at once for {}",
            self.device,
            self.clock.text(),
            time_text(self.duration()),
            time_text(busy),
            time_text(overlap)
        )?;
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        if self.lost > 0 {
            writeln!(f, "{} operations are missing", self.lost)?;
        }
        let missing = self.count(ArrowKind::Missing);
        if missing > 0 {
            writeln!(
                f,
                "{missing} pairs of launches conflict and have no order: see `Program::take_hazards`"
            )?;
        }
        let name = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(9);
        write!(
            f,
            "{:name$} {:>7} {:>9} {:>9} {:>9} {:>9} {:>6} {:>7}",
            "operation", "count", "total", "min", "median", "max", "share", "GB/s"
        )?;
        for row in rows {
            let times = [row.total, row.min, row.median, row.max].map(time_text);
            let [total, min, median, max] = times;
            let (share, bandwidth) = (format!("{:.1}%", 100.0 * row.share), row.bandwidth());
            let (label, count) = (&row.name, row.count);
            let line = format!(
                "{label:name$} {count:>7} {total:>9} {min:>9} {median:>9} {max:>9} {share:>6} {bandwidth:>7}"
            );
            write!(f, "\n{}", line.trim_end())?;
        }
        for (name, nodes) in self.nodes_without_times() {
            write!(f, "\n{name} has nodes without times: {}", nodes_text(nodes))?;
        }
        Ok(())
    }
}
