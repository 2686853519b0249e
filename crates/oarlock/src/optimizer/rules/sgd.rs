use oarlock_ir::Attr;

use crate::optimizer::Rule;

rule! {
    /// `SGD(learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None)`: `p -= rate * g`.
    sgd() -> Sgd {}
}

impl Rule for Sgd {
    fn op_type(&self) -> &'static str {
        "sgd"
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        Vec::new()
    }
}
