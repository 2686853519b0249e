//! Sampled losses, tagging, alignment and beam search.

use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    [sampled(), tagging(), beams()].into_iter().flatten().collect()
}

fn sampled() -> Vec<Case> {
    cases! {
        "center_loss(x,lab,5,0.1,fluid.ParamAttr(initializer=fluid.initializer.Constant(0.)))" [x lab] |net| {
            let zero = ParamAttr::new().initializer(Initializer::constant(0.0));
            net.center_loss(&x, &lab, (5, 0.1), zero, true)
        };
        "nce(x,lab,10,num_neg_samples=3)" [x lab] |net| net.nce(&x, &lab, Nce::classes(10).num_neg_samples(3));
        "nce(x,lab,3,sampler='custom_dist',custom_dist=[0.5,0.25,0.25],seed=7,is_sparse=True,bias_attr=False)" [x lab] |net| {
            let custom = Sampler::CustomDist(vec![0.5, 0.25, 0.25]);
            net.nce(&x, &lab, Nce::classes(3).sampler(custom).seed(7).is_sparse(true).bias_attr(false))
        };
        "hsigmoid(x,lab,6)" [x lab] |net| net.hsigmoid(&x, &lab, Hsigmoid::classes(6));
        "hsigmoid(x,lab,6,path_table=pt,path_code=pc,is_custom=True,is_sparse=True)" [x lab pt pc]
            |net| net.hsigmoid(&x, &lab, Hsigmoid::classes(6).path(Some((pt, pc))).is_sparse(true));
        "sampled_softmax_with_cross_entropy(x,lab,3)" [x lab]
            |net| net.sampled_softmax_with_cross_entropy(&x, &lab, SampledSoftmax::samples(3));
    }
}

fn tagging() -> Vec<Case> {
    cases! {
        "warpctc(seq,tag32)" [seq tag32] |net| net.warpctc(&seq, &tag32, 0, false, None);
        "linear_chain_crf(seq,tag,param_attr=fluid.ParamAttr(name='crfw'))" [seq tag]
            |net| net.linear_chain_crf(&seq, &tag, ParamAttr::name("crfw"), None);
        "(linear_chain_crf(seq,tag,param_attr=fluid.ParamAttr(name='crfw')),crf_decoding(seq,fluid.ParamAttr(name='crfw')))[1]"
            [seq tag] |net| {
            net.linear_chain_crf(&seq, &tag, ParamAttr::name("crfw"), None)?;
            net.crf_decoding(&seq, "crfw", None, None)
        };
        "linear_chain_crf(t3,tags3,length=len)" [t3 tags3 len]
            |net| net.linear_chain_crf(&t3, &tags3, Param::default(), Some(&len));
        "edit_distance(ids,sids)" [ids sids] |net| net.edit_distance(&ids, &sids, true, &[], None);
        "edit_distance(ids,sids,normalized=False,ignored_tokens=[0])" [ids sids]
            |net| net.edit_distance(&ids, &sids, false, &[0], None);
        "ctc_greedy_decoder(seq,blank=0)" [seq] |net| net.ctc_greedy_decoder(&seq, 0);
        "ctc_greedy_decoder(t3,blank=3,input_length=len)" [t3 len] |net| net.ctc_greedy_decoder_padded(&t3, 3, &len, 0);
        "chunk_eval(ids,tag,'IOB',2)" [ids tag] |net| {
            let chunks = net.chunk_eval(&ids, &tag, ChunkEval::scheme("IOB", 2))?;
            Ok([vec![chunks.precision, chunks.recall, chunks.f1_score], chunks.counts.to_vec()].concat())
        };
    }
}

fn beams() -> Vec<Case> {
    cases! {
        "beam_search(ids,seq1,bi,bs,2,1)" [ids seq1 bi bs] |net| {
            let beam = net.beam_search((&ids, &seq1), Some(&bi), &bs, BeamSearch::size(2, 1))?;
            Ok((beam.selected_ids, beam.selected_scores))
        };
        "beam_search_decode(array_write(ids,zeros([1],'int64')),array_write(seq1,zeros([1],'int64')),2,1)" [ids seq1] |net| {
            let mut array = |v: &VarRef| -> Result<VarRef> {
                let zero = net.fill_constant([1], DType::I64, 0.0)?;
                net.array_write(v, &zero)
            };
            let (ids, scores) = (array(&ids)?, array(&seq1)?);
            net.beam_search_decode(&ids, &scores, 2, 1)
        };
        "gather_tree(gt,gp)" [gt gp] |net| net.gather_tree(&gt, &gp);
    }
}
