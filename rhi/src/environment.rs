//! What the environment says: the one place that reads variables whose values are words.
//!
//! Variables that name files or folders are paths, which need not be text.

use std::ffi::OsString;

use crate::{Error, Result};

/// The value of a variable; none where it is not set, or empty.
///
/// # Errors
/// [`Error::Environment`] where it is no text.
pub fn word(variable: &'static str) -> Result<Option<String>> {
    word_of(variable, std::env::var_os(variable))
}

/// The same of a value that was read already.
///
/// # Errors
/// [`Error::Environment`] where it is no text.
pub fn word_of(variable: &'static str, value: Option<OsString>) -> Result<Option<String>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    value.into_string().map(Some).map_err(|value| Error::Environment { variable, value })
}

/// Whether `QUADRANTS_MEMPOOL` is `0`: memory is then not allocated in stream order.
///
/// # Errors
/// [`Error::Environment`] where it is no text.
pub fn memory_pools_disabled() -> Result<bool> {
    Ok(word("QUADRANTS_MEMPOOL")?.is_some_and(|value| value == "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_text_or_an_error_that_names_the_variable() {
        assert_eq!(word_of("X", None).unwrap(), None);
        assert_eq!(word_of("X", Some(OsString::new())).unwrap(), None);
        assert_eq!(word_of("X", Some("on".into())).unwrap().as_deref(), Some("on"));
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt;
            let error = word_of("X", Some(OsString::from_vec(vec![b'o', 0xff]))).unwrap_err();
            assert!(matches!(error, Error::Environment { variable: "X", .. }));
            assert_eq!(
                error.to_string(),
                "the environment variable X is not valid UTF-8: \"o\\xFF\""
            );
        }
    }
}
