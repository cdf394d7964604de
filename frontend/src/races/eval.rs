//! Evaluation of expressions in a sample launch.

use quadrants_ir::{
    AtomicOp, BinaryOp, DivRemOp, MathFn, ScalarType, UnaryOp,
    races::{Counter, Index, IntType, NodeId, TensorRead, TicketSource, Uniformity, ValueNode},
};

use super::{
    access::SampledAccessKind,
    loops::assigned,
    sample::SampleSymbol,
    value::AbstractValue,
    walk::{Binding, SampleWalk},
};
use crate::{
    literal,
    syntax::{Block, Expr, ExprKind, LiteralKind, LogicOp, Stmt, StmtKind},
    visit::{self, any_in_block, base_name},
};

const BOOL: IntType = Some(ScalarType::Bool);

/// The types of the elements that can be `Distinct`.
const INTEGERS: [&str; 6] = ["i32", "i64", "u32", "u64", "usize", "isize"];

impl SampleWalk<'_> {
    /// Evaluates an expression; records its accesses.
    pub(super) fn eval(&mut self, expr: &Expr) -> AbstractValue {
        let outer = std::mem::take(&mut self.device_value);
        let value = self.eval_kind(expr);
        if self.wants_texts() && !matches!(expr.kind, ExprKind::Literal { .. }) {
            let is_operation = matches!(
                expr.kind,
                ExprKind::Binary { .. }
                    | ExprKind::Unary { .. }
                    | ExprKind::Cast { .. }
                    | ExprKind::Logic { .. }
                    | ExprKind::If { .. }
                    | ExprKind::Block(_)
                    | ExprKind::Unsafe(_)
            );
            if value == AbstractValue::Data && (!is_operation || self.device_value.is_empty()) {
                self.device_value = self.text(expr);
            }
            self.describe(&value, expr);
        }
        if self.device_value.is_empty() {
            self.device_value = outer;
        }
        value
    }

    fn eval_kind(&mut self, expr: &Expr) -> AbstractValue {
        match &expr.kind {
            ExprKind::Literal { kind: LiteralKind::Float, .. } => AbstractValue::Data,
            ExprKind::Literal { kind: LiteralKind::Bool, text, .. } => {
                AbstractValue::Number((text == "true").into())
            }
            ExprKind::Literal { kind: LiteralKind::Int, text, .. } => {
                let number = literal::integer(text).and_then(|bits| i128::try_from(bits).ok());
                number.map_or(AbstractValue::Data, AbstractValue::Number)
            }
            ExprKind::Name(name) => match self.lookup(name) {
                Some(Binding::Value(value)) => value.clone(),
                _ => AbstractValue::Data,
            },
            ExprKind::Const(at) => {
                AbstractValue::Number(SampleSymbol::Const(*at).value(self.sample))
            }
            ExprKind::Unary { op, value } => {
                let value = self.eval(value);
                self.unary(*op, &value)
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.eval(lhs), self.eval(rhs));
                self.binary(*op, &lhs, &rhs)
            }
            ExprKind::Logic { op, lhs, rhs } => {
                let (lhs, rhs) = (self.eval(lhs), self.eval(rhs));
                let op = if *op == LogicOp::And { BinaryOp::And } else { BinaryOp::Or };
                let (Some(a), Some(b)) = (self.node_id(&lhs), self.node_id(&rhs)) else {
                    // The launch may know one of them, which may be enough.
                    if [&lhs, &rhs].contains(&&AbstractValue::AtLaunch) {
                        return AbstractValue::AtLaunch;
                    }
                    return self.partly_known(&lhs, &rhs);
                };
                self.computed(ValueNode::Binary(op, BOOL, a, b))
            }
            ExprKind::Cast { value, is_narrow, .. } => {
                let value = self.eval(value);
                // Another value, which the type limits.
                if let AbstractValue::Node(id) = value
                    && *is_narrow
                    && self.task.wide_reads.contains(&id)
                    && matches!(self.task.builder.node(id), ValueNode::Unknown { .. })
                {
                    let key = ("as".to_owned(), Index::from_slice(&[id]));
                    if let Some(id) = self.task.results.get(&key) {
                        return AbstractValue::Node(*id);
                    }
                    let id = self.unknown_node(self.task.builder.uniformity(id));
                    self.task.results.insert(key, id);
                    return AbstractValue::Node(id);
                }
                // The type is unknown here: a float becomes an unknown integer.
                if value != AbstractValue::Data {
                    return value;
                }
                self.unknown_here()
            }
            ExprKind::If { cond, then, otherwise } => self.branch(cond, then, otherwise.as_ref()),
            ExprKind::Block(block) => self.block(block),
            ExprKind::Loop { body, .. } => {
                self.loop_body(body);
                AbstractValue::Data
            }
            ExprKind::Unsafe(block) => self.unsafe_block(block),
            ExprKind::Index { base, index } => {
                if let Some(Binding::Shape(tensor)) = self.lookup(base) {
                    let tensor = tensor.clone();
                    return match index.first().map(|axis| self.eval(axis)) {
                        Some(axis) => axis
                            .as_number()
                            .map_or(AbstractValue::AtLaunch, |a| self.extent(&tensor, a)),
                        None => AbstractValue::Data,
                    };
                }
                if let Some(Binding::Value(array)) = self.lookup(base) {
                    let array = array.clone();
                    let values: Vec<AbstractValue> =
                        index.iter().map(|index| self.eval(index)).collect();
                    return self.element_of(&array, &values);
                }
                self.read(expr)
            }
            ExprKind::Element { .. } | ExprKind::Field { .. }
                if self.element_part(expr).is_some() =>
            {
                self.read(expr)
            }
            ExprKind::Element { value, index } => {
                let value = self.eval_whole(value);
                let index: Vec<AbstractValue> =
                    index.iter().map(|index| self.eval(index)).collect();
                self.element_of(&value, &index)
            }
            ExprKind::Field { value, name } => {
                let value = self.eval_whole(value);
                self.part_of(&value, name)
            }
            ExprKind::Aggregate { parts, .. } => {
                let values: Vec<AbstractValue> = parts.iter().map(|part| self.eval(part)).collect();
                // A `Vector` or `Matrix` is constructed from one array.
                match &values[..] {
                    [one @ AbstractValue::Parts(_)] => one.clone(),
                    _ => {
                        let numbered = values.into_iter().enumerate();
                        AbstractValue::Parts(
                            numbered.map(|(at, value)| (at.to_string(), value)).collect(),
                        )
                    }
                }
            }
            ExprKind::Struct { fields, base, .. } => {
                let fields = fields.iter();
                let mut parts: Vec<_> =
                    fields.map(|(name, value)| (name.clone(), self.eval(value))).collect();
                match base.as_ref().map(|base| self.eval(base)) {
                    None => AbstractValue::Parts(parts),
                    Some(AbstractValue::Parts(rest)) => {
                        let is_given = |name: &String| parts.iter().any(|(given, _)| given == name);
                        let rest: Vec<_> =
                            rest.iter().filter(|(name, _)| !is_given(name)).cloned().collect();
                        parts.extend(rest);
                        AbstractValue::Parts(parts)
                    }
                    Some(_) => AbstractValue::Data,
                }
            }
            ExprKind::Repeat { value, .. } => {
                self.eval(value);
                AbstractValue::Data
            }
            ExprKind::Associated { args, .. } => {
                let values: Vec<AbstractValue> = args.iter().map(|arg| self.eval(arg)).collect();
                AbstractValue::unknown(values.iter().all(|value| self.known_at_launch(value)))
            }
            ExprKind::Len { base } => {
                // The rank of a shape, or the length of a local array.
                match self.lookup(base) {
                    Some(Binding::Shape(_) | Binding::Value(_)) => AbstractValue::AtLaunch,
                    Some(Binding::Shared { len, .. }) => len.clone(),
                    _ => self.len(base),
                }
            }
            ExprKind::Extent { base, axis } => match self.eval(axis).as_number() {
                Some(axis) => self.extent(base, axis),
                None => AbstractValue::AtLaunch,
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
                        "index" => index.get(axis).cloned().unwrap_or(AbstractValue::Data),
                        _ => threads.clone(),
                    };
                }
                let receiver = self.eval(receiver);
                let args: Vec<AbstractValue> = args.iter().map(|arg| self.eval(arg)).collect();
                // The length of an array, which its type determines, or a func of this name.
                if name == "len" && args.is_empty() {
                    return AbstractValue::AtLaunch;
                }
                self.method(name, &receiver, &args)
            }
            ExprKind::Call { args, has_receiver, read_only_args, .. } => {
                self.call(args, (*has_receiver, *read_only_args), expr)
            }
            ExprKind::Atomic { op, place, expected, value } => {
                let Some(part) = self.element_part(place) else { return AbstractValue::Data };
                let values = self.index_values(&part);
                if let Some(expected) = expected {
                    self.eval(expected);
                }
                let by = self.eval(value);
                let counts = *op == AtomicOp::Add;
                let kind =
                    if counts { SampledAccessKind::Count } else { SampledAccessKind::Atomic };
                let text = self.text(place);
                let (fields, shown) = (part.fields.clone(), (expr.span, text.clone()));
                self.push_access(kind, part.base, fields, values.clone(), shown);
                let ticket = if counts {
                    self.ticket(part.base, part.fields, &values, &by, &text)
                } else {
                    None
                };
                ticket.unwrap_or_else(|| {
                    let value = self.unknown(Uniformity::Iteration);
                    let why = match counts {
                        true => {
                            "`atomic_add` returns values that differ (tickets) only on integers"
                        }
                        false => "only `atomic_add` returns values that differ (tickets)",
                    };
                    self.explain(&value, || {
                        format!(
                            "an index depends on the old value of `{text}`, which may repeat: {why}"
                        )
                    });
                    value
                })
            }
            ExprKind::Phase(phase) => {
                let changed = changed_arrays(&phase.body);
                self.phase(&phase.name, changed, |this| {
                    this.block(&phase.body);
                });
                AbstractValue::Data
            }
            ExprKind::StreamParallel(_) | ExprKind::BlockFor(_) | ExprKind::Unsupported(_) => {
                AbstractValue::Data
            }
        }
    }

    /// The value of an aggregate of which a part is used. The launch knows the parts of constants.
    fn eval_whole(&mut self, value: &Expr) -> AbstractValue {
        match value.kind {
            ExprKind::Const(_) => AbstractValue::AtLaunch,
            _ => self.eval(value),
        }
    }

    fn read(&mut self, place: &Expr) -> AbstractValue {
        let Some(part) = self.element_part(place) else { return AbstractValue::Data };
        let values = self.index_values(&part);
        self.record_access(SampledAccessKind::Read, &part, values.clone(), place);
        // The launch knows which elements keep their values from phase to phase.
        if let Some(Binding::Shared { .. }) = self.lookup(part.base)
            && self.threads.as_ref().is_some_and(|threads| !threads.changes(part.base))
        {
            return AbstractValue::AtLaunch;
        }
        let (is_unchanged, distinct) = match self.lookup(part.base) {
            Some(&Binding::Tensor { writable: false, distinct }) => (true, distinct),
            Some(Binding::Tensor { .. }) => (self.is_unchanged(part.base), None),
            _ => (false, None),
        };
        let index: Option<Index> = values.iter().map(|value| self.node_id(value)).collect();
        let text = self.text(place);
        let is_int = self.elem_of(part.base).is_none_or(|elem| INTEGERS.contains(&elem));
        let may_differ = is_unchanged && distinct.is_none() && part.fields.is_empty() && is_int;
        let tensor = part.base;
        let origin = || {
            if distinct.is_some() {
                return format!(
                    "of `{text}`, which an index depends on, it is only known that the elements of `{tensor}` differ \
                     from each other"
                );
            }
            let help = match may_differ {
                true => {
                    format!(" (if all elements of `{tensor}` differ, take it as `&Distinct<…>`)")
                }
                false => String::new(),
            };
            format!("an index depends on `{text}`, which only the device knows{help}")
        };
        let Some(index) = index.filter(|_| is_unchanged && self.loops > 0) else {
            let value = self.unknown(Uniformity::Iteration);
            if let AbstractValue::Node(id) = value
                && self.is_wide(&part)
            {
                self.task.wide_reads.insert(id);
            }
            self.explain(&value, origin);
            return value;
        };
        let is_wide = self.is_wide(&part);
        let uniformity = self.task.builder.uniformity_of(&index);
        let key = (part.base.to_owned(), part.fields, index);
        if let Some(id) = self.task.reads.get(&key) {
            return AbstractValue::Node(*id);
        }
        let value = match distinct.filter(|_| uniformity > Uniformity::Loop) {
            Some(tensor) => {
                let (index, extents) = (key.2.clone(), Index::new());
                let read = TensorRead { tensor, ty: None, index, extents };
                let read = self.task.builder.distinct(read);
                AbstractValue::Node(self.task.push(read))
            }
            None => self.unknown(uniformity),
        };
        if let AbstractValue::Node(id) = value {
            if distinct.is_none() && uniformity > Uniformity::Loop {
                self.task.compared_read(&key, id);
            }
            self.task.reads.insert(key, id);
            self.task.wide_reads.extend(is_wide.then_some(id));
        }
        self.explain(&value, origin);
        value
    }

    /// Whether an element is an integer of at least 32 bits.
    fn is_wide(&self, part: &super::walk::ElementPart<'_>) -> bool {
        const WIDE: [&str; 6] = ["i32", "u32", "i64", "u64", "isize", "usize"];
        let elem = self.elems.get(part.base).map(String::as_str);
        part.fields.is_empty() && elem.is_some_and(|elem| WIDE.contains(&elem))
    }

    /// The old value of an atomic addition.
    fn ticket(
        &mut self,
        tensor: &str,
        fields: Vec<String>,
        index: &[AbstractValue],
        amount: &AbstractValue,
        text: &str,
    ) -> Option<AbstractValue> {
        if index.contains(&AbstractValue::AtLaunch) || *amount == AbstractValue::AtLaunch {
            return Some(AbstractValue::AtLaunch);
        }
        let cell: Option<Index> = index.iter().map(|value| self.node_id(value)).collect();
        let (cell, amount) = (cell?, self.node_id(amount)?);
        let phase = self.threads.as_ref().filter(|threads| threads.in_phase);
        let (counted, phase) = match self.lookup(tensor) {
            Some(Binding::Shared { array, .. }) => ((array.clone(), fields), Some(phase?.phases)),
            _ => ((tensor.to_owned(), fields), None),
        };
        let known = self.task.counted.iter().position(|other| *other == counted);
        let number = known.unwrap_or_else(|| {
            self.task.counted.push(counted);
            self.task.counted.len() - 1
        });
        let array = number as u32;
        let source = match phase {
            Some(phase) => TicketSource::Shared { array, phase },
            None => TicketSource::Tensor(array),
        };
        let counters = &mut self.task.builder.graph.counters;
        let counter = counters.len();
        counters.push(Counter {
            source,
            ty: None,
            cell,
            extents: Index::new(),
            amount,
            is_of_one_thread: false,
        });
        self.task.cells.push(text.to_owned());
        let is_narrow = matches!(self.elems.get(tensor).map(String::as_str), Some("u32" | "i32"));
        let long = self.long_loops.last().copied().filter(|_| is_narrow && phase.is_none());
        self.task.long_loops.push(long);
        Some(AbstractValue::Node(
            self.task.push(ValueNode::Ticket { counter, addition: counter as u32 }),
        ))
    }

    /// Evaluates both branches, each under its condition.
    fn branch(&mut self, cond: &Expr, then: &Block, otherwise: Option<&Block>) -> AbstractValue {
        let known = self.eval(cond);
        let cond = self.condition(&known);
        let changed = assigned(&[Some(then), otherwise]);
        let before = self.locals(&changed);
        let mark = self.conditions.len();
        self.assume(cond, true);
        let if_so = self.block(then);
        self.conditions.truncate(mark);
        let after_then = self.locals(&changed);
        self.set_locals(&changed, before);
        self.assume(cond, false);
        let if_not = otherwise.map_or(AbstractValue::Data, |block| self.block(block));
        self.conditions.truncate(mark);
        let after_otherwise = self.locals(&changed);
        let ends = [Some(then), otherwise].map(|block| block.is_some_and(always_jumps));
        let merged = match ends {
            // The code that follows runs only after the other branch.
            [true, _] => {
                self.assume(cond, false);
                after_otherwise
            }
            [false, true] => {
                self.assume(cond, true);
                after_then
            }
            [false, false] => {
                let both = changed.iter().zip(after_then.into_iter().zip(after_otherwise));
                let merged = both.map(|(name, (a, b))| {
                    let value = self.either(&known, a?, b?);
                    self.note_text(&value, name);
                    Some(value)
                });
                merged.collect()
            }
        };
        self.set_locals(&changed, merged);
        self.either(&known, if_so, if_not)
    }

    /// The value of an `if` expression, or of a local after one.
    fn either(
        &mut self,
        cond: &AbstractValue,
        then: AbstractValue,
        otherwise: AbstractValue,
    ) -> AbstractValue {
        match cond.as_number() {
            Some(0) => return otherwise,
            Some(_) => return then,
            None if then == otherwise => return then,
            None => {}
        }
        if let (AbstractValue::Parts(a), AbstractValue::Parts(b)) = (&then, &otherwise)
            && a.iter().map(|part| &part.0).eq(b.iter().map(|part| &part.0))
        {
            let parts = a
                .iter()
                .zip(b)
                .map(|((name, a), (_, b))| (name.clone(), self.either(cond, a.clone(), b.clone())));
            return AbstractValue::Parts(parts.collect());
        }
        if self.loops == 0 {
            return if self.known_at_launch(cond) {
                AbstractValue::AtLaunch
            } else {
                AbstractValue::Data
            };
        }
        let ids = [cond, &then, &otherwise].map(|value| self.node_id(value));
        match ids {
            [Some(cond), Some(then), Some(otherwise)] => {
                self.computed(ValueNode::Select(cond, then, otherwise))
            }
            [None, Some(_), Some(_)] if *cond != AbstractValue::AtLaunch => {
                self.device_value_of(Uniformity::Iteration)
            }
            _ => {
                let followed = self.is_followed_at_launch(&[&then, &otherwise]);
                AbstractValue::unknown(*cond == AbstractValue::AtLaunch || followed)
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, value: &AbstractValue) -> AbstractValue {
        let Some(id) = self.node_id(value) else {
            return AbstractValue::unknown(*value == AbstractValue::AtLaunch);
        };
        match op {
            UnaryOp::Neg => self.computed(ValueNode::Unary(op, None, id)),
            UnaryOp::Not if self.is_bool(id) => self.computed(ValueNode::Unary(op, BOOL, id)),
            // The type is unknown here: `!` of a bool or of an integer.
            UnaryOp::Not if value.as_number().is_some() => AbstractValue::AtLaunch,
            _ => self.result_of(&[id]),
        }
    }

    fn is_bool(&self, id: NodeId) -> bool {
        match self.task.builder.node(id) {
            ValueNode::Binary(op, ty, ..) => op.is_comparison() || ty == BOOL,
            ValueNode::Unary(UnaryOp::Not, ty, _) => ty == BOOL,
            _ => false,
        }
    }

    /// The value of an operation with an operand that is no integer of the loop.
    fn partly_known(&mut self, lhs: &AbstractValue, rhs: &AbstractValue) -> AbstractValue {
        let both_known = self.known_at_launch(lhs) && self.known_at_launch(rhs);
        if both_known || self.is_followed_at_launch(&[lhs, rhs]) {
            AbstractValue::AtLaunch
        } else {
            self.unknown_here()
        }
    }

    /// Whether the launch knows more about a result of these operands: it knows one of them, and the others are the
    /// same for all threads of a block.
    fn is_followed_at_launch(&self, operands: &[&AbstractValue]) -> bool {
        let is_followed = |value: &AbstractValue| match *value {
            AbstractValue::Node(id) => self.task.builder.uniformity(id) < Uniformity::Iteration,
            _ => false,
        };
        operands.contains(&&AbstractValue::AtLaunch)
            && operands.iter().all(|value| self.known_at_launch(value) || is_followed(value))
    }

    /// A value that only the device knows.
    fn unknown_here(&mut self) -> AbstractValue {
        if self.loops > 0 { self.unknown(Uniformity::Iteration) } else { AbstractValue::Data }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        lhs: &AbstractValue,
        rhs: &AbstractValue,
    ) -> AbstractValue {
        let (Some(a), Some(b)) = (self.node_id(lhs), self.node_id(rhs)) else {
            return self.partly_known(lhs, rhs);
        };
        let bools = self.is_bool(a) && self.is_bool(b);
        let ty = if bools { BOOL } else { None };
        self.computed(match op {
            BinaryOp::Div => ValueNode::DivRem(DivRemOp::Div, None, a, b),
            BinaryOp::Rem => ValueNode::DivRem(DivRemOp::Rem, None, a, b),
            _ => ValueNode::Binary(op, ty, a, b),
        })
    }

    fn method(
        &mut self,
        name: &str,
        receiver: &AbstractValue,
        args: &[AbstractValue],
    ) -> AbstractValue {
        let all_known =
            self.known_at_launch(receiver) && args.iter().all(|arg| self.known_at_launch(arg));
        if matches!(receiver, AbstractValue::Parts(_)) {
            return AbstractValue::unknown(all_known);
        }
        let ids: Option<Vec<NodeId>> =
            std::iter::once(receiver).chain(args).map(|value| self.node_id(value)).collect();
        let Some(ids) = ids else {
            return if all_known { AbstractValue::AtLaunch } else { self.unknown_here() };
        };
        let node = match (name, &ids[..]) {
            ("wrapping_add", &[a, b]) => ValueNode::Binary(BinaryOp::Add, None, a, b),
            ("wrapping_sub", &[a, b]) => ValueNode::Binary(BinaryOp::Sub, None, a, b),
            ("wrapping_mul", &[a, b]) => ValueNode::Binary(BinaryOp::Mul, None, a, b),
            ("min", &[a, b]) => ValueNode::Limit(MathFn::Min, None, a, b),
            ("max", &[a, b]) => ValueNode::Limit(MathFn::Max, None, a, b),
            ("abs", &[a]) => ValueNode::Abs(None, a),
            // Equal to the operators where the dividend is not negative.
            ("div_euclid", &[a, b]) => ValueNode::DivRem(DivRemOp::Div, None, a, b),
            ("rem_euclid", &[a, b]) => ValueNode::DivRem(DivRemOp::Rem, None, a, b),
            ("div_ceil", &[a, b]) => {
                let one = self.task.push(ValueNode::Const(1));
                let last = self.task.push(ValueNode::Binary(BinaryOp::Sub, None, b, one));
                let sum = self.task.push(ValueNode::Binary(BinaryOp::Add, None, a, last));
                ValueNode::DivRem(DivRemOp::Div, None, sum, b)
            }
            // The width of the type is known at launch.
            ("reverse_bits", _) => return AbstractValue::AtLaunch,
            (_, ids) => {
                let key = (name.to_owned(), Index::from_slice(ids));
                if let Some(id) = self.task.results.get(&key) {
                    return AbstractValue::Node(*id);
                }
                let value = self.result_of(ids);
                if let AbstractValue::Node(id) = value {
                    self.task.results.insert(key, id);
                }
                self.explain(&value, || {
                    format!(
                        "an index depends on a result of `{name}`, which the race check does not follow"
                    )
                });
                return value;
            }
        };
        self.computed(node)
    }

    /// Records the accesses of a call. The func's body is unknown here; the launch knows it.
    fn call(
        &mut self,
        args: &[Expr],
        (has_receiver, read_only_args): (bool, u64),
        call: &Expr,
    ) -> AbstractValue {
        let mut data = false;
        // What a func returns may then be a ticket of a counter.
        let mut counts = false;
        for (at, arg) in args.iter().enumerate() {
            // The method may take `&mut self`; only rustc knows.
            if has_receiver
                && at == 0
                && let Some(part) = self.element_part(arg)
                && let Some(Binding::Tensor { writable: true, .. } | Binding::Shared { .. }) =
                    self.lookup(part.base)
            {
                let values = self.index_values(&part);
                self.record_access(SampledAccessKind::Read, &part, values.clone(), arg);
                self.record_access(SampledAccessKind::Write, &part, values, arg);
                data = true;
                continue;
            }
            if let ExprKind::Name(name) = &arg.kind
                && let Some(Binding::Tensor { writable, .. }) = self.lookup(name)
            {
                let writable =
                    *writable && read_only_args.checked_shr(at as u32).unwrap_or(0) & 1 == 0;
                data = true;
                counts |= writable;
                let kinds = [SampledAccessKind::Read, SampledAccessKind::Write];
                for kind in &kinds[..1 + usize::from(writable)] {
                    let shown = (call.span, name.clone());
                    self.push_access(*kind, name, Vec::new(), vec![AbstractValue::AtLaunch], shown);
                }
                continue;
            }
            let value = self.eval(arg);
            data |= !self.known_at_launch(&value);
        }
        if let Some(local) = args.first().filter(|_| has_receiver).and_then(base_name) {
            self.set_locals(&[local], vec![Some(AbstractValue::unknown(!data))]);
        }
        AbstractValue::unknown(!data || counts)
    }
}

/// The names of what the code of a phase may change: assigned, changed by an atomic, or given to a func.
pub(super) fn changed_arrays(body: &Block) -> Vec<String> {
    let mut changed = Vec::new();
    let mut add = |place: &Expr| changed.extend(base_name(place).map(str::to_owned));
    any_in_block(body, &mut |node| {
        match node {
            visit::Node::Stmt(Stmt { kind: StmtKind::Assign { target, .. }, .. }) => add(target),
            visit::Node::Expr(expr) => match &expr.kind {
                ExprKind::Atomic { place, .. } => add(place),
                ExprKind::Call { args, .. } => args.iter().for_each(&mut add),
                ExprKind::Method { receiver, .. } => add(receiver),
                _ => {}
            },
            visit::Node::Stmt(_) => {}
        }
        false
    });
    changed
}

/// Whether a block always ends with a jump, so that the code after it does not run.
fn always_jumps(block: &Block) -> bool {
    let jumps = |expr: &Expr| match &expr.kind {
        ExprKind::If { then, otherwise: Some(otherwise), .. } => {
            always_jumps(then) && always_jumps(otherwise)
        }
        ExprKind::Block(block) | ExprKind::Unsafe(block) => always_jumps(block),
        _ => false,
    };
    let last = block.stmts.last().map(|stmt| &stmt.kind);
    let by_stmt = last.is_some_and(|stmt| match stmt {
        StmtKind::Break { .. }
        | StmtKind::Continue { .. }
        | StmtKind::Return { .. }
        | StmtKind::Unreachable => true,
        StmtKind::Expr(expr) => jumps(expr),
        _ => false,
    });
    by_stmt || block.value.as_deref().is_some_and(jumps)
}
