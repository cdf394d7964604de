//! The architectures that a hipRTC supports, if it cannot be queried. They must be known in advance: the libraries of
//! ROCm 5 and 6 abort the process on an unknown name.

/// Architectures with the first version (major, minor) of ROCm whose compiler supports them.
const SINCE: &[((i32, i32), &[&str])] = &[
    (
        (5, 0),
        &[
            "gfx803", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a",
            "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1030", "gfx1031", "gfx1032",
            "gfx1033", "gfx1034", "gfx1035",
        ],
    ),
    ((5, 4), &["gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103"]),
    ((6, 0), &["gfx942"]),
    ((6, 2), &["gfx1150", "gfx1151"]),
    ((6, 3), &["gfx1200", "gfx1201"]),
    ((7, 0), &["gfx950"]),
];

/// The architectures that a version supports.
pub(super) fn of_version(version: (i32, i32)) -> Vec<String> {
    SINCE
        .iter()
        .filter(|(since, _)| *since <= version)
        .flat_map(|(_, names)| names.iter().map(|&name| name.to_owned()))
        .collect()
}

/// The processor of an architecture name, without the features after the colon: `gfx90a:xnack-`.
pub(super) fn processor(arch: &str) -> &str {
    arch.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_versions_support_more_architectures() {
        let knows = |version, arch: &str| of_version(version).iter().any(|known| known == arch);
        assert!(knows((5, 2), "gfx90a"));
        assert!(!knows((5, 2), "gfx1100"));
        assert!(knows((5, 4), "gfx1100"));
        assert!(!knows((6, 1), "gfx1200"));
        assert!(knows((7, 0), "gfx1200"));
    }

    #[test]
    fn features_are_not_part_of_the_processor() {
        assert_eq!(processor("gfx90a:sramecc+:xnack-"), "gfx90a");
        assert_eq!(processor("gfx1030"), "gfx1030");
    }
}
