//! Random loops that have a value.

use crate::{
    fragment::{BLOCK, Fragment, fragment},
    generate::Generator,
    types::Ty,
};

impl Generator {
    /// `loop { … break value; }`
    pub(crate) fn loop_value(&mut self, ty: &Ty, depth: usize) -> Fragment {
        if self.loops > 1 {
            return self.leaf(ty);
        }
        self.hit("expr.loop");
        let count = self.name();
        let mark = self.mark();
        self.bind(&count, Ty::USIZE, false);
        self.loops += 1;
        self.closed();
        let early = self.cond(depth.min(1));
        let (first, last) = (self.expr(ty, depth), self.expr(ty, depth));
        self.frame.jumps.pop();
        self.loops -= 1;
        self.release(mark);
        let most = self.rng.within(1, 4);
        let label = if self.rng.percent(40) {
            self.hit("expr.loop.label");
            self.label()
        } else {
            String::new()
        };
        let (with, of) = if label.is_empty() {
            (String::new(), String::new())
        } else {
            (format!("{label}: "), format!(" {label}"))
        };
        fragment(
            BLOCK,
            format!(
                "{{ let mut {count} = 0usize; {with}loop {{ if {early} {{ break{of} ({first}); }} {count} += 1; if {count} >= {most} {{ break{of} ({last}); }} }} }}"
            ),
        )
    }
}
