//! Plain gradient descent.

use oarlock_ir::Attr;

use crate::optimizer::Rule;

rule! {
    /// `SGD(learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None)`: `p -= rate * g`.
    sgd() -> Sgd {}
}

declare! {
    /// Stochastic gradient descent: ``p -= rate * g``.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    ///     >>> operators, gradients = fluid.optimizer.SGD(0.001).minimize(loss)
    ///     >>> sorted(parameter.name for parameter, gradient in gradients)
    ///     ['fc_0.b_0', 'fc_0.w_0']
    sgd: "SGDOptimizer(learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None)"
        => |_| Sgd {}
}

impl Rule for Sgd {
    fn op_type(&self) -> &'static str {
        "sgd"
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        Vec::new()
    }
}
