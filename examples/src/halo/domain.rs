//! The part of a field that one device has, and its steps.

use quadrants::{
    self as qd, Slice, Stream, Tensor,
    collectives::{Communicator, Group},
};

use super::{Equations, Exchange, Problem, kernels};

/// The rows of a device, with a row of each neighbour above and below them.
pub(crate) struct Domain<'a> {
    equations: Equations,
    communicator: &'a Communicator,
    /// The field and the next one.
    fields: [Tensor<f32, 3>; 2],
    exchange: Exchange,
    /// For the exchange without an order.
    stream: Stream,
}

impl<'a> Domain<'a> {
    /// The `rows` of a rank, beginning with row `first` of the field, at the start.
    pub(crate) fn new(
        problem: &Problem,
        communicator: &'a Communicator,
        [first, rows]: [usize; 2],
    ) -> crate::Result<Self> {
        let (program, [height, width]) = (communicator.program(), problem.size);
        let shape = [rows + 2, problem.equations.values(), width];
        let mut fields = [program.zeros(shape)?, program.zeros(shape)?];
        match problem.equations {
            Equations::Jacobi => kernels::jacobi_start(first, height, &mut fields[0]).launch()?,
            Equations::Fluid => kernels::fluid_start(first, height, &mut fields[0]).launch()?,
        }
        let stream = program.create_stream()?;
        let Problem { equations, exchange, .. } = *problem;
        Ok(Self { equations, communicator, fields, exchange, stream })
    }

    /// Enqueues a step. The host does not wait.
    pub(crate) fn step(&mut self) -> crate::Result<()> {
        self.enqueue()?;
        self.fields.swap(0, 1);
        Ok(())
    }

    fn enqueue(&mut self) -> crate::Result<()> {
        let Self { equations, communicator, fields: [from, to], exchange, stream } = self;
        let (program, rows) = (communicator.program(), to.shape()[0] - 2);
        // The neighbours need the first and the last row first.
        let (mut above, mut rest) = to.split_at_mut(1)?;
        let (mut first, mut rest) = rest.split_at_mut(1)?;
        let (mut middle, mut rest) = rest.split_at_mut(rows - 2)?;
        let (mut last, mut below) = rest.split_at_mut(1)?;
        let around = [from.slice(..3)?, from.slice(rows - 1..)?];
        equations.edges(&around, &mut first, &mut last)?;
        let mut interior = || equations.step(&*from.slice(1..=rows)?, &mut middle);
        let mut swap_rows = || -> qd::collectives::Result<()> {
            let (rank, size) = (communicator.rank(), communicator.size());
            let (up, down) = ((rank + size - 1) % size, (rank + 1) % size);
            let mut group = Group::new();
            // With two ranks, both messages have the same receiver, which takes them in this order.
            group.send(communicator, &first, up)?.send(communicator, &last, down)?;
            group.receive(communicator, &mut below, down)?;
            group.receive(communicator, &mut above, up)?;
            group.run()
        };
        match exchange {
            Exchange::Overlapped => {
                let mut exchanged = Ok(());
                program.stream_parallel(|region| {
                    // An error of a collective operation is not one of a program.
                    region.block(|| {
                        exchanged = swap_rows();
                        Ok(())
                    })?;
                    region.block(&mut interior)
                })?;
                exchanged?;
            }
            Exchange::Left => interior()?,
            Exchange::Unordered => {
                stream.scope(&mut swap_rows)?;
                interior()?;
            }
        }
        Ok(())
    }

    /// The rows of the device, without those of its neighbours.
    pub(crate) fn rows(&self) -> qd::Result<Vec<f32>> {
        let field = &self.fields[0];
        field.slice(1..field.shape()[0] - 1)?.to_vec()
    }
}

impl Equations {
    fn step(self, from: &Tensor<f32, 3>, to: &mut Tensor<f32, 3>) -> qd::Result<()> {
        match self {
            Self::Jacobi => kernels::jacobi(from, to).launch(),
            Self::Fluid => kernels::fluid(from, to).launch(),
        }
    }

    fn edges(
        self,
        [around_first, around_last]: &[Slice<'_, f32, 3>; 2],
        first: &mut Tensor<f32, 3>,
        last: &mut Tensor<f32, 3>,
    ) -> qd::Result<()> {
        match self {
            Self::Jacobi => kernels::jacobi_edges(around_first, around_last, first, last).launch(),
            Self::Fluid => kernels::fluid_edges(around_first, around_last, first, last).launch(),
        }
    }
}
