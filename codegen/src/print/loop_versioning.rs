//! Loop versioning of checked loops: iterations in the interior, which the launch has proven, run a version of the body
//! without checks. One branch per iteration is cheaper than two launches, and than a branch per access.

use quadrants_ir::{
    BlockId, LoopDim,
    abi::{Form, interior_word},
};

use super::task::TaskPrinter;

impl TaskPrinter<'_> {
    /// The condition that an iteration is in the loop's interior. None if no launch can prove one.
    pub(super) fn interior(&mut self, dims: &[LoopDim]) -> Option<String> {
        if !self.kernel.tasks[self.task.index()].schedule.interior {
            return None;
        }
        let mut word = self.interior_offset();
        let mut conditions = Vec::new();
        for dim in dims {
            let ty = self.kernel.locals[dim.var].ty.name();
            let name = self.local(dim.var);
            for (end, relation) in [("from", ">="), ("to", "<")] {
                let bound = self.fresh(&format!("{name}_{end}"));
                let field = self.argument(&format!("qd_interior[{word}]"));
                self.line(&format!("const {ty} {bound} = ({ty}){field};"));
                conditions.push(format!("{name} {relation} {bound}"));
                word += 1;
            }
        }
        Some(conditions.join(" && "))
    }

    pub(super) fn versioned_body(&mut self, inside: &str, body: BlockId) {
        self.ending(|this| {
            this.open(&format!("if ({inside}) {{"));
            this.cx.form = Form::Proven;
            this.block(body);
            this.cx.form = Form::Checked;
            this.otherwise();
            this.block(body);
            this.close();
        });
    }

    /// The position of the loop's interior among the interiors of the kernel.
    fn interior_offset(&self) -> usize {
        interior_word(self.kernel, self.task)
            - interior_word(self.kernel, quadrants_ir::TaskId::new(0))
    }
}
