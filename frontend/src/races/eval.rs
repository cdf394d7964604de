//! Evaluation of expressions in a sample launch.

use quadrants_ir::{AtomicOp, BinaryOp, UnaryOp, races::AffineForm};

use super::{
    access::AccessKind,
    sample::Symbol,
    value::{Counter, Value},
    walk::{Binding, Walk},
};
use crate::{
    literal,
    syntax::{Expr, ExprKind, LiteralKind, LogicOp},
};

impl Walk<'_> {
    /// Evaluates an expression; records its accesses.
    pub(super) fn eval(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Literal { kind: LiteralKind::Float, .. } => Value::Data,
            ExprKind::Literal { kind: LiteralKind::Bool, text, .. } => {
                Value::number((text == "true").into())
            }
            ExprKind::Literal { kind: LiteralKind::Int, text, .. } => {
                let number = literal::integer(text).and_then(|bits| i128::try_from(bits).ok());
                number.map_or(Value::Data, Value::number)
            }
            ExprKind::Name(name) => match self.lookup(name) {
                Some(Binding::Value(value)) => value.clone(),
                _ => Value::Data,
            },
            ExprKind::Const(at) => Value::number(Symbol::Const(*at).value(self.sample)),
            ExprKind::Unary { op, value } => {
                let value = self.eval(value);
                match (op, self.form(&value)) {
                    (UnaryOp::Neg, Some(form)) => AffineForm::constant(0).sub(form).into(),
                    // The type is unknown here: `!` of a bool or of an integer.
                    (UnaryOp::Not, Some(form)) if form.value().is_some() => Value::AtLaunch,
                    _ => Value::Data,
                }
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.eval(lhs), self.eval(rhs));
                self.binary(*op, &lhs, &rhs)
            }
            ExprKind::Logic { op, lhs, rhs } => {
                let (lhs, rhs) = (self.eval(lhs), self.eval(rhs));
                match (op, lhs.as_number(), rhs.as_number()) {
                    (LogicOp::And, Some(a), Some(b)) => Value::number(i128::from(a != 0 && b != 0)),
                    (LogicOp::Or, Some(a), Some(b)) => Value::number(i128::from(a != 0 || b != 0)),
                    _ => Value::Data,
                }
            }
            ExprKind::Cast { value, .. } => self.eval(value),
            ExprKind::If { cond, then, otherwise } => {
                let (pins, found) = (self.pins.len(), self.pins_of(cond));
                let cond = self.eval(cond);
                self.pins.extend(found);
                let then = self.block(then);
                self.pins.truncate(pins);
                let otherwise = otherwise.as_ref().map_or(Value::Data, |block| self.block(block));
                match cond.as_number() {
                    Some(0) => otherwise,
                    Some(_) => then,
                    None if then == otherwise => then,
                    None if cond == Value::AtLaunch => Value::AtLaunch,
                    None => Value::Data,
                }
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Loop { body, .. } => {
                self.loop_body(body);
                Value::Data
            }
            ExprKind::Unsafe(block) => self.unsafe_block(block),
            ExprKind::Index { base, index } => {
                if let Some(Binding::Shape(tensor)) = self.lookup(base) {
                    let tensor = tensor.clone();
                    return match index.first().map(|axis| self.eval(axis)) {
                        Some(axis) => {
                            axis.as_number().map_or(Value::AtLaunch, |a| self.extent(&tensor, a))
                        }
                        None => Value::Data,
                    };
                }
                if let Some(Binding::Value(array)) = self.lookup(base) {
                    let array = array.clone();
                    let values: Vec<Value> = index.iter().map(|index| self.eval(index)).collect();
                    return array.element(&values);
                }
                self.read(expr)
            }
            ExprKind::Element { .. } | ExprKind::Field { .. }
                if self.element_part(expr).is_some() =>
            {
                self.read(expr)
            }
            ExprKind::Element { value, index } => {
                let value = self.eval(value);
                let index: Vec<Value> = index.iter().map(|index| self.eval(index)).collect();
                value.element(&index)
            }
            ExprKind::Field { value, name } => self.eval(value).part(name),
            ExprKind::Aggregate { parts, .. } => {
                let values: Vec<Value> = parts.iter().map(|part| self.eval(part)).collect();
                // A `Vector` or `Matrix` is constructed from one array.
                match &values[..] {
                    [one @ Value::Parts(_)] => one.clone(),
                    _ => {
                        let numbered = values.into_iter().enumerate();
                        Value::Parts(numbered.map(|(at, value)| (at.to_string(), value)).collect())
                    }
                }
            }
            ExprKind::Struct { fields, base, .. } => {
                let fields = fields.iter();
                let mut parts: Vec<_> =
                    fields.map(|(name, value)| (name.clone(), self.eval(value))).collect();
                match base.as_ref().map(|base| self.eval(base)) {
                    None => Value::Parts(parts),
                    Some(Value::Parts(rest)) => {
                        let is_given = |name: &String| parts.iter().any(|(given, _)| given == name);
                        let rest: Vec<_> =
                            rest.iter().filter(|(name, _)| !is_given(name)).cloned().collect();
                        parts.extend(rest);
                        Value::Parts(parts)
                    }
                    Some(_) => Value::Data,
                }
            }
            ExprKind::Repeat { value, .. } => {
                self.eval(value);
                Value::Data
            }
            ExprKind::Associated { args, .. } => {
                let values: Vec<Value> = args.iter().map(|arg| self.eval(arg)).collect();
                Value::unknown(values.iter().all(Value::known_at_launch))
            }
            ExprKind::Len { base } => {
                // The rank of a shape, or the length of a local array.
                match self.lookup(base) {
                    Some(Binding::Shape(_) | Binding::Value(_)) => Value::AtLaunch,
                    Some(Binding::Shared { len, .. }) => len.clone(),
                    _ => self.len(base),
                }
            }
            ExprKind::Extent { base, axis } => match self.eval(axis).as_number() {
                Some(axis) => self.extent(base, axis),
                None => Value::AtLaunch,
            },
            ExprKind::Method { receiver, name, args, .. } => {
                if let ExprKind::Name(block) = &receiver.kind
                    && let Some(Binding::Block { index, threads }) = self.lookup(block)
                {
                    let axis = match args.first().map(|axis| &axis.kind) {
                        Some(ExprKind::Literal { text, .. }) => text.parse().unwrap_or(0),
                        _ => 0usize,
                    };
                    return match name.as_str() {
                        "index" => index.get(axis).cloned().unwrap_or(Value::Data),
                        _ => threads.clone(),
                    };
                }
                let receiver = self.eval(receiver);
                let args: Vec<Value> = args.iter().map(|arg| self.eval(arg)).collect();
                // The length of an array, which its type determines, or a func of this name.
                if name == "len" && args.is_empty() {
                    return Value::AtLaunch;
                }
                self.method(name, &receiver, &args)
            }
            ExprKind::Call { args, has_receiver, read_only_args, .. } => {
                self.call(args, (*has_receiver, *read_only_args), expr)
            }
            ExprKind::Atomic { op, place, expected, value } => {
                let Some(part) = self.element_part(place) else { return Value::Data };
                let values = self.index_values(&part);
                if let Some(expected) = expected {
                    self.eval(expected);
                }
                let by = self.eval(value).as_number();
                // A constant has a sample value here; its real value is known at launch.
                let one = match value.kind {
                    ExprKind::Literal { .. } => by == Some(1),
                    ExprKind::Const(_) => true,
                    _ => false,
                };
                let counts = *op == AtomicOp::Add && one;
                let kind = if counts { AccessKind::Count } else { AccessKind::Atomic };
                let numbers: Vec<_> = values.iter().map(Value::as_number).collect();
                let shown = Expr { kind: place.kind.clone(), span: expr.span };
                self.record_access(kind, &part, values, &shown);
                // A shared counter returns each number once per block, not once per launch.
                let is_shared = matches!(self.lookup(part.base), Some(Binding::Shared { .. }));
                if kind == AccessKind::Count && !is_shared && numbers.iter().all(Option::is_some) {
                    let (tensor, fields) = (part.base.to_owned(), part.fields);
                    Value::Ticket(Counter { tensor, fields, index: numbers })
                } else {
                    Value::Data
                }
            }
            ExprKind::Phase(phase) => {
                self.phase(&phase.name, |this| {
                    this.block(&phase.body);
                });
                Value::Data
            }
            ExprKind::StreamParallel(_) | ExprKind::BlockFor(_) | ExprKind::Unsupported(_) => {
                Value::Data
            }
        }
    }

    fn read(&mut self, place: &Expr) -> Value {
        if let Some(part) = self.element_part(place) {
            let values = self.index_values(&part);
            self.record_access(AccessKind::Read, &part, values, place);
        }
        Value::Data
    }

    /// The loop variables that a condition compares equal to a value of all iterations, and those values.
    fn pins_of(&mut self, cond: &Expr) -> Vec<(usize, i128)> {
        match &cond.kind {
            ExprKind::Logic { op: LogicOp::And, lhs, rhs } => {
                let mut pins = self.pins_of(lhs);
                pins.extend(self.pins_of(rhs));
                pins
            }
            ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs } if is_plain(lhs) && is_plain(rhs) => {
                let (lhs, rhs) = (self.eval(lhs), self.eval(rhs));
                let (Some(lhs), Some(rhs)) = (self.form(&lhs), self.form(&rhs)) else {
                    return Vec::new();
                };
                let pin = |(value, with): (AffineForm, AffineForm)| {
                    (0..self.task.dims.len()).find_map(|at| {
                        let offset = value.sub(AffineForm::var(at))?.value()?;
                        Some((at, with.value()? - offset))
                    })
                };
                [(lhs, rhs), (rhs, lhs)].into_iter().find_map(pin).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, lhs: &Value, rhs: &Value) -> Value {
        let (Some(a), Some(b)) = (self.form(lhs), self.form(rhs)) else {
            return Value::unknown(lhs.known_at_launch() && rhs.known_at_launch());
        };
        let bit = |value: bool| Value::number(i128::from(value));
        let shift = |b: i128| u32::try_from(b).ok().filter(|b| *b < 64);
        match op {
            BinaryOp::Add => return a.add(b).into(),
            BinaryOp::Sub => return a.sub(b).into(),
            BinaryOp::Mul => return a.mul(b).into(),
            BinaryOp::Div | BinaryOp::Rem => {
                let parts = b.value().and_then(|by| self.task.space.div_rem(a, by));
                return parts.map(|p| if op == BinaryOp::Div { p.0 } else { p.1 }).into();
            }
            BinaryOp::Shl => {
                let by = b.value().and_then(shift);
                return by.and_then(|by| a.mul(AffineForm::constant(1 << by))).into();
            }
            _ => {}
        }
        match (op, a.value(), b.value()) {
            (BinaryOp::Shr, Some(a), Some(b)) => {
                shift(b).map_or(Value::Data, |b| Value::number(a >> b))
            }
            (BinaryOp::And, Some(a), Some(b)) => Value::number(a & b),
            (BinaryOp::Or, Some(a), Some(b)) => Value::number(a | b),
            (BinaryOp::Xor, Some(a), Some(b)) => Value::number(a ^ b),
            (BinaryOp::Eq, Some(a), Some(b)) => bit(a == b),
            (BinaryOp::Ne, Some(a), Some(b)) => bit(a != b),
            (BinaryOp::Lt, Some(a), Some(b)) => bit(a < b),
            (BinaryOp::Le, Some(a), Some(b)) => bit(a <= b),
            (BinaryOp::Gt, Some(a), Some(b)) => bit(a > b),
            (BinaryOp::Ge, Some(a), Some(b)) => bit(a >= b),
            _ => Value::Data,
        }
    }

    fn method(&mut self, name: &str, receiver: &Value, args: &[Value]) -> Value {
        if matches!(receiver, Value::Parts(_)) {
            return Value::unknown(
                receiver.known_at_launch() && args.iter().all(Value::known_at_launch),
            );
        }
        let [arg] = args else { return Value::Data };
        let op = match name {
            "wrapping_add" => BinaryOp::Add,
            "wrapping_sub" => BinaryOp::Sub,
            "wrapping_mul" => BinaryOp::Mul,
            _ => {
                let (Some(a), Some(b)) = (self.form(receiver), self.form(arg)) else {
                    return Value::Data;
                };
                let form = match name {
                    "min" => match self.task.space.min(a, b) {
                        None => return Value::Least([a, b]),
                        least => least,
                    },
                    "max" => self.task.space.max(a, b),
                    "div_ceil" => match (a.value(), b.value()) {
                        (Some(a), Some(by)) if by > 0 => {
                            Some(AffineForm::constant((a + by - 1).div_euclid(by)))
                        }
                        _ => None,
                    },
                    _ => None,
                };
                return form.into();
            }
        };
        self.binary(op, receiver, arg)
    }

    /// Records the accesses of a call. The func's body is unknown here; the launch knows it.
    fn call(
        &mut self,
        args: &[Expr],
        (has_receiver, read_only_args): (bool, u64),
        call: &Expr,
    ) -> Value {
        let mut data = false;
        for (at, arg) in args.iter().enumerate() {
            // The method may take `&mut self`; only rustc knows.
            if has_receiver
                && at == 0
                && let Some(part) = self.element_part(arg)
                && let Some(Binding::Tensor { writable: true }) = self.lookup(part.base)
            {
                let values = self.index_values(&part);
                self.record_access(AccessKind::Read, &part, values.clone(), arg);
                self.record_access(AccessKind::Write, &part, values, arg);
                data = true;
                continue;
            }
            if let ExprKind::Name(name) = &arg.kind
                && let Some(Binding::Tensor { writable }) = self.lookup(name)
            {
                let writable =
                    *writable && read_only_args.checked_shr(at as u32).unwrap_or(0) & 1 == 0;
                data = true;
                let kinds = [AccessKind::Read, AccessKind::Write];
                for kind in &kinds[..1 + usize::from(writable)] {
                    let shown = (call.span, name.clone());
                    self.push_access(*kind, name, Vec::new(), vec![Value::Data], shown);
                }
                continue;
            }
            data |= !self.eval(arg).known_at_launch();
        }
        Value::unknown(!data)
    }
}

/// Whether the evaluation of an expression records no access and knows its value. It does not know that of a cast,
/// which may be to a narrower type.
fn is_plain(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Name(_)
        | ExprKind::Literal { .. }
        | ExprKind::Const(_)
        | ExprKind::Len { .. }
        | ExprKind::Extent { .. } => true,
        ExprKind::Binary { lhs, rhs, .. } => is_plain(lhs) && is_plain(rhs),
        _ => false,
    }
}
