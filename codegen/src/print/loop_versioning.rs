//! Checked loops of which a launch proves a part: an iteration asks once whether it is there, and then
//! runs a body without checks. That is cheaper than a launch for each part, and than a branch per access.

use quadrants_ir::{
    BlockId, LoopDim,
    abi::{Form, inside_word},
    launch_analysis::may_split,
};

use super::{task::TaskPrinter, types};

impl TaskPrinter<'_> {
    /// Whether an iteration is in the loop's interior, as text. None where no launch can know.
    pub(super) fn interior(&mut self, dims: &[LoopDim]) -> Option<String> {
        if self.cx.form != Form::Checked || !may_split(self.kernel, self.task) {
            return None;
        }
        let mut word = self.inside_number();
        let mut conditions = Vec::new();
        for dim in dims {
            let ty = types::name(self.kernel.locals[dim.var].ty);
            let name = self.local(dim.var);
            for (end, relation) in [("from", ">="), ("to", "<")] {
                let bound = self.fresh(&format!("{name}_{end}"));
                let field = self.argument(&format!("qd_inside[{word}]"));
                self.line(&format!("const {ty} {bound} = ({ty}){field};"));
                conditions.push(format!("{name} {relation} {bound}"));
                word += 1;
            }
        }
        Some(conditions.join(" && "))
    }

    /// The body of an iteration in both forms.
    pub(super) fn split(&mut self, inside: &str, body: BlockId) {
        self.ending(|this| {
            this.line(&format!("if ({inside}) {{"));
            this.cx.form = Form::Proven;
            this.indented(|this| this.block(body));
            this.cx.form = Form::Checked;
            this.line("} else {");
            this.indented(|this| this.block(body));
            this.line("}");
        });
    }

    /// Where the interior of the loop is among those of the kernel.
    fn inside_number(&self) -> usize {
        inside_word(self.kernel, self.task) - inside_word(self.kernel, quadrants_ir::TaskId::new(0))
    }
}
