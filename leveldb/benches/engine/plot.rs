//! The plot of what operations cost in stores of growing size. The backing store's benchmark draws its own with this file.

use std::fmt::Write;
use std::path::Path;

/// One operation: microseconds by size.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) costs: Vec<f64>,
    /// What it is compared with, dashed; may be empty.
    pub(crate) beside: Vec<f64>,
}

const COLOURS: [&str; 8] = [
    "#1b6ca8", "#c0392b", "#7d3c98", "#1e8449", "#b9770e", "#117a65", "#5d6d7e", "#d35400",
];

/// Writes the plot, SVG.
#[expect(clippy::disallowed_methods, reason = "writes what was asked for")]
pub(crate) fn write(path: &Path, titles: [&str; 2], sizes: &[u64], lines: &[Line]) {
    std::fs::write(path, plot(titles, sizes, lines)).unwrap();
}

fn x(size: usize) -> f64 {
    70.0 + 130.0 * size as f64
}

/// Powers of ten, between which all costs lie.
struct Powers {
    lowest: i32,
    highest: i32,
}

impl Powers {
    fn of(lines: &[Line]) -> Powers {
        let costs = lines.iter().flat_map(|line| [&line.costs, &line.beside]);
        let powers = costs.flatten().map(|cost| cost.max(0.01).log10());
        let (lowest, highest) = powers.fold((0.0, 1.0), |(lowest, highest): (f64, f64), power| {
            (lowest.min(power), highest.max(power))
        });
        Powers {
            lowest: lowest.floor() as i32,
            highest: highest.ceil() as i32,
        }
    }

    fn y(&self, cost: f64) -> f64 {
        let power = cost.max(0.01).log10() - f64::from(self.lowest);
        350.0 - 300.0 * power / f64::from(self.highest - self.lowest)
    }
}

/// Both axes logarithmic.
fn plot([title, legend]: [&str; 2], sizes: &[u64], lines: &[Line]) -> String {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 400\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"720\" height=\"400\" fill=\"white\"/>\n",
    );
    let _ = writeln!(svg, "<text x=\"70\" y=\"20\">{title}</text>");
    let _ = writeln!(svg, "<text x=\"70\" y=\"36\" fill=\"#555\">{legend}</text>");
    let powers = Powers::of(lines);
    for power in powers.lowest..=powers.highest {
        let cost = 10_f64.powi(power);
        let y = powers.y(cost);
        let _ = writeln!(
            svg,
            "<path d=\"M70 {y:.0}H460\" stroke=\"#ddd\"/><text x=\"62\" y=\"{:.0}\" text-anchor=\"end\">{cost}</text>",
            y + 4.0
        );
    }
    for (size, rows) in sizes.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"372\" text-anchor=\"middle\">{rows}</text>",
            x(size)
        );
    }
    for (i, line) in lines.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        for (costs, dash) in [
            (&line.costs, ""),
            (&line.beside, " stroke-dasharray=\"5 4\""),
        ] {
            let points = costs.iter().enumerate();
            let points: Vec<String> = points
                .map(|(size, cost)| format!("{:.0},{:.1}", x(size), powers.y(*cost)))
                .collect();
            if points.is_empty() {
                continue;
            }
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>",
                points.join(" ")
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"490\" y=\"{}\" fill=\"{colour}\">{}</text>",
            90 + 20 * i,
            line.name
        );
    }
    svg.push_str("</svg>\n");
    svg
}
