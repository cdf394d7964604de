//! Random statements.

use crate::{
    generate::{FuncArg, Generator, Jump, TensorVar},
    types::{Num, Ty},
};

impl Generator {
    /// `{ statements value }`
    pub(crate) fn body_of(&mut self, ty: &Ty, depth: usize) -> String {
        let mark = self.mark();
        let mut text = String::from("{ ");
        if depth > 0 && self.rng.percent(35) {
            for _ in 0..self.rng.within(1, 2) {
                text.push_str(&self.binding(depth - 1));
            }
        }
        text.push_str(&self.expr(ty, depth));
        text.push_str(" }");
        self.release(mark);
        text
    }

    /// `{ statements }`
    pub(crate) fn body(&mut self, count: usize, depth: usize) -> String {
        let mark = self.mark();
        let mut text = String::from("{\n");
        text.push_str(&self.statements(count, depth));
        text.push_str("}\n");
        self.release(mark);
        text
    }

    pub(crate) fn statements(&mut self, count: usize, depth: usize) -> String {
        (0..count).map(|_| self.statement(depth)).collect()
    }

    pub(crate) fn statement(&mut self, depth: usize) -> String {
        self.calls = 0;
        match self.rng.below(20) {
            0..4 => self.binding(depth),
            4..8 => self.assignment(depth).unwrap_or_else(|| self.binding(depth)),
            8 if depth > 0 => self.branches(depth - 1),
            9 if depth > 0 => self.cases(depth - 1),
            10 | 11 if depth > 0 && self.loops < 2 => match self.rng.percent(25) {
                true => self.element_loop(depth - 1),
                false => self.for_loop(depth - 1),
            },
            12 if depth > 0 && self.loops < 2 => self.while_loop(depth - 1),
            13 if depth > 0 && self.loops < 2 => self.endless_loop(depth - 1),
            14 => self.jump().unwrap_or_else(|| self.binding(depth)),
            15 => self.assertion(),
            16 => self.constant(),
            17 if self.rng.percent(40) => {
                self.assigned_pair(depth).unwrap_or_else(|| self.binding(depth))
            }
            17 => self.changed(depth).unwrap_or_else(|| self.binding(depth)),
            18 => self.write(depth).unwrap_or_else(|| self.binding(depth)),
            _ if depth > 0 && self.rng.percent(60) => self.labelled(depth - 1),
            _ => {
                self.hit("stmt.block");
                self.body(1, depth.saturating_sub(1))
            }
        }
    }

    /// A `let`.
    pub(crate) fn binding(&mut self, depth: usize) -> String {
        let odd = match self.rng.below(14) {
            0 => self.extents(),
            1 => self.let_or_leave(),
            _ => None,
        };
        if let Some(text) = odd {
            return text;
        }
        let ty = self.some_type(2);
        let value = self.expr(&ty, depth);
        if let Some(pattern) = self.destructuring(&ty) {
            return format!("let {pattern} = {value};\n");
        }
        let name = self.name();
        let mutable = self.rng.percent(60);
        let written = if self.rng.percent(40) {
            self.hit("stmt.let.typed");
            format!(": {}", self.text(&ty))
        } else {
            self.hit("stmt.let");
            String::new()
        };
        self.bind(&name, ty, mutable);
        let word = if mutable { "let mut" } else { "let" };
        format!("{word} {name}{written} = {value};\n")
    }

    /// `let` with a value in which one branch leaves the function or the iteration.
    fn let_or_leave(&mut self) -> Option<String> {
        let (ty, cond) = (Ty::Num(self.some_num()), self.cond(1));
        let value = self.expr(&ty, 1);
        let leave = if let Some(ret) = self.frame.ret.clone() {
            let value = self.expr(&ret, 1);
            format!("return {value};")
        } else if self.frame.jumps.last().is_some_and(|jump| !jump.closed && !jump.block) {
            "continue;".to_owned()
        } else {
            return None;
        };
        self.hit("stmt.let.leaving");
        let name = self.name();
        self.bind(&name, ty, true);
        Some(format!("let mut {name} = if {cond} {{ {value} }} else {{ {leave} }};\n"))
    }

    /// A `let` of a tensor's extents, by a pattern or by a name.
    fn extents(&mut self) -> Option<String> {
        // An atomic borrows its tensor while its operand is evaluated.
        let borrowed = |tensor: &&TensorVar| tensor.writable && tensor.own.is_none();
        let fitting: Vec<_> =
            self.frame.tensors.iter().filter(|t| t.rank > 0 && !borrowed(t)).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let tensor = self.rng.pick(&fitting).clone();
        if self.rng.percent(50) {
            self.hit("pattern.shape");
            let names: Vec<_> = (0..tensor.rank).map(|_| self.unique("h")).collect();
            for name in &names {
                self.bind(name, Ty::USIZE, false);
            }
            return Some(format!("let [{}] = {}.shape();\n", names.join(", "), tensor.name));
        }
        self.hit("stmt.let.shape");
        let (shape, extent) = (self.unique("shape"), self.unique("h"));
        self.bind(&extent, Ty::USIZE, false);
        let axis = self.rng.below(tensor.rank);
        Some(format!("let {shape} = {}.shape();\nlet {extent} = {shape}[{axis}];\n", tensor.name))
    }

    /// A pattern that destructures a value. Binds its names.
    fn destructuring(&mut self, ty: &Ty) -> Option<String> {
        if !self.rng.percent(50) {
            return None;
        }
        match ty {
            Ty::Tuple(of) => {
                self.hit("pattern.tuple");
                let parts: Vec<_> = of.clone().iter().map(|of| self.bound(of)).collect();
                Some(format!("({},)", parts.join(", ")))
            }
            Ty::Array(of, count) => {
                self.hit("pattern.array");
                let of = (**of).clone();
                let parts: Vec<_> = (0..*count).map(|_| self.bound(&of)).collect();
                Some(format!("[{}]", parts.join(", ")))
            }
            Ty::Struct(number) => {
                let of = self.structs[*number].clone();
                if of.tuple {
                    self.hit("pattern.struct.tuple");
                    let parts: Vec<_> = of.fields.iter().map(|(_, of)| self.bound(of)).collect();
                    return Some(format!("{}({})", of.name, parts.join(", ")));
                }
                self.hit("pattern.struct.named");
                let mut parts = Vec::new();
                for (name, of) in &of.fields {
                    parts.push(format!("{name}: {}", self.bound(of)));
                }
                if parts.len() > 1 && self.rng.percent(30) {
                    parts.pop();
                    parts.push("..".to_owned());
                    // The last name is not in the pattern: nothing may use it.
                    self.frame.vars.pop();
                }
                Some(format!("{} {{ {} }}", of.name, parts.join(", ")))
            }
            _ => None,
        }
    }

    fn bound(&mut self, ty: &Ty) -> String {
        let name = self.unique("w");
        let mutable = self.rng.percent(40);
        self.bind(&name, ty.clone(), mutable);
        if mutable { format!("mut {name}") } else { name }
    }

    /// An assignment to a local or a part of one.
    fn assignment(&mut self, depth: usize) -> Option<String> {
        let mutable: Vec<_> = self.frame.vars.iter().filter(|var| var.mutable).collect();
        let ty = if self.rng.percent(60) || mutable.is_empty() {
            Ty::Num(self.some_num())
        } else {
            self.rng.pick(&mutable).ty.clone()
        };
        let place = self.place(&ty, true)?;
        Some(self.assigned(&place, &ty, depth))
    }

    fn assigned(&mut self, place: &str, ty: &Ty, depth: usize) -> String {
        let op = match ty {
            Ty::Num(num) if self.rng.percent(50) => {
                self.hit("stmt.assign.compound");
                let ops: &[&str] = match num.is_float() {
                    true => &["+=", "-=", "*=", "/="],
                    false => &["+=", "-=", "*=", "&=", "|=", "^=", "/=", "%=", "<<=", ">>="],
                };
                *self.rng.pick(ops)
            }
            Ty::Bool if self.rng.percent(30) => {
                self.hit("stmt.assign.compound");
                *self.rng.pick(&["&=", "|=", "^="])
            }
            Ty::Vector(..) if !place.contains('[') && self.rng.percent(40) => {
                self.hit("stmt.assign.vector");
                *self.rng.pick(&["+=", "-="])
            }
            _ => {
                self.hit("stmt.assign");
                "="
            }
        };
        let value = match (op, ty) {
            ("/=" | "%=", Ty::Num(num)) if !num.is_float() => self.rng.within(1, 90).to_string(),
            ("<<=" | ">>=", _) => self.rng.below(8).to_string(),
            _ => self.expr(ty, depth),
        };
        format!("{place} {op} {value};\n")
    }

    /// A write to the iteration's own element.
    pub(crate) fn write(&mut self, depth: usize) -> Option<String> {
        let own: Vec<_> =
            self.frame.tensors.iter().filter(|t| t.writable && t.own.is_some()).cloned().collect();
        if own.is_empty() {
            return None;
        }
        let tensor = self.rng.pick(&own).clone();
        Some(self.write_to(&tensor.name, depth))
    }

    pub(crate) fn write_to(&mut self, name: &str, depth: usize) -> String {
        let of = self.frame.tensors.iter().find(|t| t.name == name).cloned();
        let Some((of, Some(own))) = of.map(|of| (of.clone(), of.own)) else { return String::new() };
        let fitting: Vec<_> =
            self.writers.iter().filter(|(_, ty)| *ty == of.elem).cloned().collect();
        if of.rank == 1 && !fitting.is_empty() && self.rng.percent(40) {
            self.hit("stmt.write.func");
            let (func, ty) = self.rng.pick(&fitting).clone();
            let value = self.expr(&ty, depth);
            let old = self.unique("old");
            self.bind(&old, ty, false);
            // The race check of a call considers only its tensor, hence `unsafe`.
            return format!("let {old} = unsafe {{ {func}({name}, {own}, {value}) }};\n");
        }
        self.hit("stmt.write");
        let place = format!("{name}[{own}]");
        if let Ty::Struct(number) = &of.elem
            && self.rng.percent(40)
        {
            self.hit("stmt.write.field");
            let fields = self.structs[*number].fields.clone();
            let (field, ty) = self.rng.pick(&fields).clone();
            return self.assigned(&format!("{place}.{field}"), &ty, depth);
        }
        self.assigned(&place, &of.elem, depth)
    }

    fn branches(&mut self, depth: usize) -> String {
        self.hit("stmt.if");
        let cond = self.cond(depth);
        let count = self.rng.within(1, 2);
        let yes = self.body(count, depth);
        if self.rng.percent(50) {
            self.hit("stmt.if.else");
            let no = self.body(1, depth);
            return format!("if {cond} {yes} else {no}");
        }
        format!("if {cond} {yes}")
    }

    fn cases(&mut self, depth: usize) -> String {
        self.hit("stmt.match");
        let num = *self.rng.pick(&Num::INTS);
        let value = self.expr(&Ty::Num(num), depth);
        let on = self.name();
        let mark = self.mark();
        self.bind(&on, Ty::Num(num), false);
        let mut text = format!("{{ let {on}: {} = {value};\nmatch {on} {{\n", num.name());
        for _ in 0..self.rng.within(1, 2) {
            let pattern = self.pattern(num);
            let body = self.body(1, depth);
            text.push_str(&format!("{pattern} => {body}"));
        }
        let body = self.body(1, depth);
        text.push_str(&format!("_ => {body} }} }}\n"));
        self.release(mark);
        text
    }

    /// An inner `for`.
    fn for_loop(&mut self, depth: usize) -> String {
        let name = if self.pool.is_empty() { self.unique("k") } else { self.name() };
        let num = *self.rng.pick(&[Num::Usize, Num::Usize, Num::I32, Num::U32, Num::U8]);
        let end = self.rng.within(1, 5);
        let range = match self.rng.below(8) {
            0 => {
                self.hit("loop.closed");
                format!("0..={end}{}", num.name())
            }
            1 => {
                self.hit("loop.reversed");
                format!("(0..{end}{}).rev()", num.name())
            }
            2 => {
                self.hit("loop.stepped");
                format!("(0..{}{}).step_by({})", 2 * end, num.name(), self.rng.within(1, 3))
            }
            3 => {
                self.hit("loop.stepped.reversed");
                format!("(1..{}{}).rev().step_by(2)", 2 * end, num.name())
            }
            4 | 5 => {
                self.hit("loop.bounded");
                let of = self.leaf(&Ty::Num(num)).text;
                format!("0..({of} & 3)")
            }
            _ => {
                self.hit("loop.range");
                format!("{}..{}{}", self.rng.below(2), end, num.name())
            }
        };
        let unroll = if self.rng.percent(12) && !range.contains('&') {
            self.hit("loop.unroll");
            *self.rng.pick(&["#[qd::unroll]\n", "#[qd::unroll(2)]\n"])
        } else {
            ""
        };
        let label = self.begin_loop(true);
        let mark = self.mark();
        self.bind(&name, Ty::Num(num), false);
        let count = self.rng.within(1, 2);
        let body = self.body(count, depth);
        self.release(mark);
        self.end_loop();
        format!("{unroll}{label}for {name} in {range} {body}")
    }

    fn while_loop(&mut self, depth: usize) -> String {
        self.hit("loop.while");
        let name = self.unique("n");
        let most = self.rng.within(1, 5);
        self.closed();
        let cond = if self.rng.percent(40) {
            format!(" && ({})", self.cond(depth.min(1)))
        } else {
            String::new()
        };
        self.frame.jumps.pop();
        let (label, body) = self.loop_body(&name, depth);
        format!(
            "{{ let mut {name} = 0usize;\n{label}while {name} < {most}{cond} {{ {name} += 1;\n{body} }} }}\n"
        )
    }

    /// The label and a statement of a loop that counts its iterations in `name`.
    fn loop_body(&mut self, name: &str, depth: usize) -> (String, String) {
        let label = self.begin_loop(true);
        let mark = self.mark();
        self.bind(name, Ty::USIZE, false);
        let body = self.statements(1, depth);
        self.release(mark);
        self.end_loop();
        (label, body)
    }

    fn endless_loop(&mut self, depth: usize) -> String {
        self.hit("loop.loop");
        let name = self.unique("n");
        let most = self.rng.within(1, 4);
        let (label, body) = self.loop_body(&name, depth);
        format!(
            "{{ let mut {name} = 0usize;\n{label}loop {{ {name} += 1;\nif {name} > {most} {{ break; }}\n{body} }} }}\n"
        )
    }

    /// Begins a loop, and returns the text of its label.
    pub(crate) fn begin_loop(&mut self, breaks: bool) -> String {
        self.loops += 1;
        let label = self.rng.percent(35).then(|| self.label());
        let text = label.as_ref().map(|label| format!("{label}: ")).unwrap_or_default();
        self.frame.jumps.push(Jump { label, breaks, closed: false, block: false });
        text
    }

    /// A block that a `break` may leave.
    fn labelled(&mut self, depth: usize) -> String {
        self.hit("stmt.block.label");
        let label = self.label();
        let of = Some(label.clone());
        self.frame.jumps.push(Jump { label: of, breaks: true, closed: false, block: true });
        let (cond, count) = (self.cond(1), self.rng.within(1, 2));
        let mark = self.mark();
        let mut text = self.statements(count, depth);
        if self.rng.percent(70) {
            let inner = self.mark();
            let before = if self.rng.percent(40) { self.statement(0) } else { String::new() };
            self.release(inner);
            text.push_str(&format!("if {cond} {{ {before} break {label}; }}\n"));
        }
        text.push_str(&self.statement(depth));
        self.release(mark);
        self.frame.jumps.pop();
        format!("#[allow(unused_labels)]\n{label}: {{\n{text}}}\n")
    }

    pub(crate) fn end_loop(&mut self) {
        self.loops -= 1;
        self.frame.jumps.pop();
    }

    /// `break`, `continue` or `return` under a condition.
    fn jump(&mut self) -> Option<String> {
        let cond = self.cond(1);
        if let Some(ty) = self.frame.ret.clone()
            && self.rng.percent(50)
        {
            self.hit("stmt.return");
            let value = self.expr(&ty, 1);
            return Some(format!("if {cond} {{ return {value}; }}\n"));
        }
        let (jump, breaks) = self.out_of_loop()?;
        self.hit(if breaks { "stmt.break" } else { "stmt.continue" });
        Some(format!("if {cond} {{ {jump}; }}\n"))
    }

    /// `break` or `continue` of an enclosing loop, and whether it is `break`.
    pub(crate) fn out_of_loop(&mut self) -> Option<(String, bool)> {
        let last = self.frame.jumps.len().checked_sub(1)?;
        let at = if self.rng.percent(60) { last } else { self.rng.below(last + 1) };
        let Jump { label, breaks, closed, block } = self.frame.jumps[at].clone();
        let of = match (at == last, label) {
            _ if closed => return None,
            (_, Some(label)) => {
                self.hit("stmt.jump.label");
                format!(" {label}")
            }
            (true, None) => String::new(),
            (false, None) => return None,
        };
        let breaks = block || breaks && self.rng.percent(50);
        Some((format!("{}{of}", if breaks { "break" } else { "continue" }), breaks))
    }

    /// Begins code that may contain no jump without a label: a loop that only its own jumps leave, or a condition.
    pub(crate) fn closed(&mut self) {
        self.frame.jumps.push(Jump { label: None, breaks: false, closed: true, block: false });
    }

    fn assertion(&mut self) -> String {
        self.hit("stmt.assert");
        let cond = if self.rng.percent(15) {
            self.hit("stmt.assert.wild");
            self.cond(1)
        } else {
            let value = self.leaf(&Ty::Num(Num::U32)).text;
            format!("({value}) | 1 != 0")
        };
        if self.rng.percent(50) {
            self.hit("stmt.assert.message");
            return format!("assert!({cond}, \"as said\");\n");
        }
        format!("assert!({cond});\n")
    }

    fn constant(&mut self) -> String {
        self.hit("stmt.const");
        let name = self.unique("LOCAL");
        let num = self.some_num();
        let value = if num.is_float() {
            format!("{}.5", self.rng.below(50))
        } else {
            format!("{} + {}", self.rng.below(50), self.rng.below(50))
        };
        self.bind(&name, Ty::Num(num), false);
        format!("const {name}: {} = {value};\n", num.name())
    }

    /// A call of a method that changes its receiver.
    fn changed(&mut self, depth: usize) -> Option<String> {
        let all: Vec<_> =
            self.funcs.iter().filter(|f| matches!(f.receiver, Some((_, true)))).cloned().collect();
        if all.is_empty() {
            return None;
        }
        let func = self.rng.pick(&all).clone();
        let (of, _) = func.receiver.clone()?;
        let (mut before, mut place) = (String::new(), self.place(&of, true));
        if place.as_ref().is_none_or(|place| place.contains('[')) {
            let (value, name) = (self.expr(&of, 1), self.unique("m"));
            self.bind(&name, of.clone(), true);
            before = format!("let mut {name} = {value};\n");
            place = Some(name);
        }
        let place = place?;
        self.hit("stmt.method.mut");
        let mut args = Vec::new();
        for arg in &func.args {
            if let FuncArg::Value(ty) = arg {
                args.push(self.expr(ty, depth.min(1)));
            }
        }
        let name = self.name();
        let call = format!("{place}.{}({})", func.path, args.join(", "));
        self.bind(&name, func.ret, false);
        Some(format!("{before}let {name} = {call};\n"))
    }
}
