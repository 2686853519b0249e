//! Data, parameters, shapes, indices, fills.

use oarlock::prelude::*;

use super::{layers, refs};
use crate::args::Args;

layers! {
    "data" => |net, a| net.data(&a.str("name")?, Data::of(a.i64s("shape")?)
        .append_batch_size(a.bool("append_batch_size")?).dtype(a.dtype("dtype")?).lod_level(a.usize("lod_level")?)
        .stop_gradient(a.bool("stop_gradient")?));
    "fluid.data" => |net, a| net.checked_data(&a.str("name")?, &a.i64s("shape")?, a.dtype("dtype")?, a.usize("lod_level")?);
    "create_parameter" => |net, a| {
        let (shape, dtype) = (a.sizes("shape")?, a.dtype("dtype")?);
        let mut attr = a.param_attr("attr")?;
        attr.initializer = attr.initializer.or(a.opt("default_initializer", Args::initializer)?);
        match a.bool("is_bias")? {
            true => net.create_bias(&shape, dtype, &attr),
            false => net.create_parameter(&shape, dtype, &attr),
        }
    };
    "create_global_var" => |net, a| net.create_global_var(GlobalVar::new(a.i64s("shape")?, a.f64("value")?, a.dtype("dtype")?)
        .persistable(a.bool("persistable")?).force_cpu(a.bool("force_cpu")?));
    "create_tensor" => |net, a| Ok::<_, oarlock::Error>(net.create_tensor(a.dtype("dtype")?, a.bool("persistable")?));
    "autoincreased_step_counter" => |net, a| net.autoincreased_step_counter(a.opt_str("counter_name")?.as_deref(),
        a.i64("begin")?, a.i64("step")?);
    "reshape" => |net, a| net.reshape(&a.var("x")?, Reshape::shape(a.ints("shape")?).actual_shape(a.opt_var("actual_shape")?)
        .act(a.act("act")?).inplace(a.bool("inplace")?));
    "transpose" => |net, a| net.transpose(&a.var("x")?, &a.i32s("perm")?);
    "squeeze" => |net, a| net.squeeze(&a.var("input")?, &a.i32s("axes")?);
    "unsqueeze" => |net, a| net.unsqueeze(&a.var("input")?, &a.i32s("axes")?);
    "flatten" => |net, a| net.flatten(&a.var("x")?, a.i32("axis")?);
    "concat" => |net, a| net.concat(&refs(&a.vars("input")?), a.i32("axis")?);
    "split" => |net, a| net.split(&a.var("input")?, a.cut("num_or_sections")?, a.i32("dim")?);
    "stack" => |net, a| net.stack(&refs(&a.vars("x")?), a.i32("axis")?);
    "unstack" => |net, a| net.unstack(&a.var("x")?, a.i32("axis")?, a.opt("num", Args::usize)?);
    "slice" => |net, a| net.slice(&a.var("input")?, &a.i32s("axes")?, a.ints("starts")?, a.ints("ends")?);
    "strided_slice" => |net, a| net.strided_slice(&a.var("input")?, &a.i32s("axes")?, a.ints("starts")?, a.ints("ends")?,
        a.ints("strides")?);
    "expand" => |net, a| net.expand(&a.var("x")?, a.ints("expand_times")?);
    "expand_as" => |net, a| net.expand_as(&a.var("x")?, &a.var("target_tensor")?);
    "gather" => |net, a| net.gather(&a.var("input")?, &a.var("index")?, a.bool("overwrite")?);
    "gather_nd" => |net, a| net.gather_nd(&a.var("input")?, &a.var("index")?);
    "scatter" => |net, a| net.scatter(&a.var("input")?, &a.var("index")?, &a.var("updates")?, a.bool("overwrite")?);
    "shape" => |net, a| net.shape_of(&a.var("input")?);
    "size" => |net, a| net.size_of(&a.var("input")?);
    "cast" => |net, a| net.cast(&a.var("x")?, a.dtype("dtype")?);
    "assign" => |net, a| match (a.is_var("input")?, a.opt_var("output")?) {
        (true, None) => net.assign(&a.var("input")?),
        (true, Some(out)) => net.assign_into(&a.var("input")?, &out).map(|()| out),
        (false, None) => net.assign_value(&a.tensor("input")?),
        (false, Some(out)) => net.assign_value_into(&a.tensor("input")?, &out).map(|()| out),
    };
    "increment" => |net, a| match a.bool("in_place")? {
        true => net.increment(&a.var("x")?, a.f32("value")?),
        false => net.incremented(&a.var("x")?, a.f32("value")?),
    };
    "cumsum" => |net, a| net.cumsum(&a.var("x")?, a.opt("axis", Args::i32)?, a.opt("exclusive", Args::bool)?.unwrap_or(false),
        a.opt("reverse", Args::bool)?.unwrap_or(false));
    "argmax" => |net, a| net.argmax(&a.var("x")?, a.i64("axis")?);
    "argmin" => |net, a| net.argmin(&a.var("x")?, a.i64("axis")?);
    "argsort" => |net, a| net.argsort(&a.var("input")?, a.i32("axis")?, a.bool("descending")?);
    "topk" => |net, a| match a.is_var("k")? {
        true => net.topk_var(&a.var("input")?, &a.var("k")?),
        false => net.topk(&a.var("input")?, a.i32("k")?),
    };
    "range" => |net, a| net.range(a.f64("start")?, a.f64("end")?, a.f64("step")?, a.dtype("dtype")?);
    "fill_constant" => |net, a| match a.opt_var("out")? {
        Some(out) => net.fill_constant_into(&out, &a.i64s("shape")?, a.dtype("dtype")?, a.f64("value")?).map(|()| out),
        None => net.fill_constant(a.ints("shape")?, a.dtype("dtype")?, a.f64("value")?),
    };
    "fill_constant_batch_size_like" => |net, a| net.fill_constant_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        a.dtype("dtype")?, a.f64("value")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));
    "zeros" => |net, a| net.zeros(a.ints("shape")?, a.dtype("dtype")?);
    "ones" => |net, a| net.ones(a.ints("shape")?, a.dtype("dtype")?);
    "zeros_like" => |net, a| net.zeros_like(&a.var("x")?);
    "ones_like" => |net, a| net.ones_like(&a.var("x")?);
    "full_like" => |net, a| net.full_like(&a.var("input")?, a.f32("fill_value")?, a.opt_dtype("dtype")?);
    "uniform_random" => |net, a| net.uniform_random(a.ints("shape")?, a.dtype("dtype")?, (a.f32("min")?, a.f32("max")?),
        a.i32("seed")?);
    "gaussian_random" => |net, a| net.gaussian_random(a.ints("shape")?, (a.f32("mean")?, a.f32("std")?), a.i32("seed")?,
        a.dtype("dtype")?);
    "uniform_random_batch_size_like" => |net, a| net.uniform_random_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        (a.f32("min")?, a.f32("max")?), a.i32("seed")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));
    "gaussian_random_batch_size_like" => |net, a| net.gaussian_random_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        (a.f32("mean")?, a.f32("std")?), a.i32("seed")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));
}
