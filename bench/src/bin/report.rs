//! The table, the JSON file and the plot of the lines that benches printed.
//!
//! `report FOLDER`, with the lines on standard input.

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
};

use plotters::prelude::*;
use quadrants_bench::{Line, SpeedTarget};

/// Writes bench.json and bench.svg from the lines on standard input, and prints the table as Markdown.
#[derive(clap::Parser)]
struct Args {
    /// Where the files go.
    folder: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Args { folder } = clap::Parser::parse();
    let folder = folder.as_path();
    let lines = io::stdin()
        .lines()
        .filter_map(|line| match line {
            Ok(line) => serde_json::from_str::<Line>(&line).ok().map(Ok),
            Err(error) => Some(Err(error)),
        })
        .collect::<Result<Vec<_>, _>>()?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("bench.json"), serde_json::to_string_pretty(&lines)?)?;
    plot(&lines, &folder.join("bench.svg"))?;
    print!("{}", table(&lines));
    Ok(())
}

/// A table for each bench.
fn table(lines: &[Line]) -> String {
    let mut text = String::new();
    for bench in lines.chunk_by(|a, b| a.bench == b.bench) {
        text += &format!(
            "\n{}\n\n| case | ours | spread | rival | ratio | target | met | rate |\n\
             |---|---|---|---|---|---|---|---|\n",
            bench[0].bench
        );
        bench.iter().for_each(|line| text += &row(line));
    }
    text
}

fn row(line: &Line) -> String {
    let rival = line.rivals.first();
    let or_empty = |cell: Option<String>| cell.unwrap_or_default();
    let cells = [
        line.case.clone(),
        format!("{} {}", number(line.ours.median), line.unit),
        format!("{}–{}", number(line.ours.quartiles[0]), number(line.ours.quartiles[1])),
        or_empty(rival.map(|r| format!("{} {}, {}", number(r.median), line.unit, r.name))),
        or_empty(line.ratio.map(|ratio| format!("{ratio:.3}"))),
        or_empty(line.target.map(|target| match target {
            SpeedTarget::Ratio(most) => format!("≤ {most:.3} ×"),
            SpeedTarget::Above(most) => format!("≤ rival + {} {}", number(most), line.unit),
            SpeedTarget::Most(most) => format!("≤ {} {}", number(most), line.unit),
        })),
        or_empty(line.reached().map(|reached| if reached { "yes" } else { "**no**" }.to_owned())),
        or_empty(line.rate.as_ref().map(|rate| format!("{} {}", number(rate.value), rate.unit))),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// Four significant digits.
fn number(value: f64) -> String {
    let digits = 3 - value.abs().max(1e-3).log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 6) as usize)
}

/// One bar per case: our time over the rival's, the even line at 1, and a mark at the target.
fn plot(lines: &[Line], path: &Path) -> Result<(), Box<dyn Error>> {
    let bars: Vec<_> =
        lines.iter().filter_map(|line| line.ratio.map(|ratio| (line, ratio))).collect();
    let height = 40 + 22 * bars.len() as u32;
    let root = SVGBackend::new(path, (1000, height.max(120))).into_drawing_area();
    root.fill(&WHITE)?;
    let most = bars.iter().map(|(_, ratio)| *ratio).fold(1.5, f64::max).min(4.0);
    let mut chart = ChartBuilder::on(&root)
        .margin(10)
        .x_label_area_size(25)
        .build_cartesian_2d(-1.6 * most / 2.0..most, 0.0..bars.len().max(1) as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_label_formatter(&|x| if *x < 0.0 { String::new() } else { format!("{x:.2}") })
        .draw()?;
    for (row, (line, ratio)) in bars.iter().enumerate() {
        let y = bars.len() as f64 - row as f64;
        let color = if line.reached() == Some(false) { RED.mix(0.6) } else { BLUE.mix(0.5) };
        let bar = Rectangle::new([(0.0, y - 0.8), (ratio.min(most), y - 0.2)], color.filled());
        chart.draw_series([bar])?;
        let name = format!("{}: {} ({ratio:.2})", line.bench, line.case);
        let at = (-1.6 * most / 2.0, y - 0.3);
        chart.draw_series([Text::new(name, at, ("sans-serif", 12))])?;
        if let Some(SpeedTarget::Ratio(target)) = line.target {
            let mark =
                PathElement::new([(target, y - 0.9), (target, y - 0.1)], BLACK.stroke_width(2));
            chart.draw_series([mark])?;
        }
    }
    let even = PathElement::new([(1.0, 0.0), (1.0, bars.len() as f64)], BLACK.mix(0.4));
    chart.draw_series([even])?;
    root.present()?;
    Ok(())
}
