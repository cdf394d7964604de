//! Tensors of NumPy's `.npy` files, and files of tensors.
//!
//! The format is small, and files come from anywhere, so this reads them itself: nothing that a header claims is
//! believed before the size of the file agrees.

mod header;

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::Path,
};

use self::header::Header;
use crate::{Element, Error, NpyProblem, Program, Result, Tensor};

impl Program {
    /// A tensor with the elements of a `.npy` file, which may be in column-major order, or big-endian.
    ///
    /// # Errors
    /// [`Error::Npy`] where the file cannot be read, or has another type of elements or number of dimensions; and those
    /// of [`tensor_from`](Self::tensor_from).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// # let path = std::env::temp_dir().join(format!("quadrants-{}.npy", std::process::id()));
    /// prog.tensor_from(&[1.0_f32, 2.0, 3.0, 4.0], [2, 2])?.save_npy(&path)?;
    /// let t = prog.load_npy::<f32, 2>(&path)?;
    /// assert_eq!(t.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
    /// # std::fs::remove_file(&path).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn load_npy<T: Element, const N: usize>(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<Tensor<T, N>> {
        let path = path.as_ref();
        let read = read(path).map_err(|problem| Error::Npy { path: path.to_owned(), problem });
        let (elements, shape): (Vec<T>, [usize; N]) = read?;
        self.tensor_from(&elements, shape)
    }
}

impl<T: Element, const N: usize> Tensor<T, N> {
    /// Writes all elements to a `.npy` file, after every launch that wrote the tensor.
    ///
    /// # Errors
    /// [`Error::Npy`] where the file cannot be written, and those of [`to_vec`](Self::to_vec).
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, elements) = (path.as_ref(), self.to_vec()?);
        let write = || {
            let mut file = BufWriter::new(File::create(path)?);
            file.write_all(&header::written(T::TYPE, &self.shape()))?;
            // Native, and little-endian as all machines that drivers are for.
            file.write_all(T::bytes(&elements).unwrap_or_default())?;
            file.flush()
        };
        write().map_err(|error| Error::Npy { path: path.to_owned(), problem: error.into() })
    }
}

fn read<T: Element, const N: usize>(path: &Path) -> Result<(Vec<T>, [usize; N]), NpyProblem> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut file = BufReader::new(file);
    let Header { data_type, is_column_major, shape } = Header::read(&mut file)?;
    let (big_endian, names) = header::names(T::TYPE);
    if !names.contains(&data_type.as_str()) && data_type != big_endian {
        return Err(NpyProblem::DataType { found: data_type, expected: T::TYPE });
    }
    let dims = shape.len();
    let shape: [usize; N] =
        shape.try_into().map_err(|_| NpyProblem::Rank { found: dims, expected: N })?;
    // A file is not shorter than its elements; so this allocates at most its size.
    let size = size_of::<T>();
    let all = shape.iter().try_fold(size, |all, extent| all.checked_mul(*extent));
    let needed = all.filter(|needed| *needed as u64 <= bytes);
    let truncated = || NpyProblem::Truncated { shape: shape.to_vec(), bytes };
    let mut data = Vec::with_capacity(needed.ok_or_else(truncated)?);
    file.take(data.capacity() as u64).read_to_end(&mut data)?;
    if Some(data.len()) != needed {
        return Err(truncated());
    }
    let is_big_endian = data_type == big_endian && size > 1;
    let element = |bytes: &[u8]| {
        let fold = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        T::from_bits64(match is_big_endian {
            true => bytes.iter().fold(0, fold),
            false => bytes.iter().rev().fold(0, fold),
        })
    };
    let elements: Vec<T> = data.chunks_exact(size).map(element).collect();
    Ok((if is_column_major { row_major(&elements, &shape) } else { elements }, shape))
}

/// Elements in column-major order, in row-major order.
fn row_major<T: Copy>(elements: &[T], shape: &[usize]) -> Vec<T> {
    let mut index = vec![0; shape.len()];
    let mut out = Vec::with_capacity(elements.len());
    for _ in 0..elements.len() {
        let from = index.iter().zip(shape).rev().fold(0, |from, (at, extent)| from * extent + at);
        out.push(elements[from]);
        for (at, extent) in index.iter_mut().zip(shape).rev() {
            *at += 1;
            if *at < *extent {
                break;
            }
            *at = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::row_major;

    #[test]
    fn column_major_elements_are_reordered() {
        // The element at (i, j, k) is 100 i + 10 j + k.
        let shape = [2, 3, 4];
        let mut column_major = Vec::new();
        for k in 0..4 {
            for j in 0..3 {
                for i in 0..2 {
                    column_major.push(100 * i + 10 * j + k);
                }
            }
        }
        let sorted = row_major(&column_major, &shape);
        assert!(sorted.is_sorted() && sorted.len() == 24 && sorted[23] == 123, "{sorted:?}");
        assert_eq!(row_major(&[5], &[]), [5]);
    }
}
