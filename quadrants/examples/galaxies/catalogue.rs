//! The catalogue of sources: its order, its file format, and the comparison of two catalogues.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use crate::Error;

/// The first line of the file.
const HEADER: &str = "x,y,snr";

/// The relative and absolute tolerance of a source's brightness between two backends: sums are
/// rounded differently with fused multiply-adds.
const TOLERANCE: f32 = 1e-3;

/// A detected source: a pixel above the threshold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Source {
    pub(crate) x: u32,
    pub(crate) y: u32,
    /// Its significance, in standard deviations.
    pub(crate) snr: f32,
}

impl Source {
    fn is_near(&self, other: &Self) -> bool {
        self.x.abs_diff(other.x) <= 1
            && self.y.abs_diff(other.y) <= 1
            && (self.snr - other.snr).abs() <= TOLERANCE * (1.0 + self.snr.abs())
    }
}

/// Sorts sources in the file's order: brightest first, then by row, then by column.
pub(crate) fn sort(sources: &mut [Source]) {
    sources.sort_by(|a, b| b.snr.total_cmp(&a.snr).then(a.y.cmp(&b.y)).then(a.x.cmp(&b.x)));
}

/// Writes the catalogue.
pub(crate) fn write(path: &Path, sources: &[Source]) -> Result<(), Error> {
    let written = || -> io::Result<()> {
        let mut file = io::BufWriter::new(fs::File::create(path)?);
        writeln!(file, "{HEADER}")?;
        for Source { x, y, snr } in sources {
            writeln!(file, "{x},{y},{snr:.4}")?;
        }
        file.flush()
    };
    written().map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Reads a catalogue that [`write`] wrote.
pub(crate) fn read(path: &Path) -> Result<Vec<Source>, Error> {
    let text =
        fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let mut lines = text.lines();
    let malformed = |line: usize| Error::Catalogue { path: path.to_owned(), line };
    if lines.next() != Some(HEADER) {
        return Err(malformed(1));
    }
    lines.zip(2..).map(|(text, line)| parse(text).ok_or_else(|| malformed(line))).collect()
}

fn parse(line: &str) -> Option<Source> {
    let mut fields = line.split(',');
    let source = Source {
        x: fields.next()?.parse().ok()?,
        y: fields.next()?.parse().ok()?,
        snr: fields.next()?.parse().ok()?,
    };
    fields.next().is_none().then_some(source)
}

/// Whether two catalogues with the same threshold agree up to rounding: every source of one is in the
/// other, except sources so near the threshold that rounding decides. A source may be one pixel
/// off where two pixels are equally bright up to rounding.
pub(crate) fn compare(ours: &[Source], theirs: &[Source], threshold: f32) -> Result<(), Error> {
    let sure = threshold + TOLERANCE * (1.0 + threshold.abs());
    let missing = |from: &[Source], of: &[Source]| -> Option<Source> {
        let candidates = of.iter().filter(|source| source.snr > sure);
        candidates.copied().find(|source| !from.iter().any(|other| source.is_near(other)))
    };
    if let Some(source) = missing(theirs, ours) {
        return Err(Error::Differs { found: source, only_in: "this run's" });
    }
    if let Some(source) = missing(ours, theirs) {
        return Err(Error::Differs { found: source, only_in: "the expected" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(x: u32, y: u32, snr: f32) -> Source {
        Source { x, y, snr }
    }

    #[test]
    fn sources_are_sorted_by_brightness_then_row_then_column() {
        let mut sources =
            [source(5, 2, 4.5), source(3, 2, 4.5), source(9, 1, 4.5), source(0, 9, 7.0)];
        sort(&mut sources);
        let places: Vec<_> = sources.iter().map(|s| (s.x, s.y)).collect();
        assert_eq!(places, [(0, 9), (9, 1), (3, 2), (5, 2)]);
    }

    #[test]
    fn a_written_catalogue_reads_back_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sources.csv");
        write(&path, &[source(12, 34, 5.25), source(8, 8, 4.0625)]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x,y,snr\n12,34,5.2500\n8,8,4.0625\n");
        assert_eq!(read(&path).unwrap(), [source(12, 34, 5.25), source(8, 8, 4.0625)]);
        fs::write(&path, "x,y,snr\n1,2\n").unwrap();
        assert!(matches!(read(&path), Err(Error::Catalogue { line: 2, .. })));
    }

    #[test]
    fn comparison_ignores_rounding() {
        let ours = [source(10, 10, 50.0), source(30, 30, 4.0005)];
        let theirs = [source(10, 11, 50.003)];
        compare(&ours, &theirs, 4.0).unwrap();
        compare(&theirs, &ours, 4.0).unwrap();
    }

    #[test]
    fn a_missing_or_extra_source_is_a_difference() {
        let one = [source(10, 10, 50.0)];
        let two = [source(10, 10, 50.0), source(30, 30, 4.5)];
        assert!(compare(&one, &two, 4.0).is_err());
        assert!(compare(&two, &one, 4.0).is_err());
        assert!(compare(&one, &[source(10, 10, 51.0)], 4.0).is_err());
        assert!(compare(&one, &[source(12, 10, 50.0)], 4.0).is_err());
    }
}
