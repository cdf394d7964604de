//! The state of the generator: what is in scope, and what was produced. Places, elements and calls of a type.

use crate::{
    fragment::{Fragment, atom},
    grammar::Coverage,
    rng::Rng,
    types::{Bound, METHODS, Num, Ty},
};

/// A name with a type.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub(crate) name: String,
    pub(crate) ty: Ty,
    pub(crate) mutable: bool,
    /// Whether it is `mut` outside of the enclosing parallel loop, so that no method in an iteration may take it.
    pub(crate) frozen: bool,
}

/// A tensor in scope.
#[derive(Clone, Debug)]
pub(crate) struct TensorVar {
    pub(crate) name: String,
    pub(crate) elem: Ty,
    pub(crate) rank: usize,
    pub(crate) writable: bool,
    /// The index of the element that the current code may access, if the tensor is writable.
    pub(crate) own: Option<String>,
}

/// A struct of the module.
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    /// Its generic arguments, such as `<f32>`.
    pub(crate) of: String,
    pub(crate) fields: Vec<(String, Ty)>,
    pub(crate) tuple: bool,
    /// Whether it has `==`.
    pub(crate) equal: bool,
}

/// How a func is called.
#[derive(Clone, Debug)]
pub(crate) struct Func {
    /// Its path; its name if it is a method.
    pub(crate) path: String,
    /// The type of a method's receiver, and whether it is `&mut self`.
    pub(crate) receiver: Option<(Ty, bool)>,
    pub(crate) args: Vec<FuncArg>,
    pub(crate) ret: Ty,
}

/// A parameter of a func.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum FuncArg {
    Value(Ty),
    /// A read-only tensor of one dimension.
    Tensor(Ty),
}

/// The type parameter of the function being generated.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) bound: Bound,
    pub(crate) num: Num,
}

/// A loop or a block with a label that encloses a statement.
#[derive(Clone, Debug)]
pub(crate) struct Jump {
    pub(crate) label: Option<String>,
    pub(crate) breaks: bool,
    /// Whether code in it may only jump to outer loops, by a label.
    pub(crate) closed: bool,
    /// Whether it is a block with a label, in which all jumps have one.
    pub(crate) block: bool,
}

/// The part of the state that belongs to one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionState {
    pub(crate) vars: Vec<Var>,
    pub(crate) tensors: Vec<TensorVar>,
    pub(crate) jumps: Vec<Jump>,
    /// The variables of the enclosing parallel loop.
    pub(crate) index: Vec<String>,
    pub(crate) ret: Option<Ty>,
    /// Whether `self` is a reference, which is not a kernel value.
    pub(crate) by_reference: bool,
}

/// Generates the source of one module.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) rng: Rng,
    pub(crate) coverage: Coverage,
    pub(crate) frame: FunctionState,
    /// Constants of the module.
    pub(crate) consts: Vec<Var>,
    pub(crate) structs: Vec<Struct>,
    pub(crate) funcs: Vec<Func>,
    /// Funcs that write an element, and the element's type.
    pub(crate) writers: Vec<(String, Ty)>,
    /// Expressions that use the colliding names, and their types.
    pub(crate) collisions: Vec<(Ty, String)>,
    /// Expressions that equal the index put in place of their `@`.
    pub(crate) equal_indices: Vec<String>,
    pub(crate) param: Option<Param>,
    /// Whether expressions may become operands of a macro.
    pub(crate) hoisting: bool,
    pub(crate) operands: Vec<String>,
    pub(crate) in_func: bool,
    pub(crate) in_index: bool,
    pub(crate) loops: usize,
    pub(crate) calls: usize,
    /// Methods with colliding names, which are used more often.
    pub(crate) focus: Vec<&'static str>,
    pub(crate) wants_equality: bool,
    /// Colliding names for locals.
    pub(crate) pool: Vec<String>,
    names: usize,
    labels: usize,
}

impl Generator {
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            rng,
            coverage: Coverage::default(),
            frame: FunctionState::default(),
            consts: Vec::new(),
            structs: Vec::new(),
            funcs: Vec::new(),
            writers: Vec::new(),
            collisions: Vec::new(),
            equal_indices: Vec::new(),
            param: None,
            hoisting: false,
            operands: Vec::new(),
            in_func: false,
            in_index: false,
            loops: 0,
            calls: 0,
            focus: Vec::new(),
            wants_equality: false,
            pool: Vec::new(),
            names: 0,
            labels: 0,
        }
    }

    /// Counts a production.
    pub(crate) fn hit(&mut self, name: &'static str) {
        self.coverage.hit(name);
    }

    pub(crate) fn hit_method(&mut self, name: &'static str) {
        self.coverage.hit_method(name);
    }

    /// A name for a local: a new one, one that it hides, or a colliding one.
    pub(crate) fn name(&mut self) -> String {
        if !self.pool.is_empty() && self.rng.percent(60) {
            return self.rng.pick(&self.pool).clone();
        }
        if self.names > 0 && self.rng.percent(15) {
            self.hit("name.hidden");
            return format!("v{}", self.rng.below(self.names));
        }
        self.names += 1;
        format!("v{}", self.names - 1)
    }

    /// A new name.
    pub(crate) fn unique(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names - 1)
    }

    /// One of some words, which spaces separate.
    pub(crate) fn word(&mut self, words: &'static str) -> &'static str {
        let words: Vec<_> = words.split_whitespace().collect();
        words[self.rng.below(words.len())]
    }

    pub(crate) fn label(&mut self) -> String {
        // The label in emitted code.
        if self.rng.percent(4) {
            self.hit("name.label");
            return "'iteration".to_owned();
        }
        self.labels += 1;
        format!("'l{}", self.labels - 1)
    }

    /// The position from which [`release`](Self::release) removes names.
    pub(crate) fn mark(&self) -> usize {
        self.frame.vars.len()
    }

    pub(crate) fn release(&mut self, mark: usize) {
        self.frame.vars.truncate(mark);
    }

    pub(crate) fn bind(&mut self, name: &str, ty: Ty, mutable: bool) {
        self.frame.vars.push(Var { name: name.to_owned(), ty, mutable, frozen: false });
    }

    pub(crate) fn vector(&mut self) -> &'static str {
        if self.rng.percent(20) { "qd::Vector" } else { "Vector" }
    }

    pub(crate) fn matrix(&mut self) -> &'static str {
        if self.rng.percent(20) { "qd::Matrix" } else { "Matrix" }
    }

    /// A number type, more often a common one.
    pub(crate) fn some_num(&mut self) -> Num {
        match self.rng.below(20) {
            0..4 => Num::I32,
            4..7 => Num::U32,
            7..10 => Num::Usize,
            10..13 => Num::F32,
            13 => Num::F64,
            _ => *self.rng.pick(&Num::INTS),
        }
    }

    /// A type of values.
    pub(crate) fn some_type(&mut self, depth: usize) -> Ty {
        match self.rng.below(16) {
            0 => Ty::Bool,
            1 if depth > 0 => Ty::Array(Box::new(self.some_type(depth - 1)), self.rng.within(1, 4)),
            2 if depth > 0 => {
                let parts = self.rng.within(2, 3);
                Ty::Tuple((0..parts).map(|_| self.some_type(depth - 1)).collect())
            }
            3 | 4 if !self.structs.is_empty() => Ty::Struct(self.rng.below(self.structs.len())),
            5 => Ty::Vector(*self.rng.pick(&[Num::F32, Num::I32, Num::F64]), self.rng.within(2, 3)),
            6 => Ty::Matrix(*self.rng.pick(&[Num::F32, Num::I32]), 2, self.rng.within(2, 3)),
            7 | 8 if self.param.is_some() => Ty::Param,
            _ => Ty::Num(self.some_num()),
        }
    }

    /// The text of a type.
    pub(crate) fn text(&self, ty: &Ty) -> String {
        match ty {
            Ty::Bool => "bool".to_owned(),
            Ty::Num(num) => num.name().to_owned(),
            Ty::Array(of, count) => format!("[{}; {count}]", self.text(of)),
            Ty::Tuple(of) => {
                let parts: Vec<_> = of.iter().map(|of| self.text(of)).collect();
                format!("({},)", parts.join(", "))
            }
            Ty::Struct(number) => {
                let of = &self.structs[*number];
                format!("{}{}", of.name, of.of)
            }
            Ty::Vector(num, count) => format!("Vector<{}, {count}>", num.name()),
            Ty::Matrix(num, rows, columns) => format!("Matrix<{}, {rows}, {columns}>", num.name()),
            Ty::Param => self.param.as_ref().map_or_else(|| "T".to_owned(), |of| of.name.clone()),
        }
    }

    /// A place of this type: a name, or a part of a variable. `mutable` says whether it will be assigned.
    pub(crate) fn place(&mut self, ty: &Ty, mutable: bool) -> Option<String> {
        let mut places = Vec::new();
        let vars = &self.frame.vars;
        let seen = vars.iter().enumerate().filter(|(at, var)| {
            let hidden = vars[at + 1..].iter().any(|later| later.name == var.name);
            !hidden && (!mutable || var.mutable)
        });
        let consts = if mutable { &[][..] } else { &self.consts[..] };
        for var in seen.map(|(_, var)| var).chain(consts) {
            self.parts(&var.name, &var.ty, ty, 3, &mut places);
        }
        if places.is_empty() {
            return None;
        }
        // The last ones are in the innermost scopes.
        let at = match self.rng.percent(50) {
            true => places.len() - 1 - self.rng.below(places.len().min(3)),
            false => self.rng.below(places.len()),
        };
        let place = places.swap_remove(at);
        Some(self.filled(&place, mutable))
    }

    /// The parts of a value that have the type `want`, with `#3` for an index below 3.
    fn parts(&self, text: &str, ty: &Ty, want: &Ty, depth: usize, out: &mut Vec<String>) {
        if ty == want && !(text == "self" && self.frame.by_reference) {
            out.push(text.to_owned());
        }
        if depth == 0 {
            return;
        }
        match ty {
            Ty::Array(of, count) => {
                self.parts(&format!("{text}[#{count}]"), of, want, depth - 1, out);
            }
            Ty::Tuple(of) => {
                for (at, of) in of.iter().enumerate() {
                    self.parts(&format!("{text}.{at}"), of, want, depth - 1, out);
                }
            }
            Ty::Struct(number) => {
                for (name, of) in &self.structs[*number].fields {
                    self.parts(&format!("{text}.{name}"), of, want, depth - 1, out);
                }
            }
            Ty::Vector(num, count) if Ty::Num(*num) == *want => {
                out.push(format!("{text}[#~{count}]"));
            }
            Ty::Matrix(num, rows, columns) if Ty::Num(*num) == *want => {
                out.push(format!("{text}[[#~{rows}, #~{columns}]]"));
            }
            _ => {}
        }
    }

    /// The text with indices in place of their extents. Of a vector that is assigned, an index cannot use the vector.
    fn filled(&mut self, text: &str, assigned: bool) -> String {
        let mut out = String::new();
        let mut parts = text.split('#');
        out.push_str(parts.next().unwrap_or_default());
        let mut any = false;
        for part in parts {
            let (part, of_vector) = match part.strip_prefix('~') {
                Some(part) => (part, true),
                None => (part, false),
            };
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let count: usize = part[..end].parse().unwrap_or(1);
            let fixed = of_vector && assigned;
            out.push_str(&self.index_below(count, fixed));
            out.push_str(&part[end..]);
            any = true;
        }
        self.hit(if any {
            "place.element"
        } else if out.contains('.') {
            "place.field"
        } else {
            "place.name"
        });
        out
    }

    /// An index of a local array.
    fn index_below(&mut self, count: usize, fixed: bool) -> String {
        let dynamic = !fixed && !self.in_index && self.rng.percent(45);
        if !dynamic {
            self.hit("index.literal");
            return self.rng.below(count).to_string();
        }
        self.in_index = true;
        let text = if self.rng.percent(4) {
            self.hit("index.wild");
            format!("{} & 7", self.leaf(&Ty::USIZE).text)
        } else {
            self.hit("index.modulo");
            let num = *self.rng.pick(&[Num::Usize, Num::Usize, Num::U32, Num::I32, Num::U8]);
            let of = self.leaf(&Ty::Num(num)).text;
            if num == Num::Usize {
                format!("{of} % {count}")
            } else {
                format!("({of} as usize) % {count}")
            }
        };
        self.in_index = false;
        text
    }

    /// An element of a tensor, or a part of one, of this type.
    pub(crate) fn read(&mut self, ty: &Ty) -> Option<Fragment> {
        let mut fitting = Vec::new();
        for tensor in &self.frame.tensors {
            let mut parts = Vec::new();
            self.parts("", &tensor.elem, ty, 3, &mut parts);
            fitting.extend(parts.into_iter().map(|part| (tensor.clone(), part)));
        }
        fitting.retain(|(tensor, _)| !tensor.writable || tensor.own.is_some());
        if fitting.is_empty() || self.in_index {
            return None;
        }
        let (tensor, part) = self.rng.pick(&fitting).clone();
        let index = self.index_of(&tensor);
        let part = self.filled(&part, false);
        self.hit("expr.read");
        Some(atom(format!("{}[{index}]{part}", tensor.name)))
    }

    /// An index of an element that the current code may read.
    fn index_of(&mut self, tensor: &TensorVar) -> String {
        if let Some(own) = &tensor.own {
            return own.clone();
        }
        self.in_index = true;
        let text = if tensor.rank == 0 {
            "[]".to_owned()
        } else if tensor.rank == 1 {
            self.coordinate(&tensor.name, "len()", 0)
        } else {
            let all: Vec<_> = (0..tensor.rank)
                .map(|axis| self.coordinate(&tensor.name, &format!("shape()[{axis}]"), axis))
                .collect();
            format!("[{}]", all.join(", "))
        };
        self.in_index = false;
        text
    }

    fn coordinate(&mut self, tensor: &str, extent: &str, axis: usize) -> String {
        let index = self.frame.index.get(axis).or_else(|| self.frame.index.first()).cloned();
        match (index, self.rng.below(8)) {
            (Some(index), 0..3) => {
                self.hit("index.own");
                self.same_index(&index)
            }
            (Some(index), 3) => {
                self.hit("index.before");
                format!("{index}.saturating_sub({})", self.rng.below(3))
            }
            (Some(index), 4) => {
                self.hit("index.away");
                format!("({index} + {}) % {tensor}.{extent}", self.rng.below(9))
            }
            (_, 5) => {
                self.hit("index.least");
                let of = self.leaf(&Ty::USIZE).text;
                format!("({of}).min({tensor}.{extent} - 1)")
            }
            _ => {
                self.hit("index.any");
                let of = self.leaf(&Ty::USIZE).text;
                format!("({of}) % {tensor}.{extent}")
            }
        }
    }

    /// An expression that equals an index, possibly by a colliding name.
    pub(crate) fn same_index(&mut self, index: &str) -> String {
        if !self.in_func && !self.equal_indices.is_empty() && self.rng.percent(60) {
            self.hit("index.same.func");
            return self.rng.pick(&self.equal_indices).clone().replace('@', index);
        }
        let all: Vec<_> = METHODS.iter().filter(|m| m.same.is_some()).collect();
        let focused: Vec<_> = all.iter().filter(|m| self.focus.contains(&m.name)).collect();
        if self.rng.percent(if focused.is_empty() { 20 } else { 70 }) {
            let method =
                if focused.is_empty() { *self.rng.pick(&all) } else { **self.rng.pick(&focused) };
            let args = method.same.unwrap_or_default();
            self.hit("index.same.method");
            if self.rng.percent(30) && !method.name.starts_with("to_") {
                let comma = if args.is_empty() { "" } else { ", " };
                return format!("usize::{}({index}{comma}{args})", method.name);
            }
            return format!("{index}.{}({args})", method.name);
        }
        index.to_owned()
    }

    /// As [`same_index`](Self::same_index), of an index that is written. The race check sees through funcs and
    /// conversions only, so that other methods are used only if they collide.
    pub(crate) fn same_index_to_write(&mut self, index: &str) -> String {
        let plain =
            self.equal_indices.is_empty() && (self.focus.is_empty() || self.rng.percent(95));
        if !plain {
            return self.same_index(index);
        }
        if self.rng.percent(12) {
            self.hit("index.same.method");
            return format!("{index}.to_usize()");
        }
        index.to_owned()
    }

    /// The extent of a tensor.
    pub(crate) fn extent(&mut self) -> Fragment {
        let tensors: Vec<_> = self.frame.tensors.iter().map(|t| (t.name.clone(), t.rank)).collect();
        let tensors: Vec<_> = tensors.into_iter().filter(|(_, rank)| *rank > 0).collect();
        let Some((name, rank)) = (!tensors.is_empty()).then(|| self.rng.pick(&tensors).clone())
        else {
            return atom("1usize");
        };
        if self.rng.percent(50) {
            self.hit("expr.len");
            return atom(format!("{name}.len()"));
        }
        self.hit("expr.shape");
        atom(format!("{name}.shape()[{}]", self.rng.below(rank)))
    }

    /// A call of one of the module's funcs that returns this type.
    pub(crate) fn called(&mut self, ty: &Ty, depth: usize) -> Option<Fragment> {
        if !self.in_func && self.rng.percent(60) {
            let fitting: Vec<_> = self.collisions.iter().filter(|(of, _)| of == ty).collect();
            if !fitting.is_empty() {
                let text = self.rng.pick(&fitting).1.clone();
                self.hit("expr.collision");
                return Some(atom(text));
            }
        }
        if self.calls > 3 || self.in_index {
            return None;
        }
        let fitting: Vec<_> = self
            .funcs
            .iter()
            .filter(|func| func.ret == *ty && !matches!(func.receiver, Some((_, true))))
            .cloned()
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let func = self.rng.pick(&fitting).clone();
        self.calls += 1;
        let depth = depth.min(1);
        let mut args = Vec::new();
        for arg in &func.args {
            match arg {
                FuncArg::Value(ty) => args.push(self.expr(ty, depth)),
                FuncArg::Tensor(elem) => {
                    let fits = |t: &&TensorVar| t.rank == 1 && t.elem == *elem && !t.writable;
                    let name = self.frame.tensors.iter().find(fits)?.name.clone();
                    self.hit("expr.call.tensor");
                    args.push(name);
                }
            }
        }
        let args = args.join(", ");
        Some(atom(match &func.receiver {
            Some((of, _)) => {
                self.hit("expr.call.method");
                let receiver = self.any_receiver(of, depth);
                format!("{receiver}.{}({args})", func.path)
            }
            None => {
                self.hit(if func.path.contains("::") { "expr.call.path" } else { "expr.call" });
                format!("{}({args})", func.path)
            }
        }))
    }

    fn any_receiver(&mut self, of: &Ty, depth: usize) -> String {
        let frozen = |name: &str, this: &Self| {
            let root = name.split(['.', '[']).next().unwrap_or_default();
            this.frame.vars.iter().rev().find(|var| var.name == root).is_some_and(|var| var.frozen)
        };
        match self.place(of, false) {
            Some(place) if self.rng.percent(80) && !frozen(&place, self) => place,
            _ => {
                let text = self.expr(of, depth);
                if frozen(&text, self) {
                    return format!("({{ {text} }})");
                }
                format!("({text})")
            }
        }
    }
}
