//! A random kernel, and the function that runs it.

use std::fmt::Write as _;

use crate::{
    generate::{Generator, Param, TensorVar},
    types::{Num, Ty},
};

/// A parameter of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum KernelParam {
    Value(Ty),
    /// A tensor: its element type, its extents, and whether it is written.
    Tensor(Ty, Vec<usize>, bool),
    /// A struct of tensors: name, element type, extents and access of each field.
    Group(Vec<(String, Ty, Vec<usize>, bool)>),
}

/// The text of a kernel, and of the function that runs it.
#[derive(Debug)]
pub(crate) struct KernelText {
    pub(crate) kernel: String,
    pub(crate) run: String,
}

impl Generator {
    /// A kernel. `generics` are its generic parameters, `instance` the arguments of its call, `extra` the parameters
    /// of a trap.
    pub(crate) fn kernel(
        &mut self,
        generics: &str,
        instance: &str,
        extra: &[(String, Ty)],
    ) -> KernelText {
        let (extent, wide) = (self.rng.within(4, 14), self.rng.within(2, 5));
        let mut params: Vec<(String, KernelParam)> = Vec::new();
        for (name, ty) in extra {
            params.push((name.clone(), KernelParam::Value(ty.clone())));
        }
        for at in 0..self.rng.within(0, 3) {
            let ty = self.some_type(1);
            let name = if self.pool.is_empty() || at > 0 {
                format!("p{at}")
            } else {
                self.pool[0].clone()
            };
            params.push((name, KernelParam::Value(ty)));
        }
        for at in 0..self.rng.within(1, 3) {
            let (elem, shape) = (self.some_type(1), self.some_shape(extent, wide));
            params.push((format!("x{at}"), KernelParam::Tensor(elem, shape, false)));
        }
        for at in 0..self.rng.within(1, 3) {
            let (elem, shape) = (self.some_type(1), self.some_shape(extent, wide));
            let written = self.rng.below(3);
            let (elem, shape) = match self.writers.get(written) {
                Some((_, ty)) => (ty.clone(), vec![extent]),
                None => (elem, shape),
            };
            params.push((format!("y{at}"), KernelParam::Tensor(elem, shape, true)));
        }
        let sums = self.rng.percent(25);
        if sums {
            params.push(("sums".to_owned(), KernelParam::Tensor(Ty::Num(Num::I32), vec![3], true)));
        }
        let group = if self.rng.percent(18) { self.group(&mut params) } else { String::new() };
        let forced = self.forced(extent, &mut params);
        let strips = self.strips(&mut params);
        let mut header = Vec::new();
        for (name, given) in &params {
            match given {
                KernelParam::Value(ty) => {
                    header.push(format!("{name}: {}", self.text(ty)));
                    self.bind(name, ty.clone(), false);
                }
                KernelParam::Tensor(elem, shape, writable) => {
                    let by = if *writable { "&mut " } else { "&" };
                    let rank = shape.len();
                    header.push(format!("{name}: {by}Tensor<{}, {rank}>", self.text(elem)));
                    let (name, elem, writable) = (name.clone(), elem.clone(), *writable);
                    self.frame.tensors.push(TensorVar { name, elem, rank, writable, own: None });
                }
                KernelParam::Group(fields) => {
                    let by =
                        if fields.iter().any(|(.., writable)| *writable) { "&mut " } else { "&" };
                    header.push(format!("{name}: {by}Group<'_>"));
                    for (field, elem, shape, writable) in fields {
                        let (name, elem, rank) =
                            (format!("{name}.{field}"), elem.clone(), shape.len());
                        let var = TensorVar { name, elem, rank, writable: *writable, own: None };
                        self.frame.tensors.push(var);
                    }
                }
            }
        }
        self.hoisting = self.rng.percent(25);
        let blocks = self.rng.percent(15);
        let result = (!blocks && self.rng.percent(35)).then(|| self.some_num());
        let mut body = self.top(blocks, sums, result);
        let strips: Vec<_> = strips.iter().map(|strip| self.strip_loop(strip)).collect();
        for each in forced.into_iter().chain(strips) {
            let _ = if blocks {
                writeln!(body, "qd::stream_parallel(|| {{ {each} }});")
            } else {
                writeln!(body, "{each}")
            };
        }
        let result = if let Some(num) = result {
            self.hit("kernel.value");
            for tensor in &mut self.frame.tensors {
                tensor.own = Some(fixed_index(tensor.rank));
            }
            body.push_str(&self.expr(&Ty::Num(num), 2));
            format!(" -> {}", num.name())
        } else {
            String::new()
        };
        self.hoisting = false;
        let header = header.join(", ");
        let mut kernel = format!(
            "#[qd::kernel(strict)]\npub fn kernel{generics}({header}){result} {{\n{body}\n}}\n"
        );
        let operands = std::mem::take(&mut self.operands);
        if !operands.is_empty() {
            self.hit("macro.kernel");
            let params: Vec<_> = (0..operands.len()).map(|at| format!("$e{at}:expr")).collect();
            kernel = format!(
                "macro_rules! made {{ ({}) => {{\n{kernel}}} }}\nmade!({});\n",
                params.join(", "),
                operands.join(", ")
            );
        }
        kernel.insert_str(0, &group);
        let run = run(&params, instance);
        KernelText { kernel, run }
    }

    /// Loops that only use the colliding names. Adds the tensors that they write to the parameters.
    fn forced(&mut self, extent: usize, params: &mut Vec<(String, KernelParam)>) -> Vec<String> {
        let mut loops = Vec::new();
        for (at, (ty, text)) in self.collisions.clone().into_iter().enumerate() {
            if at < 4 && self.rng.percent(85) {
                self.hit("collision.value");
                params.push((format!("e{at}"), KernelParam::Tensor(ty, vec![extent], true)));
                loops.push(format!("for i in 0..e{at}.len() {{ e{at}[i] = {text}; }}"));
            }
        }
        for (at, text) in self.equal_indices.clone().into_iter().enumerate() {
            if at < 3 && self.rng.percent(85) {
                self.hit("collision.index");
                params.push((format!("s{at}"), KernelParam::Tensor(Ty::USIZE, vec![extent], true)));
                let index = text.replace('@', "i");
                loops.push(format!("for i in 0..s{at}.len() {{ s{at}[{index}] = i + 1; }}"));
            }
        }
        loops
    }

    /// Moves some of the tensors into a struct of tensors, which becomes the last parameter. Returns the struct.
    fn group(&mut self, params: &mut Vec<(String, KernelParam)>) -> String {
        let (mut fields, mut kept) = (Vec::new(), Vec::new());
        for (name, given) in params.drain(..) {
            match given {
                KernelParam::Tensor(elem, shape, writable)
                    if name != "sums" && !elem.has_param() && self.rng.percent(60) =>
                {
                    fields.push((name, elem, shape, writable));
                }
                given => kept.push((name, given)),
            }
        }
        *params = kept;
        if fields.is_empty() {
            return String::new();
        }
        self.hit("kernel.group");
        let mut text = String::from("#[derive(qd::Tensors)]\npub struct Group<'a> {\n");
        for (name, elem, shape, writable) in &fields {
            let by = if *writable { "mut " } else { "" };
            let (elem, rank) = (self.text(elem), shape.len());
            let _ = writeln!(text, "pub {name}: &'a {by}Tensor<{elem}, {rank}>,");
        }
        text.push_str("}\n");
        params.push(("g".to_owned(), KernelParam::Group(fields)));
        text
    }

    fn some_shape(&mut self, extent: usize, wide: usize) -> Vec<usize> {
        match self.rng.below(15) {
            12 => {
                self.hit("kernel.tensor.scalar");
                vec![]
            }
            13 => {
                self.hit("kernel.tensor.high_rank");
                let mut shape = vec![extent, wide, 2, 2, 1, 2];
                shape.truncate(self.rng.within(4, 6));
                shape
            }
            0 => vec![extent, wide, 2],
            1 | 2 => vec![extent, wide],
            _ => vec![extent],
        }
    }

    /// The statements at a kernel's top level.
    fn top(&mut self, blocks: bool, sums: bool, result: Option<Num>) -> String {
        let mut body = String::new();
        let outputs: Vec<_> = self
            .frame
            .tensors
            .iter()
            .filter(|t| t.writable && (t.name.starts_with('y') || t.name.starts_with("g.y")))
            .cloned()
            .collect();
        if self.rng.percent(60) && !blocks {
            body.push_str(&self.binding(2));
        }
        if blocks {
            for output in &outputs {
                self.hit("kernel.stream_parallel");
                let text = self.in_branches(&mut |this| match output.rank {
                    0 => this.single(&output.name),
                    rank => this.parallel(&output.name, rank),
                });
                let call = *self.rng.pick(&["qd::stream_parallel", "quadrants::stream_parallel"]);
                let _ = writeln!(body, "{call}(|| {{\n{text}}});");
            }
            return body;
        }
        for output in &outputs {
            let text = self.in_branches(&mut |this| match this.rng.below(12) {
                _ if output.rank == 0 => this.single(&output.name),
                0 => this.serial(&output.name, output.rank),
                1 if output.rank == 1 && is_wide(&output.elem) => {
                    this.block_for(&output.name, &output.elem)
                }
                _ => this.parallel(&output.name, output.rank),
            });
            body.push_str(&text);
            if self.rng.percent(12) {
                body.push_str(&self.leave(result));
            }
            if self.rng.percent(25) {
                body.push_str(&self.binding(2));
            }
            if self.rng.percent(10) {
                self.hit("kernel.serial");
                body.push_str(&self.branches_at_top());
            }
        }
        if sums {
            let over =
                outputs.iter().find(|output| output.rank > 0).map(|output| output.name.clone());
            if let Some(over) = over {
                body.push_str(&self.reduction(&over));
            }
        }
        body
    }

    fn branches_at_top(&mut self) -> String {
        let cond = self.cond(2);
        // Such a loop would be parallel.
        self.loops += 2;
        let body = self.body(1, 1);
        self.loops -= 2;
        format!("if {cond} {body}")
    }

    /// Lets the current code access only one element of an output.
    fn set_own(&mut self, output: &str, index: &str) {
        for tensor in &mut self.frame.tensors {
            tensor.own = (tensor.name == output).then(|| index.to_owned());
        }
    }

    fn clear_own(&mut self) {
        self.frame.tensors.iter_mut().for_each(|tensor| tensor.own = None);
    }

    /// A statement that writes the element of a tensor without dimensions.
    fn single(&mut self, output: &str) -> String {
        self.hit("kernel.serial.single");
        self.set_own(output, "[]");
        let text = self.write_to(output, 3);
        self.clear_own();
        text
    }

    /// A parallel loop that writes an output.
    fn parallel(&mut self, output: &str, rank: usize) -> String {
        let frozen = self.freeze();
        let mark = self.mark();
        let (names, header, own) =
            if rank == 1 { self.line(output) } else { self.plane(output, rank) };
        for name in &names {
            self.bind(name, Ty::USIZE, false);
        }
        self.frame.index = names;
        self.set_own(output, &own);
        let label = self.begin_loop(false);
        self.loops -= 1;
        let count = self.rng.within(1, 4);
        let mut body = self.statements(count, 3);
        body.push_str(&self.write_to(output, 4));
        self.frame.jumps.pop();
        self.release(mark);
        self.thaw(&frozen);
        self.frame.index.clear();
        self.clear_own();
        let attribute = if self.rng.percent(10) {
            self.hit("kernel.block_size");
            "#[qd::block_size(64)]\n"
        } else {
            ""
        };
        format!("{attribute}{label}for {header} {{\n{body}}}\n")
    }

    /// A loop over one dimension: its variables, its header and the index that the iteration owns.
    fn line(&mut self, output: &str) -> (Vec<String>, String, String) {
        let name =
            if self.pool.is_empty() { self.unique("i") } else { self.rng.pick(&self.pool).clone() };
        let (range, own) = match self.rng.below(10) {
            0 => {
                self.hit("kernel.loop.reversed");
                (format!("(0..{output}.len()).rev()"), name.clone())
            }
            1 => {
                self.hit("kernel.loop.stepped");
                (format!("(0..{output}.len()).step_by(2)"), name.clone())
            }
            2 => {
                self.hit("kernel.loop.closed");
                (format!("0..={output}.len() - 1"), name.clone())
            }
            3 => {
                self.hit("kernel.loop.from");
                (format!("1..{output}.len()"), format!("{name} - 1"))
            }
            4 => {
                self.hit("kernel.loop.scaled");
                (format!("0..{output}.len() / 2"), format!("2 * {name} + 1"))
            }
            5 => {
                self.hit("kernel.loop.shape");
                (format!("0..{output}.shape()[0]"), name.clone())
            }
            _ => {
                self.hit("kernel.loop");
                let own = self.same_index_to_write(&name);
                (format!("0..{output}.len()"), own)
            }
        };
        let header = format!("{name} in {range}");
        (vec![name], header, own)
    }

    fn plane(&mut self, output: &str, rank: usize) -> (Vec<String>, String, String) {
        // A loop has up to three dimensions; further ones of the tensor have a constant index.
        let dims = rank.min(3);
        let names: Vec<_> = (0..dims).map(|_| self.unique("i")).collect();
        let all = names.join(", ");
        let header = if rank == dims && self.rng.percent(60) {
            self.hit("kernel.ndrange.shape");
            format!("({all}) in qd::ndrange({output}.shape())")
        } else {
            self.hit("kernel.ndrange.ranges");
            let ranges: Vec<_> =
                (0..dims).map(|axis| format!("{}..{output}.shape()[{axis}]", axis % 2)).collect();
            format!("({all}) in qd::ndrange(({}))", ranges.join(", "))
        };
        let own = format!("[{all}{}]", ", 0".repeat(rank - dims));
        (names, header, own)
    }

    /// A serial loop.
    fn serial(&mut self, output: &str, rank: usize) -> String {
        self.hit("kernel.serial.loop");
        let name = self.unique("i");
        let mark = self.mark();
        self.bind(&name, Ty::USIZE, false);
        let own = match rank {
            1 => name.clone(),
            2 => format!("[{name}, 0]"),
            _ => format!("[{name}, 0, 1{}]", ", 0".repeat(rank - 3)),
        };
        self.set_own(output, &own);
        self.frame.index = vec![name.clone()];
        let label = self.begin_loop(true);
        let mut body = self.statements(2, 2);
        body.push_str(&self.write_to(output, 3));
        self.end_loop();
        self.release(mark);
        self.frame.index.clear();
        self.clear_own();
        let extent =
            if rank == 1 { format!("{output}.len()") } else { format!("{output}.shape()[0]") };
        format!("#[qd::serial]\n{label}for {name} in 0..{extent} {{\n{body}}}\n")
    }

    /// A loop over thread blocks: two phases with a shared array.
    fn block_for(&mut self, output: &str, elem: &Ty) -> String {
        self.hit("kernel.block_for");
        let Ty::Num(num) = elem else { return self.parallel(output, 1) };
        let frozen = self.freeze();
        let mark = self.mark();
        self.bind("t", Ty::USIZE, false);
        self.frame.index = vec!["t".to_owned()];
        let (hoisting, jumps) =
            (std::mem::take(&mut self.hoisting), std::mem::take(&mut self.frame.jumps));
        let first = self.expr(elem, 3);
        let second = self.expr(elem, 3);
        (self.hoisting, self.frame.jumps) = (hoisting, jumps);
        self.frame.index.clear();
        self.release(mark);
        self.thaw(&frozen);
        let ty = num.name();
        let exact = !num.is_float();
        let (exchange, used) = match self.rng.below(7) {
            0 if exact => {
                self.hit("kernel.reduce");
                let of = *self.rng.pick(&["add", "min", "max"]);
                (format!("let sum = b.reduce_{of}(|t| tile[t]);\n"), "sum")
            }
            1 if exact => {
                self.hit("kernel.scan");
                let of = *self.rng.pick(&["scan_add", "exclusive_scan_add", "scan_max"]);
                (format!("let sum = b.{of}(|t| tile[t]);\n"), "sum[t]")
            }
            2 => {
                self.hit("kernel.shuffle");
                let of = *self.rng.pick(&["shuffle_xor", "shuffle_up", "shuffle_down"]);
                let by = self.rng.within(1, 3);
                (format!("let sum = b.{of}(|t| tile[t], {by});\n"), "sum[t]")
            }
            3 => {
                self.hit("kernel.vote");
                let of = *self.rng.pick(&["all", "any"]);
                (
                    format!("let vote = b.{of}(|t| tile[t] == tile[0]);\n"),
                    "if vote { tile[0] } else { tile[t] }",
                )
            }
            _ => (String::new(), "tile[3 - t % 4]"),
        };
        let extent = match self.rng.below(3) {
            0 => format!("4 + {output}.len() % 3"),
            1 => format!("{output}.len() / 2 + 4"),
            _ => "4".to_owned(),
        };
        format!(
            "qd::block_for({output}.len() / 4, 4, |b| {{\nlet mut tile = b.shared::<{ty}>({extent});\n\
             b.each(|t| tile[t] = {first});\n{exchange}b.each(|t| {{\nlet held: {ty} = {used};\n{output}[b.index() * 4 + t] = if held > ({second}) {{ held }} else {{ {second} }};\n}});\n}});\n",
        )
    }

    /// A loop whose iterations combine values into elements by atomics.
    fn reduction(&mut self, over: &str) -> String {
        self.hit("kernel.reduction");
        let name = self.unique("i");
        let frozen = self.freeze();
        let mark = self.mark();
        self.bind(&name, Ty::USIZE, false);
        self.frame.index = vec![name.clone()];
        let values: Vec<_> = (0..3).map(|_| self.expr(&Ty::Num(Num::I32), 2)).collect();
        self.frame.index.clear();
        self.release(mark);
        self.thaw(&frozen);
        format!(
            "for {name} in 0..{over}.len() {{\nqd::atomic_add(&mut sums[0], {});\nqd::atomic_min(&mut sums[1], {});\nqd::atomic_max(&mut sums[2], {});\n}}\n",
            values[0], values[1], values[2]
        )
    }

    /// Makes all locals immutable, because iterations cannot assign them. Returns the state for [`thaw`](Self::thaw).
    pub(crate) fn freeze(&mut self) -> Vec<(bool, bool)> {
        let was = self.frame.vars.iter().map(|var| (var.mutable, var.frozen)).collect();
        for var in &mut self.frame.vars {
            var.frozen |= var.mutable;
            var.mutable = false;
        }
        was
    }

    pub(crate) fn thaw(&mut self, was: &[(bool, bool)]) {
        for (var, was) in self.frame.vars.iter_mut().zip(was) {
            (var.mutable, var.frozen) = *was;
        }
    }

    pub(crate) fn with_param(&mut self, name: &str, bound: crate::types::Bound, num: Num) {
        self.param = Some(Param { name: name.to_owned(), bound, num });
    }
}

/// A constant index of a tensor.
fn fixed_index(rank: usize) -> String {
    match rank {
        0 => "[]".to_owned(),
        1 => "0".to_owned(),
        2 => "[0, 1]".to_owned(),
        _ => format!("[0, 1, 1{}]", ", 0".repeat(rank - 3)),
    }
}

/// Whether shared arrays can have such elements.
fn is_wide(elem: &Ty) -> bool {
    elem.num().is_some_and(|num| !num.is_narrow())
}

/// The function that makes the arguments, launches the kernel and records what it wrote.
fn run(params: &[(String, KernelParam)], instance: &str) -> String {
    let mut text = String::from("pub fn run(on: &mut Stage<'_>) -> quadrants::Result<()> {\n");
    let (mut args, mut pushed, mut kept) = (Vec::new(), String::new(), String::new());
    let mut parts = String::new();
    for (at, (_, given)) in params.iter().enumerate() {
        match given {
            KernelParam::Value(_) => {
                let _ = writeln!(text, "let a{at} = on.value();");
                args.push(format!("a{at}"));
                let _ = write!(pushed, ".arg(a{at})");
            }
            KernelParam::Tensor(_, shape, writable) if shape.is_empty() => {
                let by = if *writable { "&mut " } else { "&" };
                let _ = writeln!(text, "let mut t{at} = on.tensor::<_, 0>([])?;");
                args.push(format!("{by}t{at}"));
                let _ = write!(pushed, ".arg({by}t{at})");
                let _ = writeln!(kept, "on.keep(&t{at})?;");
            }
            KernelParam::Group(fields) => {
                let mut made = Vec::new();
                for (field, _, shape, writable) in fields {
                    let (rank, by) = (shape.len(), if *writable { "&mut " } else { "&" });
                    let _ =
                        writeln!(text, "let mut g_{field} = on.tensor::<_, {rank}>({shape:?})?;");
                    made.push(format!("{field}: {by}g_{field}"));
                    let _ = writeln!(kept, "on.keep(&g_{field})?;");
                }
                let by = if fields.iter().any(|(.., writable)| *writable) { "&mut " } else { "&" };
                let _ = writeln!(parts, "let mut a{at} = user::Group {{ {} }};", made.join(", "));
                args.push(format!("{by}a{at}"));
                let _ = write!(pushed, ".arg({by}a{at})");
            }
            KernelParam::Tensor(_, shape, writable) => {
                let rank = shape.len();
                let (by, part, word) = match writable {
                    true => ("&mut ", "slice_mut", "mut "),
                    false => ("&", "slice", ""),
                };
                let _ = writeln!(text, "let mut t{at} = on.tensor::<_, {rank}>({shape:?})?;");
                let _ = writeln!(text, "let rows{at} = Stage::rows(&t{at});");
                let _ = writeln!(parts, "let {word}a{at} = t{at}.{part}(rows{at})?;");
                args.push(format!("{by}a{at}"));
                let _ = write!(pushed, ".arg({by}a{at})");
                let _ = writeln!(kept, "on.keep(&t{at})?;");
            }
        }
    }
    let args = args.join(", ");
    let _ = write!(
        text,
        "let launched = {{\n{parts}if on.interprets() {{\n\
         let ir = user::kernel{instance}({args}).ir();\n\
         ir.and_then(|ir| on.interpreted(ir)).and_then(|kernel| kernel.call(){pushed}.launch())\n\
         }} else {{\nuser::kernel{instance}({args}).launch()\n}}\n}};\n\
         on.launched(launched);\n{kept}Ok(())\n}}\n"
    );
    text
}
