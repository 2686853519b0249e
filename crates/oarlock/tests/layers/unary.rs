//! Functions of elements, operators on variables, reductions, comparisons.

use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    let families = [elementwise(), activations(), parametrised(), reductions(), comparisons()];
    families.into_iter().flatten().collect()
}

fn elementwise() -> Vec<Case> {
    cases! {
        "elementwise_add(x,x1)" [x x1] |net| net.elementwise_add(&x, &x1, Elementwise::new());
        "elementwise_add(img,v3,axis=1,act='relu')" [img v3]
            |net| net.elementwise_add(&img, &v3, Elementwise::new().axis(1).act("relu"));
        "elementwise_sub(x,x1)" [x x1] |net| net.elementwise_sub(&x, &x1, Elementwise::new());
        "elementwise_mul(x,x1)" [x x1] |net| net.elementwise_mul(&x, &x1, Elementwise::new());
        "elementwise_div(x,x1)" [x x1] |net| net.elementwise_div(&x, &x1, Elementwise::new());
        "elementwise_max(x,x1)" [x x1] |net| net.elementwise_max(&x, &x1, Elementwise::new());
        "elementwise_min(x,x1)" [x x1] |net| net.elementwise_min(&x, &x1, Elementwise::new());
        "elementwise_pow(x,x1)" [x x1] |net| net.elementwise_pow(&x, &x1, Elementwise::new());
        "elementwise_mod(i,i2)" [i i2] |net| net.elementwise_mod(&i, &i2, Elementwise::new());
        "elementwise_floordiv(i,i2)" [i i2] |net| net.elementwise_floordiv(&i, &i2, Elementwise::new());
        "x+x1" [x x1] |net| net.add(&x, &x1);
        "x*2.0" [x] |net| net.times(&x, 2.0);
        "1.0-x" [x] |net| net.rsub(1.0, &x);
        "x/x1" [x x1] |net| net.div(&x, &x1);
        "x**2.0" [x] |net| net.power(&x, 2.0);
        "-x" [x] |net| net.neg(&x);
        "x<x1" [x x1] |net| net.lt(&x, &x1);
    }
}

fn activations() -> Vec<Case> {
    cases! {
        "relu(x)" [x] |net| net.relu(&x);
        "sigmoid(x)" [x] |net| net.sigmoid(&x);
        "logsigmoid(x)" [x] |net| net.logsigmoid(&x);
        "tanh(x)" [x] |net| net.tanh(&x);
        "tanh_shrink(x)" [x] |net| net.tanh_shrink(&x);
        "exp(x)" [x] |net| net.exp(&x);
        "log(x)" [x] |net| net.log(&x);
        "log1p(x)" [x] |net| net.log1p(&x);
        "sqrt(x)" [x] |net| net.sqrt(&x);
        "rsqrt(x)" [x] |net| net.rsqrt(&x);
        "square(x)" [x] |net| net.square(&x);
        "abs(x)" [x] |net| net.abs(&x);
        "ceil(x)" [x] |net| net.ceil(&x);
        "floor(x)" [x] |net| net.floor(&x);
        "round(x)" [x] |net| net.round(&x);
        "reciprocal(x)" [x] |net| net.reciprocal(&x);
        "softplus(x)" [x] |net| net.softplus(&x);
        "softsign(x)" [x] |net| net.softsign(&x);
        "sin(x)" [x] |net| net.sin(&x);
        "cos(x)" [x] |net| net.cos(&x);
        "acos(x)" [x] |net| net.acos(&x);
        "asin(x)" [x] |net| net.asin(&x);
        "atan(x)" [x] |net| net.atan(&x);
        "erf(x)" [x] |net| net.erf(&x);
        "sign(x)" [x] |net| net.sign(&x);
    }
}

fn parametrised() -> Vec<Case> {
    cases! {
        "relu6(x)" [x] |net| net.relu6(&x, 6.0);
        "leaky_relu(x)" [x] |net| net.leaky_relu(&x, None);
        "elu(x)" [x] |net| net.elu(&x, 1.0);
        "gelu(x)" [x] |net| net.gelu(&x, false);
        "swish(x)" [x] |net| net.swish(&x, 1.0);
        "hard_sigmoid(x)" [x] |net| net.hard_sigmoid(&x, 0.2, 0.5);
        "hard_swish(x)" [x] |net| net.hard_swish(&x, 6.0, 6.0, 3.0);
        "brelu(x)" [x] |net| net.brelu(&x, 0.0, 24.0);
        "stanh(x)" [x] |net| net.stanh(&x, 0.67, 1.7159);
        "pow(x)" [x] |net| net.pow(&x, 1.0);
        "selu(x)" [x] |net| net.selu(&x, None, None);
        "soft_relu(x)" [x] |net| net.soft_relu(&x, 40.0);
        "softshrink(x)" [x] |net| net.softshrink(&x, None);
        "hard_shrink(x)" [x] |net| net.hard_shrink(&x, None);
        "thresholded_relu(x)" [x] |net| net.thresholded_relu(&x, None);
        "mish(x)" [x] |net| net.mish(&x, 20.0);
        "clip(x,-1.0,1.0)" [x] |net| net.clip(&x, -1.0, 1.0);
        "clip_by_norm(x,1.0)" [x] |net| net.clip_by_norm(&x, 1.0);
        "scale(x,2.0,1.0,act='relu')" [x] |net| net.scale(&x, Scale::by(2.0).bias(1.0).act("relu"));
        "prelu(img,'all')" [img] |net| net.prelu(&img, "all", true);
        "prelu(img,'channel')" [img] |net| net.prelu(&img, "channel", true);
        "prelu(fx,'element')" [fx] |net| net.prelu(&fx, "element", true);
        "maxout(img2,2)" [img2] |net| net.maxout(&img2, 2, 1);
        "cast(x,'int64')" [x] |net| net.cast(&x, DType::I64);
        "increment(one)" [one] |net| net.increment(&one, 1.0);
        "cumsum(x)" [x] |net| net.cumsum(&x, None, false, false);
    }
}

fn reductions() -> Vec<Case> {
    cases! {
        "sum([x,x1])" [x x1] |net| net.sum(&[&x, &x1]);
        "sums([x,x1])" [x x1] |net| net.sum(&[&x, &x1]);
        "mean(x)" [x] |net| net.mean(&x);
        "reduce_sum(t3,dim=1)" [t3] |net| net.reduce_sum(&t3, Reduce::dims([1]));
        "reduce_sum(t3)" [t3] |net| net.reduce_sum(&t3, Reduce::all());
        "reduce_mean(t3,dim=1)" [t3] |net| net.reduce_mean(&t3, Reduce::dims([1]));
        "reduce_mean(t3)" [t3] |net| net.reduce_mean(&t3, Reduce::all());
        "reduce_max(t3,dim=1)" [t3] |net| net.reduce_max(&t3, Reduce::dims([1]));
        "reduce_max(t3)" [t3] |net| net.reduce_max(&t3, Reduce::all());
        "reduce_min(t3,dim=1)" [t3] |net| net.reduce_min(&t3, Reduce::dims([1]));
        "reduce_min(t3)" [t3] |net| net.reduce_min(&t3, Reduce::all());
        "reduce_prod(t3,dim=1)" [t3] |net| net.reduce_prod(&t3, Reduce::dims([1]));
        "reduce_prod(t3)" [t3] |net| net.reduce_prod(&t3, Reduce::all());
        "reduce_all(b)" [b] |net| net.reduce_all(&b, Reduce::all());
        "reduce_any(b)" [b] |net| net.reduce_any(&b, Reduce::all());
    }
}

fn comparisons() -> Vec<Case> {
    cases! {
        "less_than(i,i2)" [i i2] |net| net.less_than(&i, &i2, Compare::new());
        "less_equal(i,i2)" [i i2] |net| net.less_equal(&i, &i2, Compare::new());
        "greater_than(i,i2)" [i i2] |net| net.greater_than(&i, &i2, Compare::new());
        "greater_equal(i,i2)" [i i2] |net| net.greater_equal(&i, &i2, Compare::new());
        "equal(i,i2)" [i i2] |net| net.equal(&i, &i2, Compare::new());
        "not_equal(i,i2)" [i i2] |net| net.not_equal(&i, &i2, Compare::new());
        "logical_and(b,b2)" [b b2] |net| net.logical_and(&b, &b2, Compare::new());
        "logical_or(b,b2)" [b b2] |net| net.logical_or(&b, &b2, Compare::new());
        "logical_xor(b,b2)" [b b2] |net| net.logical_xor(&b, &b2, Compare::new());
        "logical_not(b)" [b] |net| net.logical_not(&b, Compare::new());
        "isfinite(x)" [x] |net| net.isfinite(&x);
        "has_inf(x)" [x] |net| net.has_inf(&x);
        "has_nan(x)" [x] |net| net.has_nan(&x);
        "is_empty(x)" [x] |net| net.is_empty(&x, Compare::new());
    }
}
