//! Dropout.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `dropout(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation='downgrade_in_infer')`
    Dropout::prob(
        /// The probability of an element to become zero.
        dropout_prob: f32,
    ) {
        /// Drop nothing.
        is_test: bool = false,
        /// The same elements in every run; `None` for the main program's `random_seed`.
        seed: Option<i32> = None,
        /// `downgrade_in_infer`: scale down when testing; `upscale_in_train`: scale up when training.
        dropout_implementation(into): String = "downgrade_in_infer".to_string(),
    }
}

impl Net {
    /// Sets elements to zero at random while training.
    #[track_caller]
    pub fn dropout(&mut self, x: &VarRef, options: Dropout) -> Result<VarRef> {
        let mut layer = self.layer("dropout");
        let dtype = layer.dtype(x)?;
        let program_seed = Some(layer.main.random_seed).filter(|&seed| seed != 0);
        let seed = options.seed.filter(|&seed| seed != 0).or(program_seed).or(options.seed);
        let (out, mask) = (layer.temp(dtype), layer.temp_without_gradient(DType::U8));
        let op = Op::new("dropout")
            .input("X", [x])
            .output("Out", [&out])
            .output("Mask", [&mask])
            .attr("dropout_prob", options.dropout_prob)
            .attr("is_test", options.is_test)
            .attr("fix_seed", seed.is_some())
            .attr("seed", seed.unwrap_or(0))
            .attr("dropout_implementation", options.dropout_implementation.as_str());
        layer.append_op(op)?;
        Ok(out)
    }
}
