//! The functions of the rival in C.

use std::{ffi::c_long, mem::ManuallyDrop};

use libloading::Library;
use quadrants_bench::c::compile;

macro_rules! functions {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// The functions of `rivals.c`.
        pub(crate) struct C {
            $($name: unsafe extern "C" fn($($ty),*),)*
            _library: ManuallyDrop<Library>,
        }

        impl C {
            /// Compiles and loads; says why where that cannot be.
            pub(crate) fn load(fast_math: bool) -> Result<Self, String> {
                let fast_math = fast_math.then_some("-ffast-math");
                let options: Vec<_> =
                    std::iter::once("-mprefer-vector-width=512").chain(fast_math).collect();
                let library = compile(include_str!("rivals.c"), &options)?;
                // SAFETY: the signatures are those of the C file.
                unsafe {
                    Ok(Self {
                        $($name: *library
                            .get(concat!(stringify!($name), "\0").as_bytes())
                            .map_err(|error| error.to_string())?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    touch(a: *mut f32, n: c_long);
    saxpy(a: f32, x: *const f32, y: *mut f32, n: c_long);
    jacobi(a: *const f32, b: *mut f32, n: c_long);
    sum(x: *const f32, total: *mut f32, n: c_long);
    mandelbrot(most: u32, out: *mut u32, n: c_long);
    nbody(
        x: *const f32, y: *const f32, z: *const f32, m: *const f32, ax: *mut f32, ay: *mut f32,
        az: *mut f32, n: c_long
    );
    chains(x: *mut f32, a: f32, b: f32, n: c_long);
}

impl C {
    pub(crate) fn touch(&self, a: &mut [f32]) {
        // SAFETY: `n` elements, as everywhere here.
        unsafe { (self.touch)(a.as_mut_ptr(), length(a)) }
    }

    pub(crate) fn saxpy(&self, a: f32, x: &[f32], y: &mut [f32]) {
        assert_eq!(x.len(), y.len());
        // SAFETY: both have `n` elements.
        unsafe { (self.saxpy)(a, x.as_ptr(), y.as_mut_ptr(), length(x)) }
    }

    pub(crate) fn jacobi(&self, a: &[f32], b: &mut [f32], n: usize) {
        assert!(a.len() == n * n && b.len() == n * n);
        // SAFETY: both have `n` rows of `n`.
        unsafe { (self.jacobi)(a.as_ptr(), b.as_mut_ptr(), n as c_long) }
    }

    pub(crate) fn sum(&self, x: &[f32], total: &mut f32) {
        // SAFETY: `n` elements and a cell.
        unsafe { (self.sum)(x.as_ptr(), total, length(x)) }
    }

    pub(crate) fn mandelbrot(&self, most: u32, out: &mut [u32], n: usize) {
        assert_eq!(out.len(), n * n);
        // SAFETY: `n` rows of `n`.
        unsafe { (self.mandelbrot)(most, out.as_mut_ptr(), n as c_long) }
    }

    pub(crate) fn nbody(&self, [x, y, z, m]: &[Vec<f32>; 4], [ax, ay, az]: &mut [Vec<f32>; 3]) {
        let n = x.len();
        assert!([y, z, m].iter().all(|of| of.len() == n));
        assert!([&ax, &ay, &az].iter().all(|of| of.len() == n));
        // SAFETY: all have `n` elements.
        unsafe {
            (self.nbody)(
                x.as_ptr(),
                y.as_ptr(),
                z.as_ptr(),
                m.as_ptr(),
                ax.as_mut_ptr(),
                ay.as_mut_ptr(),
                az.as_mut_ptr(),
                n as c_long,
            );
        }
    }

    pub(crate) fn chains(&self, x: &mut [f32], a: f32, b: f32) {
        // SAFETY: `n` elements.
        unsafe { (self.chains)(x.as_mut_ptr(), a, b, length(x)) }
    }
}

fn length(of: &[f32]) -> c_long {
    of.len() as c_long
}
