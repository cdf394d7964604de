//! The productions of the grammar, and how often each was used.

use std::collections::BTreeMap;

use crate::{collide::WAYS, types::METHODS};

/// Every production, by name.
pub const PRODUCTIONS: &[&str] = &[
    "collision.index",
    "collision.value",
    "expr.and",
    "expr.arithmetic",
    "expr.arithmetic.float",
    "expr.array",
    "expr.bits",
    "expr.block",
    "expr.bool.bits",
    "expr.break",
    "expr.call",
    "expr.call.method",
    "expr.call.path",
    "expr.call.tensor",
    "expr.cast",
    "expr.cast.bool",
    "expr.collision",
    "expr.compare",
    "expr.const.bits",
    "expr.const.of_type",
    "expr.continue",
    "expr.divide",
    "expr.equal.array",
    "expr.equal.struct",
    "expr.equal.tuple",
    "expr.from",
    "expr.from_bits",
    "expr.half",
    "expr.if",
    "expr.if.chain",
    "expr.len",
    "expr.len.array",
    "expr.linear.diagonal",
    "expr.linear.method",
    "expr.linear.number",
    "expr.linear.operator",
    "expr.linear.product",
    "expr.linear.scaled",
    "expr.linear.splat",
    "expr.literal.bool",
    "expr.literal.float",
    "expr.literal.inferred",
    "expr.literal.int",
    "expr.loop",
    "expr.loop.label",
    "expr.match.arm",
    "expr.match.binding",
    "expr.match.bool",
    "expr.match.guard",
    "expr.matrix",
    "expr.method",
    "expr.negate",
    "expr.not.bool",
    "expr.not.int",
    "expr.or",
    "expr.param.arithmetic",
    "expr.param.constant",
    "expr.param.from",
    "expr.param.method",
    "expr.param.path",
    "expr.path.from_number",
    "expr.path.method",
    "expr.random",
    "expr.read",
    "expr.repeat",
    "expr.return",
    "expr.shape",
    "expr.shift",
    "expr.struct.named",
    "expr.struct.tuple",
    "expr.tuple",
    "expr.unsafe",
    "expr.vector",
    "index.any",
    "index.away",
    "index.before",
    "index.least",
    "index.literal",
    "index.modulo",
    "index.own",
    "index.same.func",
    "index.same.method",
    "index.wild",
    "item.const",
    "item.func",
    "item.func.constant",
    "item.func.generic",
    "item.func.writer",
    "item.method.mut",
    "item.method.ref",
    "item.method.static",
    "item.method.value",
    "item.module",
    "item.struct.generic",
    "item.struct.named",
    "item.struct.tuple",
    "item.trait",
    "kernel.block_for",
    "kernel.block_size",
    "kernel.generic",
    "kernel.group",
    "kernel.loop",
    "kernel.loop.closed",
    "kernel.loop.from",
    "kernel.loop.reversed",
    "kernel.loop.scaled",
    "kernel.loop.shape",
    "kernel.loop.stepped",
    "kernel.ndrange.ranges",
    "kernel.ndrange.shape",
    "kernel.reduce",
    "kernel.reduction",
    "kernel.scan",
    "kernel.serial",
    "kernel.serial.loop",
    "kernel.serial.single",
    "kernel.shuffle",
    "kernel.stream_parallel",
    "kernel.tensor.high_rank",
    "kernel.tensor.scalar",
    "kernel.value",
    "kernel.vote",
    "loop.bounded",
    "loop.closed",
    "loop.loop",
    "loop.range",
    "loop.reversed",
    "loop.stepped",
    "loop.stepped.reversed",
    "loop.unroll",
    "loop.while",
    "macro.kernel",
    "macro.operand",
    "name.hidden",
    "name.label",
    "pattern.array",
    "pattern.literal",
    "pattern.or",
    "pattern.path",
    "pattern.range",
    "pattern.range.closed",
    "pattern.range.open",
    "pattern.shape",
    "pattern.struct.named",
    "pattern.struct.tuple",
    "pattern.tuple",
    "place.element",
    "place.field",
    "place.name",
    "stmt.assert",
    "stmt.assert.message",
    "stmt.assert.wild",
    "stmt.assign",
    "stmt.assign.compound",
    "stmt.assign.vector",
    "stmt.block",
    "stmt.break",
    "stmt.const",
    "stmt.continue",
    "stmt.if",
    "stmt.if.else",
    "stmt.jump.label",
    "stmt.let",
    "stmt.let.leaving",
    "stmt.let.shape",
    "stmt.let.typed",
    "stmt.match",
    "stmt.method.mut",
    "stmt.return",
    "stmt.write",
    "stmt.write.field",
    "stmt.write.func",
    "trap.by_glob",
    "trap.second",
];

/// How often each production was used.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
}

impl Coverage {
    pub(crate) fn hit(&mut self, name: &'static str) {
        debug_assert!(PRODUCTIONS.contains(&name), "`{name}` is not in the list of productions");
        *self.counts.entry(name.to_owned()).or_default() += 1;
    }

    pub(crate) fn hit_method(&mut self, name: &'static str) {
        *self.counts.entry(format!("method.{name}")).or_default() += 1;
    }

    pub(crate) fn hit_trap(&mut self, name: &'static str) {
        *self.counts.entry(format!("trap.{name}")).or_default() += 1;
    }

    /// Adds those of another module.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.counts {
            *self.counts.entry(name.clone()).or_default() += count;
        }
    }

    /// All productions in order, also those that were not used.
    #[must_use]
    pub fn all(&self) -> Vec<(String, u64)> {
        let methods = METHODS.iter().map(|method| format!("method.{}", method.name));
        let traps = WAYS.iter().map(|(name, _)| format!("trap.{name}"));
        let names = PRODUCTIONS.iter().map(|name| (*name).to_owned()).chain(methods).chain(traps);
        names.map(|name| (name.clone(), self.counts.get(&name).copied().unwrap_or(0))).collect()
    }
}
