//! Constants and random numbers.

use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    const F32: DType = DType::F32;
    cases! {
        "fill_constant([2,3],'float32',1.5)" [] |net| net.fill_constant([2, 3], F32, 1.5);
        "fill_constant_batch_size_like(x,[-1,3],'float32',1.0)" [x]
            |net| net.fill_constant_batch_size_like(&x, &[-1, 3], F32, 1.0, (0, 0));
        "zeros([2],'float32')" [] |net| net.zeros([2], F32);
        "ones([2],'float32')" [] |net| net.ones([2], F32);
        "zeros_like(x)" [x] |net| net.zeros_like(&x);
        "ones_like(x)" [x] |net| net.ones_like(&x);
        "full_like(x,3.0)" [x] |net| net.full_like(&x, 3.0, None);
        "uniform_random([2,3])" [] |net| net.uniform_random([2, 3], F32, (-1.0, 1.0), 0);
        "gaussian_random([2,3])" [] |net| net.gaussian_random([2, 3], (0.0, 1.0), 0, F32);
        "uniform_random_batch_size_like(x,[-1,3])" [x]
            |net| net.uniform_random_batch_size_like(&x, &[-1, 3], (-1.0, 1.0), 0, (0, 0));
        "gaussian_random_batch_size_like(x,[-1,3])" [x]
            |net| net.gaussian_random_batch_size_like(&x, &[-1, 3], (0.0, 1.0), 0, (0, 0));
        "sampling_id(x)" [x] |net| net.sampling_id(&x, (0.0, 1.0), 0);
        "randint(0,5,[3])" [] |net| net.randint((0, 5), [3], DType::I64, 0);
        "assign(x)" [x] |net| net.assign(&x);
        "assign(np.array([1,2],'float32'))" []
            |net| net.assign_value(&Tensor::from_slice([2], &[1.0f32, 2.0]).expect("two values"));
        "eye(3)" [] |net| net.eye(3, None, F32);
        "linspace(0.0,1.0,5,'float32')" [] |net| net.linspace(0.0, 1.0, 5, F32);
        "range(0,5,1,'int64')" [] |net| net.range(0.0, 5.0, 1.0, DType::I64);
    }
}
