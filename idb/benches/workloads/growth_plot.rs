//! Plots of what each row costs in stores of growing size: a panel for each row, a line for each column, axes logarithmic.

use std::fmt::Write as _;
use std::path::Path;

/// One row.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<Line>,
}

/// What one column took, by size; a number that is none is left out.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) costs: Vec<f64>,
}

const COLOURS: [&str; 5] = ["#c0392b", "#1b6ca8", "#1e8449", "#7d3c98", "#b9770e"];

/// Panels beside each other, and the room of each with its title and numbers.
const ACROSS: usize = 5;
const CELL: (f64, f64) = (190.0, 230.0);
/// The room of its lines, and where that begins in it.
const AREA: (f64, f64) = (130.0, 160.0);
const AT: (f64, f64) = (45.0, 30.0);
/// What is above all panels.
const HEAD: f64 = 60.0;

/// Writes the plot, SVG.
pub(crate) fn write(path: &Path, title: &str, sizes: &[u32], panels: &[Panel]) {
    std::fs::write(path, plot(title, sizes, panels)).unwrap();
}

fn plot(title: &str, sizes: &[u32], panels: &[Panel]) -> String {
    let (width, height) = (
        CELL.0 * ACROSS as f64,
        HEAD + CELL.1 * panels.len().div_ceil(ACROSS) as f64,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"45\" y=\"22\" font-size=\"13\">{title}</text>\n"
    );
    for (n, line) in panels[0].lines.iter().enumerate() {
        let (x, colour) = (45 + 90 * n, COLOURS[n % COLOURS.len()]);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"42\" fill=\"{colour}\">{}</text>",
            line.name
        );
    }
    let all = panels.iter().flat_map(|panel| &panel.lines);
    let costs: Vec<f64> = all.flat_map(|line| &line.costs).copied().collect();
    let decades = Decades::of(&costs);
    for (n, panel) in panels.iter().enumerate() {
        let left = AT.0 + CELL.0 * (n % ACROSS) as f64;
        let top = HEAD + AT.1 + CELL.1 * (n / ACROSS) as f64;
        draw(&mut svg, panel, sizes, (left, top), decades);
    }
    svg.push_str("</svg>\n");
    svg
}

/// The powers of ten that all numbers lie between.
#[derive(Debug, Clone, Copy)]
struct Decades {
    low: f64,
    high: f64,
}

impl Decades {
    fn of(costs: &[f64]) -> Self {
        let logs = costs
            .iter()
            .filter(|cost| **cost > 0.0)
            .map(|cost| cost.log10());
        let (low, high) = logs.fold((f64::MAX, f64::MIN), |(low, high), log| {
            (low.min(log), high.max(log))
        });
        Self {
            low: low.floor(),
            high: high.ceil().max(low.floor() + 1.0),
        }
    }

    /// How far down in a panel a number lies.
    fn y(self, cost: f64) -> f64 {
        AREA.1 * (self.high - cost.log10()) / (self.high - self.low)
    }
}

fn draw(svg: &mut String, panel: &Panel, sizes: &[u32], at: (f64, f64), decades: Decades) {
    let (left, top) = at;
    let x = |size: usize| left + AREA.0 * size as f64 / (sizes.len().max(2) - 1) as f64;
    let title_y = top - 10.0;
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"{title_y}\" font-weight=\"bold\">{}</text>",
        panel.title
    );
    let mut decade = decades.low;
    while decade <= decades.high {
        let (cost, y) = (10f64.powf(decade), top + decades.y(10f64.powf(decade)));
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {y:.0}h{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">{cost}</text>",
            AREA.0,
            left - 4.0,
            y + 4.0
        );
        decade += 1.0;
    }
    for (n, records) in sizes.iter().enumerate() {
        let (x, y) = (x(n), top + AREA.1 + 16.0);
        let _ = writeln!(
            svg,
            "<text x=\"{x:.0}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            short(*records)
        );
    }
    for (n, line) in panel.lines.iter().enumerate() {
        let points: Vec<String> = (line.costs.iter().enumerate())
            .filter(|(_, cost)| **cost > 0.0)
            .map(|(size, cost)| format!("{:.0},{:.1}", x(size), top + decades.y(*cost)))
            .collect();
        let colour = COLOURS[n % COLOURS.len()];
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            points.join(" ")
        );
    }
}

/// 10k, 1M.
fn short(records: u32) -> String {
    match records {
        0..1000 => records.to_string(),
        1000..1_000_000 => format!("{}k", records / 1000),
        _ => format!("{}M", records / 1_000_000),
    }
}
