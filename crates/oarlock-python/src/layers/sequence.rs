//! Sequences and tensor arrays.

use oarlock::prelude::*;

use super::{layers, refs};
use crate::args::Args;

layers! {
    "sequence_pool" => |net, a| net.sequence_pool(&a.var("input")?, &a.str("pool_type")?, a.bool("is_test")?,
        a.f32("pad_value")?);
    "sequence_first_step" => |net, a| net.sequence_first_step(&a.var("input")?);
    "sequence_last_step" => |net, a| net.sequence_last_step(&a.var("input")?);
    "sequence_softmax" => |net, a| net.sequence_softmax(&a.var("input")?);
    "sequence_expand" => |net, a| net.sequence_expand(&a.var("x")?, &a.var("y")?, a.i32("ref_level")?);
    "sequence_expand_as" => |net, a| net.sequence_expand_as(&a.var("x")?, &a.var("y")?);
    "sequence_concat" => |net, a| net.sequence_concat(&refs(&a.vars("input")?));
    "sequence_conv" => |net, a| net.sequence_conv(&a.var("input")?, SequenceConv::filters(a.usize("num_filters")?)
        .filter_size(a.usize("filter_size")?).filter_stride(a.i32("filter_stride")?)
        .padding_start(a.opt("padding_start", Args::i32)?).bias_attr(a.param("bias_attr")?).param_attr(a.param("param_attr")?)
        .act(a.act("act")?));
    "sequence_pad" => |net, a| net.sequence_pad(&a.var("x")?, &a.var("pad_value")?, a.opt("maxlen", Args::i32)?);
    "sequence_unpad" => |net, a| net.sequence_unpad(&a.var("x")?, &a.var("length")?);
    "sequence_reverse" => |net, a| net.sequence_reverse(&a.var("x")?);
    "sequence_slice" => |net, a| net.sequence_slice(&a.var("input")?, &a.var("offset")?, &a.var("length")?);
    "sequence_mask" => |net, a| net.sequence_mask(&a.var("x")?, a.opt("maxlen", Args::i32)?, a.dtype("dtype")?);
    "sequence_enumerate" => |net, a| net.sequence_enumerate(&a.var("input")?, a.i32("win_size")?, a.i32("pad_value")?);
    "sequence_reshape" => |net, a| net.sequence_reshape(&a.var("input")?, a.i32("new_dim")?);
    "sequence_scatter" => |net, a| net.sequence_scatter(&a.var("input")?, &a.var("index")?, &a.var("updates")?);
    "lod_reset" => |net, a| match a.opt_var("y")? {
        Some(y) => net.lod_reset_by(&a.var("x")?, &y),
        None => net.lod_reset(&a.var("x")?, &a.i32s("target_lod")?),
    };
    "lod_append" => |net, a| net.lod_append(&a.var("x")?, &a.i32s("level")?);
    "continuous_value_model" => |net, a| net.continuous_value_model(&a.var("input")?, &a.var("cvm")?, a.bool("use_cvm")?);
    "merge_selected_rows" => |net, a| net.merge_selected_rows(&a.var("x")?);
    "get_tensor_from_selected_rows" => |net, a| net.get_tensor_from_selected_rows(&a.var("x")?);
    "array_write" => |net, a| match a.opt_var("array")? {
        Some(array) => net.array_write_into(&a.var("x")?, &a.var("i")?, &array).map(|()| array),
        None => net.array_write(&a.var("x")?, &a.var("i")?),
    };
    "array_read" => |net, a| net.array_read(&a.var("array")?, &a.var("i")?);
    "array_length" => |net, a| net.array_length(&a.var("array")?);
    "create_array" => |net, a| Ok::<_, oarlock::Error>(net.create_array(a.dtype("dtype")?));
    "reorder_lod_tensor_by_rank" => |net, a| net.reorder_lod_tensor_by_rank(&a.var("x")?, &a.var("rank_table")?);
    "lod_rank_table" => |net, a| net.lod_rank_table(&a.var("x")?, a.i32("level")?);
    "max_sequence_len" => |net, a| net.max_sequence_len(&a.var("rank_table")?);
    "lod_tensor_to_array" => |net, a| net.lod_tensor_to_array(&a.var("x")?, &a.var("table")?);
    "array_to_lod_tensor" => |net, a| net.array_to_lod_tensor(&a.var("x")?, &a.var("table")?);
    "shrink_memory" => |net, a| net.shrink_memory(&a.var("x")?, &a.var("i")?, &a.var("table")?);
    "tensor_array_to_tensor" => |net, a| net.tensor_array_to_tensor(&a.var("input")?, a.i32("axis")?, a.bool("use_stack")?);
}
