//! Vector registers as values, for the few loops that the compiler does not vectorise reliably by itself.
#![allow(unsafe_code, reason = "vector instructions")]

use crate::gemm::GemmElem;

/// A register of several elements.
///
/// # Safety
/// Every function requires that the CPU has the instructions of the implementing type. Implementations touch exactly
/// `LANES` elements of memory.
pub unsafe trait Vector: Copy {
    /// The type of its elements.
    type Elem: GemmElem;
    /// How many.
    const LANES: usize;
    /// Rows of a tile of a matrix product: with two registers of columns, this number leaves room for the operands of one step.
    const ROWS: usize;

    /// All lanes the same.
    unsafe fn splat(value: Self::Elem) -> Self;
    /// The `LANES` elements from `from` on, which must be readable.
    unsafe fn load(from: *const Self::Elem) -> Self;
    /// Writes the `LANES` elements from `to` on, which must be writable.
    unsafe fn store(self, to: *mut Self::Elem);
    /// `self b + c`, lane by lane, rounded once or twice.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// Itself in the lanes where `by` is greater than 0, else 0.
    unsafe fn where_positive(self, by: Self) -> Self;
    /// The sum of the lanes, in a fixed order.
    unsafe fn sum(self) -> Self::Elem;
    /// `a b + c`, rounded as a lane of `mul_add` is.
    unsafe fn mul_add_one(a: Self::Elem, b: Self::Elem, c: Self::Elem) -> Self::Elem;

    /// Writes `LANES` rows of `LANES` elements, `from_stride` apart, as columns of rows `to_stride` apart.
    #[inline(always)]
    unsafe fn transpose(from: *const Self::Elem, from_stride: usize, to: *mut Self::Elem, to_stride: usize) {
        for r in 0..Self::LANES {
            for c in 0..Self::LANES {
                // SAFETY: the caller vouches for readable and writable blocks.
                unsafe { *to.add(c * to_stride + r) = *from.add(r * from_stride + c) };
            }
        }
    }
}

/// The registers of an element type on the CPUs we have kernels for.
pub trait Registers: Sized {
    /// AVX2 with FMA.
    #[cfg(target_arch = "x86_64")]
    type Bits256: Vector<Elem = Self>;
    /// AVX-512F.
    #[cfg(target_arch = "x86_64")]
    type Bits512: Vector<Elem = Self>;
}

/// A loop written once for all registers.
pub(crate) trait Kernel<T: GemmElem> {
    /// Runs it.
    ///
    /// # Safety
    /// The CPU must have the instructions of `V`.
    unsafe fn run<V: Vector<Elem = T>>(self);
}

/// The width of the widest registers of this CPU that we use, or 0 for portable code.
pub(crate) fn bits() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return 512;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return 256;
        }
    }
    0
}

/// Runs a kernel with the widest registers of this CPU.
pub(crate) fn run<T: GemmElem>(kernel: impl Kernel<T>) {
    #[cfg(target_arch = "x86_64")]
    match bits() {
        // SAFETY: just detected.
        512 => return unsafe { x86::run_512(kernel) },
        // SAFETY: just detected.
        256 => return unsafe { x86::run_256(kernel) },
        _ => {}
    }
    // SAFETY: `Portable` needs no special instructions.
    unsafe { kernel.run::<Portable<T>>() }
}

/// Four lanes for every CPU, and what the others are tested against.
#[derive(Clone, Copy)]
pub(crate) struct Portable<T>([T; 4]);

// SAFETY: `load` and `store` touch four elements; no special instructions are used.
unsafe impl<T: GemmElem> Vector for Portable<T> {
    type Elem = T;
    const LANES: usize = 4;
    const ROWS: usize = 6;

    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Portable([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller vouches for four readable elements; elements are plain data and the pointer is aligned to them.
        Portable(unsafe { from.cast::<[T; 4]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller vouches for four writable elements.
        unsafe { to.cast::<[T; 4]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Portable(std::array::from_fn(|l| self.0[l] * b.0[l] + c.0[l]))
    }

    #[inline(always)]
    unsafe fn where_positive(self, by: Self) -> Self {
        Portable(std::array::from_fn(|l| if by.0[l] > T::ZERO { self.0[l] } else { T::ZERO }))
    }

    #[inline(always)]
    unsafe fn sum(self) -> T {
        let [a, b, c, d] = self.0;
        (a + c) + (b + d)
    }

    #[inline(always)]
    unsafe fn mul_add_one(a: T, b: T, c: T) -> T {
        a * b + c
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Kernel, Registers, Vector};
    use crate::gemm::GemmElem;

    #[target_feature(enable = "avx512f")]
    pub(super) fn run_512<T: GemmElem>(kernel: impl Kernel<T>) {
        // SAFETY: these are the features of 512-bit registers.
        unsafe { kernel.run::<T::Bits512>() }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn run_256<T: GemmElem>(kernel: impl Kernel<T>) {
        // SAFETY: these are the features of 256-bit registers.
        unsafe { kernel.run::<T::Bits256>() }
    }

    impl Registers for f32 {
        type Bits256 = __m256;
        type Bits512 = __m512;
    }

    impl Registers for f64 {
        type Bits256 = __m256d;
        type Bits512 = __m512d;
    }

    /// Implements `Vector` by one intrinsic per function.
    macro_rules! vector {
        ($register:ty, $elem:ty, $lanes:literal, $rows:literal, $splat:ident, $load:ident, $store:ident, $fmadd:ident, $positive:expr, $sum:expr $(, $transpose:expr)?) => {
            // SAFETY: the intrinsics are those of the register's width, so `load` and `store` touch exactly its lanes.
            unsafe impl Vector for $register {
                type Elem = $elem;
                const LANES: usize = $lanes;
                const ROWS: usize = $rows;

                #[inline(always)]
                unsafe fn splat(value: $elem) -> Self {
                    // SAFETY: the caller vouches for the instructions.
                    unsafe { $splat(value) }
                }

                #[inline(always)]
                unsafe fn load(from: *const $elem) -> Self {
                    // SAFETY: the caller vouches for the instructions and for readable lanes; no alignment is needed.
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $elem) {
                    // SAFETY: the caller vouches for the instructions and for writable lanes; no alignment is needed.
                    unsafe { $store(to, self) }
                }

                #[inline(always)]
                unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                    // SAFETY: the caller vouches for the instructions.
                    unsafe { $fmadd(self, b, c) }
                }

                #[inline(always)]
                unsafe fn where_positive(self, by: Self) -> Self {
                    // SAFETY: the caller vouches for the instructions.
                    unsafe { $positive(self, by) }
                }

                #[inline(always)]
                unsafe fn sum(self) -> $elem {
                    // SAFETY: the caller vouches for the instructions.
                    unsafe { $sum(self) }
                }

                #[inline(always)]
                unsafe fn mul_add_one(a: $elem, b: $elem, c: $elem) -> $elem {
                    a.mul_add(b, c)
                }

                $(
                    #[inline(always)]
                    unsafe fn transpose(from: *const $elem, from_stride: usize, to: *mut $elem, to_stride: usize) {
                        // SAFETY: the caller vouches for the instructions and for both blocks.
                        unsafe { $transpose(from, from_stride, to, to_stride) }
                    }
                )?
            }
        };
    }

    vector!(
        __m256,
        f32,
        8,
        6,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        positive_8,
        sum_8,
        transpose_8
    );
    vector!(__m256d, f64, 4, 6, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, positive_4, sum_4);
    vector!(
        __m512,
        f32,
        16,
        12,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        positive_16,
        _mm512_reduce_add_ps,
        transpose_16
    );
    vector!(
        __m512d,
        f64,
        8,
        12,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        positive_8_wide,
        _mm512_reduce_add_pd
    );

    /// Eight rows of eight: pairs, then fours, then halves change places.
    ///
    /// # Safety
    /// Both blocks must be valid.
    #[target_feature(enable = "avx")]
    unsafe fn transpose_8(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
        let (mut rows, mut pairs, mut fours) =
            ([_mm256_setzero_ps(); 8], [_mm256_setzero_ps(); 8], [_mm256_setzero_ps(); 8]);
        for (r, row) in rows.iter_mut().enumerate() {
            // SAFETY: the caller vouches for the block.
            *row = unsafe { _mm256_loadu_ps(from.add(r * from_stride)) };
        }
        for i in 0..4 {
            pairs[2 * i] = _mm256_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
            pairs[2 * i + 1] = _mm256_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
        }
        for i in [0, 1, 4, 5] {
            let to = i / 4 * 4 + i % 4 * 2;
            fours[to] = _mm256_shuffle_ps::<0x44>(pairs[i], pairs[i + 2]);
            fours[to + 1] = _mm256_shuffle_ps::<0xee>(pairs[i], pairs[i + 2]);
        }
        for i in 0..4 {
            let low = _mm256_permute2f128_ps::<0x20>(fours[i], fours[i + 4]);
            let high = _mm256_permute2f128_ps::<0x31>(fours[i], fours[i + 4]);
            // SAFETY: the caller vouches for the block.
            unsafe {
                _mm256_storeu_ps(to.add(i * to_stride), low);
                _mm256_storeu_ps(to.add((i + 4) * to_stride), high);
            }
        }
    }

    /// Sixteen rows of sixteen, as four blocks of eight.
    ///
    /// # Safety
    /// Both blocks must be valid.
    #[target_feature(enable = "avx")]
    unsafe fn transpose_16(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
        for (down, across) in [(0, 0), (0, 8), (8, 0), (8, 8)] {
            // SAFETY: the caller vouches for the blocks, of which these are parts.
            unsafe {
                transpose_8(
                    from.add(down * from_stride + across),
                    from_stride,
                    to.add(across * to_stride + down),
                    to_stride,
                );
            }
        }
    }

    #[target_feature(enable = "avx")]
    #[inline]
    fn positive_8(v: __m256, by: __m256) -> __m256 {
        _mm256_and_ps(v, _mm256_cmp_ps::<_CMP_GT_OQ>(by, _mm256_setzero_ps()))
    }

    #[target_feature(enable = "avx")]
    #[inline]
    fn positive_4(v: __m256d, by: __m256d) -> __m256d {
        _mm256_and_pd(v, _mm256_cmp_pd::<_CMP_GT_OQ>(by, _mm256_setzero_pd()))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn positive_16(v: __m512, by: __m512) -> __m512 {
        _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(by, _mm512_setzero_ps()), v)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn positive_8_wide(v: __m512d, by: __m512d) -> __m512d {
        _mm512_maskz_mov_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(by, _mm512_setzero_pd()), v)
    }

    #[target_feature(enable = "avx")]
    fn sum_8(v: __m256) -> f32 {
        let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }

    #[target_feature(enable = "avx")]
    fn sum_4(v: __m256d) -> f64 {
        let two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Registers for f32 {}

#[cfg(not(target_arch = "x86_64"))]
impl Registers for f64 {}
