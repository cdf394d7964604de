//! A reader of JSON texts (RFC 8259), for traces.
//!
//! No library: the usual one implements comparisons of its values with numbers, which makes rustc ask for types in the
//! kernels of every program that has it among its dependencies.

use std::{ops::Index, str::Chars};

/// How deep arrays and objects may be nested.
const MAX_DEPTH: u32 = 64;

/// A value. Numbers are kept as they are written.
#[derive(Debug)]
pub(super) enum JsonValue {
    Null,
    Bool,
    Number(String),
    String(String),
    Array(Vec<JsonValue>),
    Object(Vec<(String, JsonValue)>),
}

impl JsonValue {
    /// Parses a whole text. The error says what is wrong and at which byte.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { text, rest: text.chars() };
        let value = parser.value(0)?;
        parser.skip_space();
        match parser.rest.as_str() {
            "" => Ok(value),
            _ => Err(parser.error("expected the end")),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(super) fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }
}

/// The value of a member; null if there is none, and for values without members.
impl Index<&str> for JsonValue {
    type Output = Self;

    fn index(&self, name: &str) -> &Self {
        let Self::Object(members) = self else { return &Self::Null };
        members.iter().find(|(key, _)| key == name).map_or(&Self::Null, |(_, value)| value)
    }
}

struct Parser<'t> {
    text: &'t str,
    rest: Chars<'t>,
}

impl Parser<'_> {
    fn error(&self, what: &str) -> String {
        format!("{what} at byte {}", self.text.len() - self.rest.as_str().len())
    }

    fn skip_space(&mut self) {
        let rest = self.rest.as_str();
        self.rest = rest.trim_start_matches([' ', '\t', '\n', '\r']).chars();
    }

    /// Skips `token` and the space before it. Returns whether it was there.
    fn skips(&mut self, token: &str) -> bool {
        self.skip_space();
        match self.rest.as_str().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.chars();
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: u32) -> Result<JsonValue, String> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deep"));
        }
        if self.skips("null") {
            Ok(JsonValue::Null)
        } else if self.skips("true") || self.skips("false") {
            Ok(JsonValue::Bool)
        } else if self.skips("\"") {
            self.string().map(JsonValue::String)
        } else if self.skips("[") {
            let mut values = Vec::new();
            self.list("]", |this| this.value(depth + 1).map(|value| values.push(value)))?;
            Ok(JsonValue::Array(values))
        } else if self.skips("{") {
            let mut members = Vec::new();
            self.list("}", |this| {
                if !this.skips("\"") {
                    return Err(this.error("expected a name"));
                }
                let name = this.string()?;
                if !this.skips(":") {
                    return Err(this.error("expected `:`"));
                }
                members.push((name, this.value(depth + 1)?));
                Ok(())
            })?;
            Ok(JsonValue::Object(members))
        } else {
            self.number()
        }
    }

    /// Parses items with commas between them, up to `end`.
    fn list(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        if self.skips(end) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.skips(end) {
                return Ok(());
            }
            if !self.skips(",") {
                return Err(self.error(&format!("expected `,` or `{end}`")));
            }
        }
    }

    fn number(&mut self) -> Result<JsonValue, String> {
        let rest = self.rest.as_str();
        let end = rest.find(|at: char| !matches!(at, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let digits = &rest[..end.unwrap_or(rest.len())];
        let starts = digits.trim_start_matches('-').starts_with(|at: char| at.is_ascii_digit());
        if !starts || digits.ends_with('.') || digits.parse::<f64>().is_err() {
            return Err(self.error("expected a value"));
        }
        self.rest = rest[digits.len()..].chars();
        Ok(JsonValue::Number(digits.to_owned()))
    }

    /// The rest of a string after its quotation mark.
    fn string(&mut self) -> Result<String, String> {
        let mut text = String::new();
        loop {
            match self.rest.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escaped()?),
                Some(control) if control < ' ' => {
                    return Err(self.error("a control character in a text"));
                }
                Some(char) => text.push(char),
                None => return Err(self.error("a text without an end")),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        Ok(match self.rest.next() {
            Some(mark @ ('"' | '\\' | '/')) => mark,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let first = self.unit()?;
                let is_pair =
                    (0xd800..0xdc00).contains(&first) && self.rest.as_str().starts_with("\\u");
                let units = if is_pair {
                    self.rest.nth(1);
                    vec![first, self.unit()?]
                } else {
                    vec![first]
                };
                let mut decoded = char::decode_utf16(units);
                match (decoded.next(), decoded.next()) {
                    (Some(Ok(char)), None) => char,
                    _ => return Err(self.error("half a character")),
                }
            }
            _ => return Err(self.error("an unknown escape")),
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Result<u16, String> {
        let digits = self.rest.as_str().get(..4).unwrap_or_default();
        let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u16::from_str_radix(digits, 16) {
            Ok(unit) if is_hex => {
                self.rest.nth(3);
                Ok(unit)
            }
            _ => Err(self.error("expected four hexadecimal digits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let text =
            r#" {"a": [1, -2.5e3 , true, null], "b": {"c": "\u00e9\ud83d\ude00\n\"é"}, "d": {}} "#;
        let value = JsonValue::parse(text).unwrap();
        let list = value["a"].as_array().unwrap();
        assert_eq!((list[0].as_u64(), list[1].as_f64(), list.len()), (Some(1), Some(-2500.0), 4));
        assert!(list[3].is_null() && value["x"]["y"].is_null() && value["d"].as_str().is_none());
        assert_eq!(value["b"]["c"].as_str(), Some("é😀\n\"é"));
        assert_eq!(JsonValue::parse("18446744073709551615").unwrap().as_u64(), Some(u64::MAX));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "[1 2]",
            "{1:2}",
            "{\"a\"}",
            "nul",
            "1.",
            "-",
            ".5",
            "+1",
            "1e",
            "\"a",
            "\"\\x\"",
            "\"\\ud83d\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\"\n\"",
            "[] []",
            "Infinity",
            "NaN",
            "\u{a0}1",
        ] {
            assert!(JsonValue::parse(text).is_err(), "{text:?}");
        }
        let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(JsonValue::parse(&deep(60)).is_ok());
        assert!(JsonValue::parse(&deep(100_000)).is_err());
    }
}
