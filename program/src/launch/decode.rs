//! Decoding of error records: the cause and the site of an error that a kernel reported.

use quadrants_ir::{Offloaded, ParamId, Site, SiteKind, abi::ErrorRecord};

use crate::{KernelErrorCause, body::resolve_site};

/// Decodes the error record of a kernel. Also returns the site, where the kernel has it.
pub(super) fn decode_cause<'a>(
    kernel: &'a Offloaded,
    record: &ErrorRecord,
) -> (KernelErrorCause, Option<&'a Site>) {
    let Some(site) = resolve_site(record, &kernel.sites) else {
        return (KernelErrorCause::Unknown { site: record.site }, None);
    };
    let site = &kernel.sites[site.index()];
    let values = &record.values[..(record.count as usize).min(record.values.len())];
    let cause = match &site.kind {
        SiteKind::Assert { message } => KernelErrorCause::Assert { message: message.clone() },
        SiteKind::DivideByZero => KernelErrorCause::DivideByZero,
        SiteKind::Bounds => KernelErrorCause::Bounds { iterations: values.to_vec() },
        SiteKind::SharedIndex(array) => {
            let (index, shape) = values.split_at(values.len() / 2);
            KernelErrorCause::Index {
                tensor: kernel.locals[*array].name.clone(),
                index: index.to_vec(),
                shape: shape.to_vec(),
            }
        }
        SiteKind::Index(param) => tensor_index(kernel, *param, values),
    };
    (cause, Some(site))
}

/// The cause of an index out of range. The values are the index and then the shape.
fn tensor_index(kernel: &Offloaded, param: ParamId, values: &[u64]) -> KernelErrorCause {
    let param = &kernel.params[param.index()];
    let (mut index, mut shape) = values.split_at(values.len() / 2);
    let rank = usize::from(param.kind.rank());
    let mut tensor = param.tensor();
    if rank < index.len() {
        // The index of a component is the element's index and the index of a scalar in it.
        let element_out_of_range =
            index.iter().zip(shape).take(rank).any(|(index, extent)| index >= extent);
        let wrong = if element_out_of_range { 0..rank } else { rank..index.len() };
        (index, shape) = (&index[wrong.clone()], &shape[wrong]);
        tensor = if element_out_of_range { tensor } else { &param.name };
    }
    KernelErrorCause::Index {
        tensor: tensor.to_owned(),
        index: index.to_vec(),
        shape: shape.to_vec(),
    }
}
