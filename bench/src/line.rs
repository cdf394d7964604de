//! The result of one case.

use serde::{Deserialize, Serialize};

/// One case of a bench, as one line of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// The bench's name.
    pub bench: String,
    /// The case's name, unique within its bench.
    pub case: String,
    /// The unit of all times.
    pub unit: String,
    /// Our time.
    pub ours: Side,
    /// The rivals' times; the first is the one that the ratio is against, the best of them.
    pub rivals: Vec<Side>,
    /// Our time divided by the best rival's: below 1 is faster.
    pub ratio: Option<f64>,
    /// The target of the case.
    pub target: Option<SpeedTarget>,
    /// Our rate, where the case has one.
    pub rate: Option<Rate>,
}

/// The times of one side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    /// The name of the side.
    pub name: String,
    /// The median over all samples.
    pub median: f64,
    /// The lower and the upper quartile.
    pub quartiles: [f64; 2],
}

/// The target of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeedTarget {
    /// At most this many times the rival's time.
    Ratio(f64),
    /// At most the rival's time and this much more.
    Above(f64),
    /// At most this.
    Most(f64),
}

/// How much work a case does in its time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rate {
    /// Units of work in a second.
    pub value: f64,
    /// The unit, such as `GB/s`.
    pub unit: String,
}

impl Line {
    /// Whether the target is reached; `None` without a target.
    pub fn reached(&self) -> Option<bool> {
        let rival = self.rivals.first().map(|side| side.median);
        Some(match self.target? {
            SpeedTarget::Ratio(most) => self.ratio? <= most,
            SpeedTarget::Above(most) => self.ours.median <= rival? + most,
            SpeedTarget::Most(most) => self.ours.median <= most,
        })
    }
}

impl Side {
    pub(crate) fn new(name: &str, mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let [low, median, high] = [1, 2, 3].map(|q| times[(times.len() - 1) * q / 4]);
        Self { name: name.to_owned(), median, quartiles: [low, high] }
    }
}
