//! Decoding of error records: the cause and the site of an error that a kernel reported.

use quadrants_ir::{
    Array, Assertion, Comparison, Const, Offloaded, Site, SiteKind, abi::ErrorRecord,
};

use crate::{
    KernelErrorCause,
    body::{is_index_error, resolve_site},
};

/// Decodes the error record of a kernel. Also returns the site, where the kernel has it.
pub(super) fn decode_cause<'a>(
    kernel: &'a Offloaded,
    record: &ErrorRecord,
) -> (KernelErrorCause, Option<&'a Site>) {
    let values = &record.values[..(record.count as usize).min(record.values.len())];
    let Some(site) = resolve_site(record, &kernel.sites) else {
        let cause = is_index_error(record).then(|| one_of_the_indices(kernel, values)).flatten();
        return (cause.unwrap_or(KernelErrorCause::Unknown { site: record.site }), None);
    };
    let site = &kernel.sites[site.index()];
    let cause = match &site.kind {
        SiteKind::Assert(assertion) => assertion_cause(assertion, values),
        SiteKind::Print { .. } => KernelErrorCause::Unknown { site: record.site },
        SiteKind::DivideByZero => KernelErrorCause::DivideByZero,
        SiteKind::Bounds => KernelErrorCause::BoundWrapped { iterations: values.to_vec() },
        SiteKind::Index(array) => index_cause(kernel, *array, values),
        SiteKind::ArrayIndex { name, shape } => KernelErrorCause::IndexOutOfRange {
            tensor: name.clone(),
            index: values.to_vec(),
            shape: shape.iter().copied().map(u64::from).collect(),
        },
    };
    (cause, Some(site))
}

/// The cause of an index out of range whose site is not known: rustc gives one location for all of a kernel that a
/// macro makes. Names all tensors that are indexed in this way.
fn one_of_the_indices(kernel: &Offloaded, values: &[u64]) -> Option<KernelErrorCause> {
    let mut found: Option<(Vec<String>, Vec<u64>, Vec<u64>)> = None;
    for site in &kernel.sites {
        let SiteKind::Index(array) = site.kind else { continue };
        let indices = match array {
            Array::Tensor(param) => kernel.params[param.index()].kind.indices(),
            Array::Shared(array) | Array::Local(array) => kernel.shared_rank(array).unwrap_or(1),
        };
        let KernelErrorCause::IndexOutOfRange { tensor, index, shape } =
            index_cause(kernel, array, values)
        else {
            continue;
        };
        if 2 * indices != values.len() {
            continue;
        }
        let (names, ..) = found.get_or_insert((Vec::new(), index, shape));
        if !names.contains(&tensor) {
            names.push(tensor);
        }
    }
    let (names, index, shape) = found?;
    Some(KernelErrorCause::IndexOutOfRange { tensor: names.join("` or `"), index, shape })
}

/// The cause of a failed assertion, with the values in its text.
fn assertion_cause(assertion: &Assertion, values: &[u64]) -> KernelErrorCause {
    let values = assertion.types.iter().zip(values);
    let values: Vec<Const> = values.map(|(ty, bits)| Const::from_bits(*ty, *bits)).collect();
    let message = assertion.message.fill(&values);
    match &assertion.comparison {
        None => KernelErrorCause::Assert { message },
        Some(Comparison { equal, left, right }) => KernelErrorCause::Comparison {
            operator: if *equal { "==" } else { "!=" },
            left: left.fill(&values),
            right: right.fill(&values),
            message: (!message.is_empty()).then_some(message),
        },
    }
}

/// The cause of an index out of range. The values are the index and then the shape.
fn index_cause(kernel: &Offloaded, array: Array, values: &[u64]) -> KernelErrorCause {
    let (mut index, mut shape) = values.split_at(values.len() / 2);
    let tensor = match array {
        Array::Tensor(param) => {
            let param = &kernel.params[param.index()];
            let rank = usize::from(param.kind.rank());
            // The index of a component is the element's index and the index of a scalar in it.
            let element_out_of_range =
                index.iter().zip(shape).take(rank).any(|(index, extent)| index >= extent);
            let is_component = rank < index.len();
            if is_component {
                let wrong = if element_out_of_range { 0..rank } else { rank..index.len() };
                (index, shape) = (&index[wrong.clone()], &shape[wrong]);
            }
            if is_component && !element_out_of_range { &param.name } else { param.tensor() }
        }
        Array::Shared(array) | Array::Local(array) => {
            // The last index of a component selects a scalar of an element; it is in range.
            let rank = kernel.shared_rank(array).unwrap_or(index.len()).min(index.len());
            (index, shape) = (&index[..rank], &shape[..rank.min(shape.len())]);
            &kernel.locals[array].name
        }
    };
    KernelErrorCause::IndexOutOfRange {
        tensor: tensor.to_owned(),
        index: index.to_vec(),
        shape: shape.to_vec(),
    }
}
