//! Shapes and indices.

use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    let mut all = shapes();
    all.extend(indices());
    all
}

fn shapes() -> Vec<Case> {
    cases! {
        "reshape(x12,[-1,3,4])" [x12] |net| net.reshape(&x12, Reshape::shape([-1, 3, 4]));
        "transpose(t3,[0,2,1])" [t3] |net| net.transpose(&t3, &[0, 2, 1]);
        "squeeze(data('z',[1,4]),[1])" [z] |net| net.squeeze(&z, &[1]);
        "unsqueeze(x,[1])" [x] |net| net.unsqueeze(&x, &[1]);
        "flatten(img)" [img] |net| net.flatten(&img, 1);
        "concat([x,x1],axis=1)" [x x1] |net| net.concat(&[&x, &x1], 1);
        "split(x12,3,dim=1)" [x12] |net| net.split(&x12, 3, 1);
        "split(x12,[2,4,6],dim=-1)" [x12] |net| net.split(&x12, [2, 4, 6], -1);
        "stack([x,x1],axis=1)" [x x1] |net| net.stack(&[&x, &x1], 1);
        "unstack(s2,axis=1)" [s2] |net| net.unstack(&s2, 1, None);
        "slice(t3,[1],[0],[2])" [t3] |net| net.slice(&t3, &[1], [0], [2]);
        "strided_slice(t3,[1],[0],[3],[2])" [t3] |net| net.strided_slice(&t3, &[1], [0], [3], [2]);
        "expand(fx,[2,1])" [fx] |net| net.expand(&fx, [2, 1]);
        "expand_as(fx,data('et',[4,3],append_batch_size=False))" [fx et] |net| net.expand_as(&fx, &et);
        "reverse(fx,[0])" [fx] |net| net.reverse(&fx, &[0]);
        "flip(fx,[0])" [fx] |net| net.flip(&fx, &[0]);
        "roll(fx,1)" [fx] |net| net.roll(&fx, &[1], None);
        "pad(x,[0,0,1,1])" [x] |net| net.pad(&x, &[0, 0, 1, 1], 0.0);
        "pad_constant_like(sq,fx)" [sq fx] |net| net.pad_constant_like(&sq, &fx, 0.0);
        "shape(x)" [x] |net| net.shape_of(&x);
        "size(x)" [x] |net| net.size_of(&x);
    }
}

fn indices() -> Vec<Case> {
    cases! {
        "gather(fx,fi)" [fx fi] |net| net.gather(&fx, &fi, true);
        "gather_nd(fx,data('gi',[2,1],dtype='int64',append_batch_size=False))" [fx gi] |net| net.gather_nd(&fx, &gi);
        "scatter(fx,fi,fx2)" [fx fi fx2] |net| net.scatter(&fx, &fi, &fx2, true);
        "scatter_nd_add(fx,data('gi',[2,1],dtype='int64',append_batch_size=False),fx2)" [fx gi fx2]
            |net| net.scatter_nd_add(&fx, &gi, &fx2);
        "scatter_nd(data('gi',[2,1],dtype='int64',append_batch_size=False),fx2,[5,3])" [gi fx2]
            |net| net.scatter_nd(&gi, &fx2, &[5, 3]);
        "index_select(fx,fi,dim=0)" [fx fi] |net| net.index_select(&fx, &fi, 0);
        "where(b)" [b] |net| net.where_index(&b);
        "argmax(x,axis=1)" [x] |net| net.argmax(&x, 1);
        "argmin(x,axis=1)" [x] |net| net.argmin(&x, 1);
        "argsort(x)" [x] |net| net.argsort(&x, -1, false);
        "topk(x,2)" [x] |net| net.topk(&x, 2);
        "unique(fi)" [fi] |net| net.unique_of(&fi, DType::I32);
        "unique_with_counts(fi)" [fi] |net| net.unique_with_counts(&fi, DType::I32);
        "multiplex([x,x1],data('mi',[1],dtype='int32'))" [x x1 mi] |net| net.multiplex(&[&x, &x1], &mi);
        "shard_index(lab,20,2,0)" [lab] |net| net.shard_index(&lab, 20, 2, 0, -1);
        "diag(v3)" [v3] |net| net.diag(&v3);
    }
}
