//! Sequences and tensor arrays.

use oarlock::prelude::*;

use pyo3::PyResult;

use super::{layers, refs};
use crate::args::Args;
use crate::builder::Made;

fn lstm(a: &Args<'_>) -> PyResult<Lstm> {
    Ok(Lstm::size(a.usize("size")?)
        .initial(a.opt_var("h_0")?.zip(a.opt_var("c_0")?))
        .param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?)
        .use_peepholes(a.bool("use_peepholes")?)
        .is_reverse(a.bool("is_reverse")?)
        .gate_activation(a.str("gate_activation")?)
        .cell_activation(a.str("cell_activation")?)
        .candidate_activation(a.str("candidate_activation")?)
        .dtype(a.dtype("dtype")?))
}

fn lstmp(a: &Args<'_>) -> PyResult<Lstmp> {
    let mut lstmp = Lstmp::new(lstm(a)?, a.usize("proj_size")?);
    lstmp.proj_activation = a.str("proj_activation")?;
    lstmp.cell_clip = a.opt("cell_clip", Args::f32)?.unwrap_or(0.0);
    lstmp.proj_clip = a.opt("proj_clip", Args::f32)?.unwrap_or(0.0);
    Ok(lstmp)
}

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
    "sequence_mask" => |net, a| net.sequence_mask(&a.var("x")?, a.opt("maxlen", Args::int_or_var)?, a.dtype("dtype")?);
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
    "dynamic_lstm" => |net, a| net.dynamic_lstm(&a.var("input")?, lstm(a)?);
    "dynamic_lstmp" => |net, a| net.dynamic_lstmp(&a.var("input")?, lstmp(a)?);
    "dynamic_gru" => |net, a| net.dynamic_gru(&a.var("input")?, Gru::size(a.usize("size")?).param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?).is_reverse(a.bool("is_reverse")?).gate_activation(a.str("gate_activation")?)
        .candidate_activation(a.str("candidate_activation")?).h_0(a.opt_var("h_0")?).origin_mode(a.bool("origin_mode")?));
    "gru_unit" => |net, a| net.gru_unit(&a.var("input")?, &a.var("hidden")?, Gru::size(a.usize("size")?)
        .param_attr(a.param("param_attr")?).bias_attr(a.param("bias_attr")?).gate_activation(a.str("gate_activation")?)
        .candidate_activation(a.str("activation")?).origin_mode(a.bool("origin_mode")?));
    "lstm_unit" => |net, a| net.lstm_unit(&a.var("x_t")?, &a.var("hidden_t_prev")?, &a.var("cell_t_prev")?,
        a.f32("forget_bias")?, a.param("param_attr")?, a.param("bias_attr")?);
    "lstm" => |net, a| net.lstm(&a.var("input")?, &a.var("init_h")?, &a.var("init_c")?,
        LstmStack::new(a.usize("max_len")?, a.usize("hidden_size")?, a.usize("num_layers")?)
        .dropout_prob(a.f32("dropout_prob")?).is_bidirec(a.bool("is_bidirec")?).is_test(a.bool("is_test")?)
        .default_initializer(a.opt("default_initializer", Args::initializer)?).seed(a.i32("seed")?));
    "row_conv" => |net, a| net.row_conv(&a.var("input")?, a.usize("future_context_size")?, a.param("param_attr")?,
        a.act("act")?);
    "add_position_encoding" => |net, a| net.add_position_encoding(&a.var("input")?, a.f32("alpha")?, a.f32("beta")?);
    "beam_search" => |net, a| {
        let options = BeamSearch::size(a.i32("beam_size")?, a.i32("end_id")?).level(a.i32("level")?)
            .is_accumulated(a.bool("is_accumulated")?);
        let before = (a.var("pre_ids")?, a.var("pre_scores")?);
        let with_parents = a.bool("return_parent_idx")?;
        net.beam_search((&before.0, &before.1), a.opt_var("ids")?.as_ref(), &a.var("scores")?, options).map(|made| {
            let mut parts = vec![made.selected_ids.into(), made.selected_scores.into()];
            parts.extend(with_parents.then_some(Made::One(made.parent_idx)));
            Made::Tuple(parts)
        })
    };
    "beam_search_decode" => |net, a| net.beam_search_decode(&a.var("ids")?, &a.var("scores")?, a.i32("beam_size")?,
        a.i32("end_id")?);
    "gather_tree" => |net, a| net.gather_tree(&a.var("ids")?, &a.var("parents")?);
}
