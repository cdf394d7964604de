//! Formatting of sizes, ages and counts.

use std::time::Duration;

/// A number of bytes: `17 B`, `3.4 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let (unit, size) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..0x10_0000 => ("KiB", 10),
        0x10_0000..0x4000_0000 => ("MiB", 20),
        _ => ("GiB", 30),
    };
    format!("{:.1} {unit}", bytes as f64 / (1u64 << size) as f64)
}

/// A time that has passed, in its largest unit: `3 days`.
pub(crate) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    count_of(count, unit)
}

/// A count with its noun: `1 kernel`, `2 kernels`.
pub(crate) fn count_of(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The text of an error, and the remedy that it names.
pub(crate) fn split_remedy(text: &str) -> (String, Option<String>) {
    match text.split_once("; help: ") {
        None => (text.to_owned(), None),
        Some((what, remedy)) => (what.to_owned(), Some(remedy.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_is_split_off_an_error() {
        assert_eq!(split_remedy("no; help: yes"), ("no".to_owned(), Some("yes".to_owned())));
        assert_eq!(split_remedy("no"), ("no".to_owned(), None));
    }

    #[test]
    fn numbers_have_the_unit_that_fits() {
        let texts = [0, 1023, 1024, 1536, (1 << 20) - 1, 1 << 20, 80 << 30].map(bytes);
        assert_eq!(
            texts,
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1024.0 KiB", "1.0 MiB", "80.0 GiB"]
        );
        let ages = [0, 1, 59, 60, 7199, 86_399, 86_400, 259_200];
        assert_eq!(
            ages.map(|seconds| age(Duration::from_secs(seconds))),
            [
                "0 seconds",
                "1 second",
                "59 seconds",
                "1 minute",
                "1 hour",
                "23 hours",
                "1 day",
                "3 days"
            ]
        );
    }
}
