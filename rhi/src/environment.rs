//! Environment variables whose values are text. Variables with paths are read elsewhere: a path need not be UTF-8.

use std::ffi::OsString;

use crate::{Error, Result};

/// Reads a variable. `None` if it is not set or empty.
///
/// # Errors
/// [`Error::Environment`] if the value is not valid UTF-8.
pub fn text(variable: &'static str) -> Result<Option<String>> {
    text_of(variable, std::env::var_os(variable))
}

/// Converts the value of a variable that was read already. `None` if it is not set or empty.
///
/// # Errors
/// [`Error::Environment`] if the value is not valid UTF-8.
pub fn text_of(variable: &'static str, value: Option<OsString>) -> Result<Option<String>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    value.into_string().map(Some).map_err(|value| Error::Environment { variable, value })
}

/// Returns whether `QUADRANTS_MEMPOOL` is `0`, which turns stream-ordered memory off.
///
/// # Errors
/// [`Error::Environment`] if the value is not valid UTF-8.
pub fn memory_pools_disabled() -> Result<bool> {
    Ok(text("QUADRANTS_MEMPOOL")?.is_some_and(|value| value == "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_text_or_an_error_that_names_the_variable() {
        assert_eq!(text_of("X", None).unwrap(), None);
        assert_eq!(text_of("X", Some(OsString::new())).unwrap(), None);
        assert_eq!(text_of("X", Some("on".into())).unwrap().as_deref(), Some("on"));
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt;
            let error = text_of("X", Some(OsString::from_vec(vec![b'o', 0xff]))).unwrap_err();
            assert!(matches!(error, Error::Environment { variable: "X", .. }));
            assert_eq!(
                error.to_string(),
                "the environment variable X is not valid UTF-8: \"o\\xFF\"; help: change or unset it"
            );
        }
    }
}
