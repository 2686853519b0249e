//! Sequences and recurrent layers.

use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    let mut all = sequences();
    all.extend(recurrent());
    all
}

fn sequences() -> Vec<Case> {
    cases! {
        "sequence_pool(seq,'max')" [seq] |net| net.sequence_pool(&seq, "max", false, 0.0);
        "sequence_first_step(seq)" [seq] |net| net.sequence_first_step(&seq);
        "sequence_last_step(seq)" [seq] |net| net.sequence_last_step(&seq);
        "sequence_softmax(seq1)" [seq1] |net| net.sequence_softmax(&seq1);
        "sequence_expand(x,seq)" [x seq] |net| net.sequence_expand(&x, &seq, -1);
        "sequence_expand_as(x,seq)" [x seq] |net| net.sequence_expand_as(&x, &seq);
        "sequence_concat([seq,data('sq2',[4],lod_level=1)])" [seq] |net| {
            let more = net.data("sq2", Data::shape([4]).lod_level(1))?;
            net.sequence_concat(&[&seq, &more])
        };
        "sequence_conv(seq,5,3)" [seq] |net| net.sequence_conv(&seq, SequenceConv::filters(5));
        "sequence_pad(seq,fill_constant([1],'float32',0.0))" [seq] |net| {
            let zero = net.fill_constant([1], DType::F32, 0.0)?;
            net.sequence_pad(&seq, &zero, None)
        };
        "sequence_unpad(s2,fi)" [s2 fi] |net| net.sequence_unpad(&s2, &fi);
        "sequence_reverse(seq)" [seq] |net| net.sequence_reverse(&seq);
        "sequence_slice(seq,lab,lab2)" [seq lab lab2] |net| net.sequence_slice(&seq, &lab, &lab2);
        "sequence_mask(len,maxlen=5)" [len] |net| net.sequence_mask(&len, Some(5.into()), DType::I64);
        "sequence_enumerate(ids,2)" [ids] |net| net.sequence_enumerate(&ids, 2, 0);
        "sequence_reshape(seq,8)" [seq] |net| net.sequence_reshape(&seq, 8);
        "sequence_scatter(x,ids,seq1)" [x ids seq1] |net| net.sequence_scatter(&x, &ids, &seq1);
        "lod_reset(x,target_lod=[0,2])" [x] |net| net.lod_reset(&x, &[0, 2]);
        "lod_append(seq,[0,1,2])" [seq] |net| net.lod_append(&seq, &[0, 1, 2]);
        "row_conv(seq,2)" [seq] |net| net.row_conv(&seq, 2, true, Act::none());
        "im2sequence(img,[2,2],[2,2])" [img] |net| net.im2sequence(&img, Im2Sequence::filter([2, 2]).stride([2, 2]));
        "add_position_encoding(t3,1.0,1.0)" [t3] |net| net.add_position_encoding(&t3, 1.0, 1.0);
        "continuous_value_model(x,data('cv',[2]))" [x cv] |net| net.continuous_value_model(&x, &cv, true);
        "fluid.nets.sequence_conv_pool(seq,5,3)" [seq] |net| net.sequence_conv_pool(&seq, 5, 3, "max");
    }
}

fn recurrent() -> Vec<Case> {
    cases! {
        "dynamic_lstm(seq8,8)" [seq8] |net| net.dynamic_lstm(&seq8, Lstm::size(8));
        "dynamic_lstmp(seq8,8,3)" [seq8] |net| net.dynamic_lstmp(&seq8, Lstmp::new(Lstm::size(8), 3));
        "dynamic_gru(seq12,4)" [seq12] |net| net.dynamic_gru(&seq12, Gru::size(4));
        "gru_unit(x12,x,12)" [x12 x] |net| net.gru_unit(&x12, &x, Gru::size(12));
        "lstm(s3,fill_constant([2,4,5],'float32',0.0),fill_constant([2,4,5],'float32',0.0),2,5,2)" [s3] |net| {
            let h = net.fill_constant([2, 4, 5], DType::F32, 0.0)?;
            let c = net.fill_constant([2, 4, 5], DType::F32, 0.0)?;
            net.lstm(&s3, &h, &c, LstmStack::new(2, 5, 2))
        };
        "lstm_unit(x,x1,data('c',[4]))" [x x1 c] |net| net.lstm_unit(&x, &x1, &c, 0.0, true, true);
    }
}
