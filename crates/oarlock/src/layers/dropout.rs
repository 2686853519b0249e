//! Dropout.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::declare::{Args, declare};
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

declare! {
    /// Sets elements to 0 at random in training, with the probability ``dropout_prob``.
    ///
    /// It keeps units of a network from relying on each other. A program made by ``clone(for_test=True)`` drops
    /// nothing.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     dropout_prob (float): the probability of 0, in ``[0, 1]``.
    ///     is_test (bool): drop nothing.
    ///     seed (int): the same seed drops the same elements in every run; ``None``: other ones in every run, which
    ///         follow from ``Program.random_seed`` if that is set.
    ///     dropout_implementation (str): ``downgrade_in_infer``: elements keep their value in training and are
    ///         multiplied by ``1 - dropout_prob`` in tests; ``upscale_in_train``: elements that are kept are divided by
    ///         ``1 - dropout_prob`` in training, and tests return ``x``.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     ValueError: ``dropout_prob`` is not in ``[0, 1]``, or ``dropout_implementation`` is unknown (when the
    ///         program runs).
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 4])
    ///     >>> out = fluid.layers.dropout(x, 0.5, dropout_implementation="upscale_in_train")
    ///     >>> test_program = fluid.default_main_program().clone(for_test=True)
    ///     >>> exe, feed = fluid.Executor(), {"x": np.ones([100, 4], "float32")}
    ///     >>> sorted(set(exe.run(feed=feed, fetch_list=[out])[0].ravel().tolist()))
    ///     [0.0, 2.0]
    ///     >>> sorted(set(exe.run(test_program, feed=feed, fetch_list=[out])[0].ravel().tolist()))
    ///     [1.0]
    "nn.dropout(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation='downgrade_in_infer')"
        => |net, a| net.dropout(&a.var("x")?, Dropout::prob(a.f32("dropout_prob")?).is_test(a.bool("is_test")?)
        .seed(a.opt("seed", Args::i32)?).dropout_implementation(a.str("dropout_implementation")?));
}
