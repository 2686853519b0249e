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
    "split" => |net, a| net.split(&a.var("input")?, a.split_into("num_or_sections")?, a.i32("dim")?);
    "stack" => |net, a| net.stack(&refs(&a.vars("x")?), a.i32("axis")?);
    "unstack" => |net, a| net.unstack(&a.var("x")?, a.i32("axis")?, a.opt("num", Args::usize)?);
    "slice" => |net, a| net.slice(&a.var("input")?, &a.i32s("axes")?, a.ints("starts")?, a.ints("ends")?);
    "_item" => |net, a| net.item(&a.var("x")?, &a.i32s("axes")?, a.ints("starts")?, a.ints("ends")?, &a.i32s("gone")?);
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
    "range" => |net, a| net.range(a.operand("start")?, a.operand("end")?, a.operand("step")?,
        a.dtype("dtype")?);
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
    "scatter_nd_add" => |net, a| net.scatter_nd_add(&a.var("ref")?, &a.var("index")?, &a.var("updates")?);
    "scatter_nd" => |net, a| net.scatter_nd(&a.var("index")?, &a.var("updates")?, &a.i64s("shape")?);
    "index_select" => |net, a| net.index_select(&a.var("input")?, &a.var("index")?, a.i32("dim")?);
    "where" => |net, a| net.where_index(&a.var("condition")?);
    "reverse" => |net, a| net.reverse(&a.var("x")?, &a.i32s("axis")?);
    "flip" => |net, a| net.flip(&a.var("input")?, &a.i32s("dims")?);
    "roll" => |net, a| net.roll(&a.var("input")?, &a.i64s("shifts")?, a.opt("dims", Args::i64s)?.as_deref());
    "pad" => |net, a| net.pad(&a.var("x")?, &a.i32s("paddings")?, a.f32("pad_value")?);
    "pad_constant_like" => |net, a| net.pad_constant_like(&a.var("x")?, &a.var("y")?, a.f32("pad_value")?);
    "rank" => |net, a| net.rank_of(&a.var("input")?);
    "Print" => |net, a| net.print(&a.var("input")?, Print::new().first_n(a.i32("first_n")?).summarize(a.i32("summarize")?)
        .message(a.opt_str("message")?.unwrap_or_default()).print_tensor_name(a.bool("print_tensor_name")?)
        .print_tensor_type(a.bool("print_tensor_type")?).print_tensor_shape(a.bool("print_tensor_shape")?)
        .print_tensor_lod(a.bool("print_tensor_lod")?).print_phase(a.str("print_phase")?));
    "unique" => |net, a| net.unique_of(&a.var("x")?, a.dtype("dtype")?);
    "unique_with_counts" => |net, a| net.unique_with_counts(&a.var("x")?, a.dtype("dtype")?);
    "multiplex" => |net, a| net.multiplex(&refs(&a.vars("inputs")?), &a.var("index")?);
    "shard_index" => |net, a| net.shard_index(&a.var("input")?, a.i32("index_num")?, a.i32("nshards")?, a.i32("shard_id")?,
        a.i32("ignore_value")?);
    "diag" => |net, a| match a.is_var("diagonal")? {
        true => net.diag(&a.var("diagonal")?),
        false => {
            let diagonal = net.assign_value(&a.tensor("diagonal")?).py()?;
            net.diag(&diagonal)
        }
    };
    "diag_embed" => |net, a| net.diag_embed(&a.var("input")?, a.i32("offset")?, (a.i32("dim1")?, a.i32("dim2")?));
    "meshgrid" => |net, a| net.meshgrid(&refs(&a.vars("input")?));
    "tril" => |net, a| net.tril(&a.var("input")?, a.i32("diagonal")?);
    "triu" => |net, a| net.triu(&a.var("input")?, a.i32("diagonal")?);
    "trace" => |net, a| net.trace(&a.var("input")?, a.i32("offset")?, (a.i32("dim1")?, a.i32("dim2")?));
    "hash" => |net, a| net.hash(&a.var("input")?, a.i64("hash_size")?, a.i32("num_hash")?);
    "filter_by_instag" => |net, a| net.filter_by_instag(&a.var("ins")?, (&a.var("ins_tag")?, &a.var("filter_tag")?),
        a.bool("is_lod")?, a.i64("out_val_if_empty")?);
    "eye" => |net, a| net.eye(a.i64("num_rows")?, a.opt("num_columns", Args::i64)?, a.dtype("dtype")?);
    "linspace" => |net, a| net.linspace(a.f64("start")?, a.f64("stop")?, a.i32("num")?, a.dtype("dtype")?);
    "randint" => |net, a| {
        let range = match a.opt("high", Args::i32)? {
            Some(high) => (a.i32("low")?, high),
            None => (0, a.i32("low")?),
        };
        let shape = a.opt("shape", Args::ints)?.unwrap_or(Ints::Known(vec![1]));
        net.randint(range, shape, a.opt_dtype("dtype")?.unwrap_or(DType::I64), a.i32("seed")?)
    };
    "sampling_id" => |net, a| net.sampling_id(&a.var("x")?, (a.f32("min")?, a.f32("max")?), a.i32("seed")?);
}
