//! SHOC md5: the MD5 hash of messages of 16 bytes, one message per loop iteration.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes,
};

/// The sines of 1 to 64, times 2^32.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
];
const SHIFTS: [u32; 16] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

#[qd::kernel]
fn md5(digests: &mut Tensor<u32, 2>) {
    for i in 0..digests.shape()[1] {
        let mut message = [0u32; 16];
        message[0] = i as u32;
        message[1] = (i as u32).wrapping_mul(2654435761);
        message[2] = !(i as u32);
        message[3] = 12345;
        message[4] = 0x80;
        message[14] = 128;
        let mut a = 0x67452301u32;
        let mut b = 0xefcdab89u32;
        let mut c = 0x98badcfeu32;
        let mut d = 0x10325476u32;
        for r in 0..64 {
            let (mixed, word) = if r < 16 {
                ((b & c) | (!b & d), r)
            } else if r < 32 {
                ((d & b) | (!d & c), (5 * r + 1) % 16)
            } else if r < 48 {
                (b ^ c ^ d, (3 * r + 5) % 16)
            } else {
                (c ^ (b | !d), (7 * r) % 16)
            };
            let sum = a.wrapping_add(mixed).wrapping_add(SINES[r]).wrapping_add(message[word]);
            a = d;
            d = c;
            c = b;
            b = b.wrapping_add(sum.rotate_left(SHIFTS[r / 16 * 4 + r % 4]));
        }
        digests[[0, i]] = a.wrapping_add(0x67452301);
        digests[[1, i]] = b.wrapping_add(0xefcdab89);
        digests[[2, i]] = c.wrapping_add(0x98badcfe);
        digests[[3, i]] = d.wrapping_add(0x10325476);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 24, cpu: 1 << 16, small: 1001 };
    let Some(case) = corpus.case("shoc/md5", sizes) else { return Ok(()) };
    let n = case.n();
    let digests = corpus.program().zeros::<u32, 2>([4, n])?;
    case.buffers([vec![0u32; 4 * n].into()])
        .results(&[(0, 0.0)])
        .cuda(
            include_str!("md5.cu"),
            vec![CudaLaunch::linear("md5", n, &[Buffer(0), I32(n as i32)])],
        )
        .c(include_str!("md5.c"), &[n])
        .run(digests, |digests| md5(digests).launch(), |digests| Ok(vec![digests.to_vec()?.into()]))
}
