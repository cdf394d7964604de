//! Random expressions of a type.

use crate::{
    fragment::{
        ADD, AND, ATOM, BLOCK, BOTH, CAST, COMPARE, EITHER, Fragment, MUL, OR, SHIFT, UNARY, XOR,
        atom, fragment,
    },
    generate::Generator,
    types::{Bound, METHODS, Method, Num, OF_NUMBERS, RelativeType, Ty},
};

impl Generator {
    /// An expression without regard to precedence.
    pub(crate) fn expr(&mut self, ty: &Ty, depth: usize) -> String {
        self.any(ty, depth).text
    }

    /// An operand with at least this precedence, by parentheses if necessary.
    pub(crate) fn operand(&mut self, ty: &Ty, depth: usize, least: u8) -> String {
        let whole = self.any(ty, depth);
        self.parenthesized(whole, least)
    }

    fn parenthesized(&mut self, whole: Fragment, least: u8) -> String {
        if whole.precedence < least || self.rng.percent(6) {
            format!("({})", whole.text)
        } else {
            whole.text
        }
    }

    /// A condition of `if` or `while`.
    pub(crate) fn cond(&mut self, depth: usize) -> String {
        let cond = self.any(&Ty::Bool, depth);
        if cond.precedence == BLOCK || cond.text.contains('{') {
            format!("({})", cond.text)
        } else {
            cond.text
        }
    }

    fn any(&mut self, ty: &Ty, depth: usize) -> Fragment {
        if self.hoisting && depth > 0 && matches!(ty, Ty::Num(_) | Ty::Bool) && self.rng.percent(8)
        {
            return self.hoisted(ty, depth);
        }
        if depth == 0 || self.rng.percent(12) {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        if self.rng.percent(8)
            && let Some(jump) = self.jumping(ty, depth)
        {
            return jump;
        }
        match self.rng.below(24) {
            0 => self.branch(ty, depth),
            1 => match self.rng.below(4) {
                0 => self.labelled_value(ty, depth),
                1 if !self.in_index => self.closure(ty, depth),
                _ => self.block(ty, depth),
            },
            2 => self.choice(ty, depth),
            3 => self.loop_value(ty, depth),
            4..7 => self.called(ty, depth).unwrap_or_else(|| self.own(ty, depth)),
            7 => self.leaf(ty),
            _ => self.own(ty, depth),
        }
    }

    /// An expression as an operand of the macro that makes the kernel.
    fn hoisted(&mut self, ty: &Ty, depth: usize) -> Fragment {
        self.hoisting = false;
        // The enclosing loops are in the macro, whose labels have another hygiene.
        let jumps = std::mem::take(&mut self.frame.jumps);
        let of = self.any(ty, depth - 1);
        self.frame.jumps = jumps;
        self.hoisting = true;
        // A statement that begins with a block ends after it.
        if of.precedence == BLOCK {
            return of;
        }
        self.hit("macro.operand");
        self.operands.push(of.text);
        atom(format!("$e{}", self.operands.len() - 1))
    }

    /// An expression without parts: a place, a constant or a literal.
    pub(crate) fn leaf(&mut self, ty: &Ty) -> Fragment {
        if self.rng.percent(75) {
            if let Some(place) = self.place(ty, false) {
                return atom(place);
            }
            if let Some(read) = self.read(ty) {
                return read;
            }
        }
        self.simple(ty)
    }

    /// A value of literals.
    pub(crate) fn simple(&mut self, ty: &Ty) -> Fragment {
        match ty {
            Ty::Bool => {
                self.hit("expr.literal.bool");
                atom(if self.rng.percent(50) { "true" } else { "false" })
            }
            Ty::Num(num) => self.number(*num),
            Ty::Param => self.of_param_simple(),
            Ty::Array(of, count) => {
                if self.rng.percent(40) {
                    self.hit("expr.repeat");
                    let value = self.simple(of).text;
                    return atom(format!("[{value}; {count}]"));
                }
                self.hit("expr.array");
                let parts: Vec<_> = (0..*count).map(|_| self.simple(of).text).collect();
                atom(format!("[{}]", parts.join(", ")))
            }
            Ty::Tuple(of) => {
                self.hit("expr.tuple");
                let parts: Vec<_> = of.iter().map(|of| self.simple(of).text).collect();
                atom(format!("({},)", parts.join(", ")))
            }
            Ty::Struct(number) => {
                let values: Vec<_> = self.structs[*number]
                    .fields
                    .clone()
                    .iter()
                    .map(|(_, ty)| self.simple(ty).text)
                    .collect();
                self.made(*number, values)
            }
            Ty::Vector(num, count) => {
                self.hit("expr.vector");
                let parts: Vec<_> = (0..*count).map(|_| self.number(*num).text).collect();
                atom(format!("{}([{}])", self.vector(), parts.join(", ")))
            }
            Ty::Matrix(num, rows, columns) => {
                self.hit("expr.matrix");
                let mut lines = Vec::new();
                for _ in 0..*rows {
                    let parts: Vec<_> = (0..*columns).map(|_| self.number(*num).text).collect();
                    lines.push(format!("[{}]", parts.join(", ")));
                }
                atom(format!("{}([{}])", self.matrix(), lines.join(", ")))
            }
        }
    }

    fn made(&mut self, number: usize, values: Vec<String>) -> Fragment {
        let of = self.structs[number].clone();
        if of.tuple {
            self.hit("expr.struct.tuple");
            return atom(format!("{}({})", of.name, values.join(", ")));
        }
        self.hit("expr.struct.named");
        let mut fields: Vec<_> = of
            .fields
            .iter()
            .zip(values)
            .map(|((name, _), value)| format!("{name}: {value}"))
            .collect();
        if self.rng.percent(50) {
            fields.reverse();
        }
        fragment(BLOCK, format!("{} {{ {} }}", of.name, fields.join(", ")))
    }

    fn number(&mut self, num: Num) -> Fragment {
        if num.is_float() {
            self.hit("expr.literal.float");
            let value = match self.rng.below(5) {
                0 => "0.0".to_owned(),
                1 => format!("{}.5", self.rng.below(9)),
                2 => format!("{}e{}", self.rng.within(1, 9), self.rng.below(5)),
                3 => format!("0.{}", self.rng.within(1, 999)),
                _ => format!("{}.25", self.rng.below(99)),
            };
            if self.rng.percent(10) {
                self.hit("expr.const.of_type");
                let name = *self.rng.pick(&["MAX", "EPSILON", "INFINITY", "MIN_POSITIVE", "MIN"]);
                return atom(format!("{}::{name}", num.name()));
            }
            let value =
                value.clone() + if value.contains('.') || value.contains('e') { "" } else { ".0" };
            return atom(format!("{value}{}", num.name()));
        }
        if self.rng.percent(10) {
            self.hit("expr.const.of_type");
            let name = *self.rng.pick(&["MAX", "MIN"]);
            return atom(format!("{}::{name}", num.name()));
        }
        if num == Num::U32 && self.rng.percent(5) {
            self.hit("expr.const.bits");
            let of = self.rng.pick(&Num::INTS).name();
            return atom(format!("{of}::BITS"));
        }
        self.hit("expr.literal.int");
        let value = match self.rng.below(6) {
            0 => 0,
            1 => 1,
            2 => num.most() - self.rng.below(3),
            3 => self.rng.below(num.most()),
            _ => self.rng.below(17),
        };
        atom(match self.rng.below(9) {
            0 => format!("{value:#x}{}", if num.is_float() { "" } else { num.name() }),
            1 => format!("{value:#b}_{}", num.name()),
            _ => format!("{value}{}", num.name()),
        })
    }

    /// A value of the type parameter without parts.
    fn of_param_simple(&mut self) -> Fragment {
        let Some((name, bound)) = self.param.as_ref().map(|of| (of.name.clone(), of.bound)) else {
            return atom("0");
        };
        if bound == Bound::KernelValue {
            return atom(self.place(&Ty::Param, false).unwrap_or_else(|| "n".to_owned()));
        }
        self.hit("expr.param.constant");
        match self.rng.below(4) {
            0 => atom(format!("{name}::ONE")),
            1 => atom(format!("{name}::{}", self.rng.pick(&["ZERO", "MAX", "MIN"]))),
            2 => {
                let from = self.rng.pick(&["i32", "u32", "i64", "u64", "usize"]);
                let value = self.rng.below(99);
                atom(format!("{name}::from_{from}({value})"))
            }
            _ if bound == Bound::Float => {
                atom(format!("{name}::{}", self.rng.pick(&["PI", "E", "EPSILON"])))
            }
            _ => {
                let value = self.rng.below(40);
                atom(format!("{name}::from_f32({value}.5)"))
            }
        }
    }

    /// The constructors, operators and methods of a type.
    fn own(&mut self, ty: &Ty, depth: usize) -> Fragment {
        match ty {
            Ty::Bool => self.boolean(depth),
            Ty::Num(num) if num.is_float() => self.float(*num, depth),
            Ty::Num(num) => self.int(*num, depth),
            Ty::Param => self.of_param(depth),
            Ty::Array(of, count) => {
                if self.rng.percent(25) {
                    self.hit("expr.repeat");
                    let value = self.expr(of, depth);
                    return atom(format!("[{value}; {count}]"));
                }
                self.hit("expr.array");
                let parts: Vec<_> = (0..*count).map(|_| self.expr(of, depth)).collect();
                atom(format!("[{}]", parts.join(", ")))
            }
            Ty::Tuple(of) => {
                self.hit("expr.tuple");
                let parts: Vec<_> = of.iter().map(|of| self.expr(of, depth)).collect();
                atom(format!("({},)", parts.join(", ")))
            }
            Ty::Struct(number) => {
                let fields = self.structs[*number].fields.clone();
                let of = self.structs[*number].clone();
                if !of.tuple && self.rng.percent(25) {
                    return self.updated(ty, &of.name, &fields, depth);
                }
                let values: Vec<_> = fields.iter().map(|(_, ty)| self.expr(ty, depth)).collect();
                self.made(*number, values)
            }
            Ty::Vector(num, count) => self.of_vector(*num, *count, depth),
            Ty::Matrix(num, rows, columns) => self.of_matrix(*num, *rows, *columns, depth),
        }
    }

    pub(crate) fn binary(&mut self, ty: &Ty, depth: usize, op: &str, precedence: u8) -> Fragment {
        let left = self.any(ty, depth);
        // `a as b < c` does not parse as a comparison.
        let least = if op.starts_with('<') { ATOM } else { precedence };
        let left = self.parenthesized(left, least);
        let plain = self.rng.percent(15) && ty.num().is_some() && depth > 0;
        let right = match ty {
            Ty::Num(num) if plain && !op.contains("<<") && !op.contains(">>") => {
                self.hit("expr.literal.inferred");
                let value = self.rng.below(40);
                if num.is_float() { format!("{value}.5") } else { value.to_string() }
            }
            _ => self.operand(ty, depth, precedence + 1),
        };
        fragment(precedence, format!("{left} {op} {right}"))
    }

    fn boolean(&mut self, depth: usize) -> Fragment {
        match self.rng.below(12) {
            0 => {
                self.hit("expr.not.bool");
                let of = self.operand(&Ty::Bool, depth, UNARY);
                fragment(UNARY, format!("!{of}"))
            }
            1 => {
                self.hit("expr.and");
                let (a, b) = (
                    self.operand(&Ty::Bool, depth, BOTH),
                    self.operand(&Ty::Bool, depth, BOTH + 1),
                );
                fragment(BOTH, format!("{a} && {b}"))
            }
            2 => {
                self.hit("expr.or");
                let (a, b) = (
                    self.operand(&Ty::Bool, depth, EITHER),
                    self.operand(&Ty::Bool, depth, EITHER + 1),
                );
                fragment(EITHER, format!("{a} || {b}"))
            }
            3 => {
                self.hit("expr.bool.bits");
                let (op, precedence) = *self.rng.pick(&[("&", AND), ("|", OR), ("^", XOR)]);
                self.binary(&Ty::Bool, depth, op, precedence)
            }
            4 if self.rng.percent(20) => self.contained(),
            4 if self.rng.percent(50) => self.matches(depth),
            4 => self.method_of(None, &Ty::Bool, depth).unwrap_or_else(|| self.leaf(&Ty::Bool)),
            5..9 if !self.structs.is_empty()
                && self.rng.percent(if self.wants_equality { 90 } else { 45 }) =>
            {
                self.equality(depth)
            }
            _ => {
                let ty = match (&self.param, self.rng.percent(35)) {
                    (Some(of), true) if of.bound != Bound::KernelValue => Ty::Param,
                    _ => Ty::Num(self.some_num()),
                };
                self.hit("expr.compare");
                let op = *self.rng.pick(&["==", "!=", "<", "<=", ">", ">="]);
                let left = self.operand(&ty, depth, ATOM);
                let right = self.operand(&ty, depth, COMPARE + 1);
                fragment(COMPARE, format!("{left} {op} {right}"))
            }
        }
    }

    /// `==` and `!=` of aggregates.
    fn equality(&mut self, depth: usize) -> Fragment {
        let equal: Vec<_> = (0..self.structs.len()).filter(|at| self.structs[*at].equal).collect();
        let base = if equal.is_empty() {
            Ty::Array(Box::new(Ty::Num(self.some_num())), 2)
        } else {
            Ty::Struct(*self.rng.pick(&equal))
        };
        let ty = match self.rng.below(6) {
            0 => {
                self.hit("expr.equal.array");
                Ty::Array(Box::new(base), 2)
            }
            1 => {
                self.hit("expr.equal.tuple");
                Ty::Tuple(vec![base, Ty::Bool])
            }
            _ => {
                self.hit("expr.equal.struct");
                base
            }
        };
        let op = *self.rng.pick(&["==", "!="]);
        let depth = depth.min(1);
        let left = self.operand(&ty, depth, ATOM);
        let right =
            if self.rng.percent(40) { left.clone() } else { self.operand(&ty, depth, ATOM) };
        fragment(COMPARE, format!("{left} {op} {right}"))
    }

    fn int(&mut self, num: Num, depth: usize) -> Fragment {
        let ty = Ty::Num(num);
        match self.rng.below(16) {
            0 | 1 => {
                self.hit("expr.arithmetic");
                let (op, precedence) = *self.rng.pick(&[("+", ADD), ("-", ADD), ("*", MUL)]);
                self.binary(&ty, depth, op, precedence)
            }
            2 => {
                self.hit("expr.bits");
                let (op, precedence) = *self.rng.pick(&[("&", AND), ("|", OR), ("^", XOR)]);
                self.binary(&ty, depth, op, precedence)
            }
            3 => {
                self.hit("expr.divide");
                let op = *self.rng.pick(&["/", "%"]);
                let left = self.operand(&ty, depth, MUL);
                let by = match self.rng.below(12) {
                    0 if !self.in_index => self.operand(&ty, depth, MUL + 1),
                    1..6 => self.rng.within(1, 100).to_string(),
                    _ => format!("({} | 1)", self.operand(&ty, depth, OR)),
                };
                fragment(MUL, format!("{left} {op} {by}"))
            }
            4 => {
                self.hit("expr.shift");
                let op = *self.rng.pick(&["<<", ">>"]);
                let left = self.operand(&ty, depth, ATOM);
                let by = if self.rng.percent(50) {
                    self.rng.below(8).to_string()
                } else {
                    let of = *self.rng.pick(&[Num::U32, Num::I32, Num::Usize]);
                    format!("({} & 7)", self.operand(&Ty::Num(of), depth, AND))
                };
                fragment(SHIFT, format!("{left} {op} {by}"))
            }
            5 if num == Num::U32 && self.rng.percent(40) => {
                self.hit("expr.random");
                let (seed, draw) = (self.rng.below(99), self.expr(&ty, depth));
                let stream = self.expr(&Ty::Num(Num::U64), depth);
                atom(format!("qd::random_u32({seed}, {stream}, {draw})"))
            }
            5 => {
                self.hit("expr.not.int");
                let of = self.operand(&ty, depth, UNARY);
                fragment(UNARY, format!("!{of}"))
            }
            6 if num.is_signed() => {
                self.hit("expr.negate");
                let of = self.operand(&ty, depth, UNARY);
                fragment(UNARY, format!("-{of}"))
            }
            6..9 => self.cast(num, depth),
            9 => self.function_of_number(num, depth),
            10 if num == Num::Usize && self.rng.percent(40) => {
                self.hit("expr.len.array");
                self.hit_method("len");
                let count = self.rng.within(1, 4);
                let of = Ty::Array(Box::new(Ty::Num(self.some_num())), count);
                let of = self.operand(&of, depth.min(1), ATOM);
                atom(format!("{of}.len()"))
            }
            10 if num == Num::Usize => self.extent(),
            _ => self.method_of(Some(num), &ty, depth).unwrap_or_else(|| self.leaf(&ty)),
        }
    }

    fn float(&mut self, num: Num, depth: usize) -> Fragment {
        let ty = Ty::Num(num);
        match self.rng.below(12) {
            0..4 => {
                self.hit("expr.arithmetic.float");
                let (op, precedence) =
                    *self.rng.pick(&[("+", ADD), ("-", ADD), ("*", MUL), ("/", MUL)]);
                self.binary(&ty, depth, op, precedence)
            }
            4 => {
                self.hit("expr.negate");
                let of = self.operand(&ty, depth, UNARY);
                fragment(UNARY, format!("-{of}"))
            }
            5 | 6 => self.cast(num, depth),
            7 if num == Num::F32 && self.rng.percent(30) => {
                self.hit("expr.half");
                let (a, b) = (self.expr(&ty, depth), self.expr(&ty, depth));
                let op = *self.rng.pick(&["+", "-", "*", "/"]);
                atom(format!("(qd::f16::from_f32({a}) {op} qd::f16::from_f32({b})).to_f32()"))
            }
            7 => self.function_of_number(num, depth),
            8 => self.linear(num, depth),
            9 => {
                self.hit("expr.from_bits");
                let bits = if num == Num::F32 { Num::U32 } else { Num::U64 };
                let bits = self.expr(&Ty::Num(bits), depth);
                atom(format!("{}::from_bits({bits})", num.name()))
            }
            _ => self.method_of(Some(num), &ty, depth).unwrap_or_else(|| self.leaf(&ty)),
        }
    }

    fn cast(&mut self, to: Num, depth: usize) -> Fragment {
        if !to.is_float() && self.rng.percent(12) {
            self.hit("expr.cast.bool");
            let of = self.operand(&Ty::Bool, depth, CAST);
            return fragment(CAST, format!("{of} as {}", to.name()));
        }
        if self.rng.percent(8) && self.param.is_none() {
            // Lossless conversions.
            let from = match to {
                Num::I32 | Num::I64 | Num::U32 | Num::U64 | Num::Usize => Some(Num::U8),
                Num::F64 => Some(Num::F32),
                _ => None,
            };
            if let Some(from) = from {
                self.hit("expr.from");
                let of = self.expr(&Ty::Num(from), depth);
                return atom(format!("{}::from({of})", to.name()));
            }
        }
        if self.rng.percent(12) {
            self.hit("expr.cast.literal");
            let of = self.untyped_literal(to, depth);
            return fragment(CAST, format!("{of} as {}", to.name()));
        }
        self.hit("expr.cast");
        let from = self.some_num();
        let of = self.operand(&Ty::Num(from), depth, CAST);
        fragment(CAST, format!("{of} as {}", to.name()))
    }

    /// `u32::max(a, b)`
    fn function_of_number(&mut self, num: Num, depth: usize) -> Fragment {
        let fitting: Vec<_> = METHODS[..OF_NUMBERS]
            .iter()
            .filter(|m| m.is_of(num) && m.ret == RelativeType::Own && !m.name.starts_with("to_"))
            .collect();
        let method = *self.focused(&fitting);
        if self.rng.percent(12) {
            self.hit("expr.path.from_number");
            let from = *self.rng.pick(&[
                Num::F32,
                Num::F64,
                Num::I32,
                Num::I64,
                Num::U32,
                Num::U64,
                Num::Usize,
            ]);
            let of = self.expr(&Ty::Num(from), depth);
            return atom(format!("{}::from_{}({of})", num.name(), from.name()));
        }
        self.hit("expr.path.method");
        self.hit_method(method.name);
        let receiver = self.expr(&Ty::Num(num), depth);
        let args = self.args(&method, num, depth);
        atom(format!("{}::{}({receiver}{args})", num.name(), method.name))
    }

    fn args(&mut self, method: &Method, num: Num, depth: usize) -> String {
        let mut text = String::new();
        for of in method.args {
            let ty = Method::of(*of, num);
            let arg = match of {
                RelativeType::Divisor if !num.is_float() => {
                    let by = self.operand(&ty, depth, OR);
                    format!("{by} | 1")
                }
                RelativeType::Few => {
                    let count = self.operand(&ty, depth, AND);
                    format!("{count} & 3")
                }
                _ => self.expr(&ty, depth),
            };
            text.push_str(", ");
            text.push_str(&arg);
        }
        text
    }

    /// A method call that returns this type, with this receiver if there is one.
    fn method_of(&mut self, receiver: Option<Num>, ty: &Ty, depth: usize) -> Option<Fragment> {
        let mut fitting = Vec::new();
        for method in &METHODS[..OF_NUMBERS] {
            for num in Num::INTS.into_iter().chain([Num::F32, Num::F64]) {
                // A method that returns its receiver's type must have the requested receiver.
                if method.is_of(num) && Method::of(method.ret, num) == *ty {
                    let own =
                        receiver.is_none_or(|of| of == num) || method.ret != RelativeType::Own;
                    if own {
                        fitting.push((method, num));
                    }
                }
            }
        }
        let focused: Vec<_> =
            fitting.iter().filter(|(m, _)| self.focus.contains(&m.name)).copied().collect();
        let list = if !focused.is_empty() && self.rng.percent(60) { &focused } else { &fitting };
        if list.is_empty() {
            return None;
        }
        let (method, num) = *self.rng.pick(list);
        self.hit("expr.method");
        self.hit_method(method.name);
        let of = if num.is_float() || !method.name.starts_with("is_") {
            self.operand(&Ty::Num(num), depth, ATOM)
        } else {
            let of = self.expr(&Ty::Num(num), depth);
            format!("({of})")
        };
        let args = self.args(method, num, depth);
        let args = args.strip_prefix(", ").unwrap_or(&args);
        Some(atom(format!("{of}.{}({args})", method.name)))
    }

    /// One of the methods, more often one with a colliding name.
    fn focused<'m>(&mut self, all: &[&'m Method]) -> &'m Method {
        let focused: Vec<_> =
            all.iter().filter(|m| self.focus.contains(&m.name)).copied().collect();
        let focus = !focused.is_empty() && self.rng.percent(70);
        let list = if focus { &focused[..] } else { all };
        list[self.rng.below(list.len())]
    }

    fn of_param(&mut self, depth: usize) -> Fragment {
        let Some((name, bound, num)) =
            self.param.as_ref().map(|of| (of.name.clone(), of.bound, of.num))
        else {
            return atom("0");
        };
        let fits = |m: &&Method| {
            let known = m.bound == Some(bound) || self.focus.contains(&m.name) && m.is_of(num);
            known
                && m.ret == RelativeType::Own
                && m.args.iter().all(|of| *of != RelativeType::Divisor)
        };
        let fitting: Vec<_> = METHODS[..OF_NUMBERS].iter().filter(fits).collect();
        if bound == Bound::KernelValue {
            return self.leaf(&Ty::Param);
        }
        match self.rng.below(6) {
            0 | 1 => {
                self.hit("expr.param.arithmetic");
                let (op, precedence) = *self.rng.pick(&[("+", ADD), ("-", ADD), ("*", MUL)]);
                self.binary(&Ty::Param, depth, op, precedence)
            }
            2 => {
                self.hit("expr.param.from");
                let from = *self.rng.pick(&[Num::F32, Num::I32, Num::U64, Num::Usize]);
                let of = self.expr(&Ty::Num(from), depth);
                atom(format!("{name}::from_{}({of})", from.name()))
            }
            3 | 4 if !fitting.is_empty() => {
                let method = self.focused(&fitting);
                self.hit_method(method.name);
                let args: Vec<_> = method
                    .args
                    .iter()
                    .map(|of| match of {
                        RelativeType::Own => self.expr(&Ty::Param, depth),
                        RelativeType::Few => self.rng.below(4).to_string(),
                        _ => format!("{}u32", self.rng.below(32)),
                    })
                    .collect();
                if self.rng.percent(30) {
                    self.hit("expr.param.path");
                    let of = self.expr(&Ty::Param, depth);
                    let all: Vec<_> = std::iter::once(of).chain(args).collect();
                    return atom(format!("{name}::{}({})", method.name, all.join(", ")));
                }
                self.hit("expr.param.method");
                let of = self.operand(&Ty::Param, depth, ATOM);
                atom(format!("{of}.{}({})", method.name, args.join(", ")))
            }
            _ => self.leaf(&Ty::Param),
        }
    }

    fn branch(&mut self, ty: &Ty, depth: usize) -> Fragment {
        self.hit("expr.if");
        let cond = self.cond(depth);
        let (yes, no) = (self.body_of(ty, depth), self.body_of(ty, depth));
        if self.rng.percent(20) {
            self.hit("expr.if.chain");
            let (again, third) = (self.cond(depth.min(1)), self.body_of(ty, depth.min(1)));
            return fragment(BLOCK, format!("if {cond} {yes} else if {again} {third} else {no}"));
        }
        fragment(BLOCK, format!("if {cond} {yes} else {no}"))
    }

    /// A value in which a jump may leave the enclosing statement.
    fn jumping(&mut self, ty: &Ty, depth: usize) -> Option<Fragment> {
        if self.in_index {
            return None;
        }
        let cond = self.cond(depth.min(1));
        let jump = match self.frame.ret.clone() {
            Some(ret) if self.frame.jumps.is_empty() || self.rng.percent(50) => {
                self.hit("expr.return");
                format!("return {}", self.operand(&ret, depth.min(1), ADD))
            }
            _ => {
                let (jump, breaks) = self.out_of_loop()?;
                self.hit(if breaks { "expr.break" } else { "expr.continue" });
                jump
            }
        };
        let value = self.expr(ty, depth);
        Some(fragment(
            BLOCK,
            match self.rng.below(5) {
                0 => format!("if {cond} {{ {jump}; }} else {{ {value} }}"),
                1 => format!("if {cond} {{ {value} }} else {{ {jump} }}"),
                2 => format!("match {cond} {{ true => {jump}, false => {{ {value} }} }}"),
                _ => format!("{{ if {cond} {{ {jump}; }} {value} }}"),
            },
        ))
    }

    fn block(&mut self, ty: &Ty, depth: usize) -> Fragment {
        let body = self.body_of(ty, depth);
        if self.rng.percent(15) && !self.in_func {
            self.hit("expr.unsafe");
            return fragment(BLOCK, format!("unsafe {body}"));
        }
        self.hit("expr.block");
        fragment(BLOCK, body)
    }

    /// `match` with a value.
    fn choice(&mut self, ty: &Ty, depth: usize) -> Fragment {
        if self.rng.percent(20) {
            self.hit("expr.match.bool");
            let on = self.cond(depth);
            let (yes, no) = (self.expr(ty, depth), self.expr(ty, depth));
            return fragment(
                BLOCK,
                format!("match {on} {{ true => {{ {yes} }} false => {{ {no} }} }}"),
            );
        }
        let num = *self.rng.pick(&Num::INTS);
        let on = self.any(&Ty::Num(num), depth);
        let on = if on.text.contains('{') { format!("({})", on.text) } else { on.text };
        let mut arms = Vec::new();
        for _ in 0..self.rng.within(0, 3) {
            self.hit("expr.match.arm");
            let pattern = self.pattern(num);
            let guard = if self.rng.percent(25) {
                self.hit("expr.match.guard");
                format!(" if {}", self.cond(depth.min(1)))
            } else {
                String::new()
            };
            let value = self.expr(ty, depth);
            arms.push(format!("{pattern}{guard} => {{ {value} }}"));
        }
        if self.rng.percent(40) {
            self.hit("expr.match.binding");
            let name = self.name();
            let mark = self.mark();
            self.bind(&name, Ty::Num(num), false);
            let value = self.expr(ty, depth);
            self.release(mark);
            arms.push(format!("{name} => {{ {value} }}"));
        } else {
            let value = self.expr(ty, depth);
            arms.push(format!("_ => {{ {value} }}"));
        }
        fragment(BLOCK, format!("match {on} {{ {} }}", arms.join(", ")))
    }

    pub(crate) fn pattern(&mut self, num: Num) -> String {
        let low = self.rng.below(60);
        match self.rng.below(6) {
            0 => {
                self.hit("pattern.or");
                format!("{low} | {}", low + 1)
            }
            1 => {
                self.hit("pattern.range");
                format!("{low}..{}", low + 1 + self.rng.below(40))
            }
            2 => {
                self.hit("pattern.range.closed");
                format!("{low}..={}", low + self.rng.below(40))
            }
            3 => {
                self.hit("pattern.range.open");
                format!("{}..", low + 60)
            }
            4 => {
                self.hit("pattern.path");
                format!("{}::MAX", num.name())
            }
            _ => {
                self.hit("pattern.literal");
                let sign = if num.is_signed() && self.rng.percent(30) { "-" } else { "" };
                format!("{sign}{low}")
            }
        }
    }
}
