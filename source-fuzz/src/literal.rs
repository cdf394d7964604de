//! Random literals without a type, as operands of casts.

use crate::{generate::Generator, types::Num};

impl Generator {
    /// A literal without a suffix, nested in constructs. rustc infers the literal's type through some of them (blocks,
    /// signs), not through others (branches).
    pub(crate) fn untyped_literal(&mut self, cast_target: Num, depth: usize) -> String {
        if self.rng.percent(25) {
            // Slightly more than 1 + 2^-24: `f32` rounds it up, and `f64` and then `f32` rounds it down.
            let literal = "1.000000059604644775390626".to_owned();
            return self.wrapped_literal(&literal, true, true, depth);
        }
        let literal = match self.rng.below(4) {
            0 => (self.rng.below(1 << 20) << self.rng.below(14)).to_string(),
            _ => self.rng.below(200).to_string(),
        };
        let allow_negation = cast_target.is_float() || cast_target.is_signed();
        self.wrapped_literal(&literal, false, allow_negation, depth)
    }

    /// `literal` in `depth` constructs. A type that rustc may infer for it has a sign if `allow_negation`.
    fn wrapped_literal(
        &mut self,
        literal: &str,
        is_float: bool,
        allow_negation: bool,
        depth: usize,
    ) -> String {
        if depth == 0 {
            return literal.to_owned();
        }
        let inner = self.wrapped_literal(literal, is_float, allow_negation, depth - 1);
        match self.rng.below(8) {
            0 if allow_negation => format!("(-{inner})"),
            1 if !is_float => format!("(!{inner})"),
            2 => {
                let cond = self.cond(1);
                format!("(if {cond} {{ {inner} }} else {{ {literal} }})")
            }
            3 => {
                let cond = self.cond(1);
                format!("(match {cond} {{ true | false => {inner} }})")
            }
            4 => format!("(match 3_u32 {{ _ => {{ {inner} }} }})"),
            5 => format!("(match 3_u32 {{ _any => {inner}, }})"),
            6 => format!("(loop {{ break {inner}; }})"),
            _ => format!("({{ {inner} }})"),
        }
    }
}
