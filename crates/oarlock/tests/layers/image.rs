//! Images made larger or smaller, padded, cropped and sampled; matrices; what works on selected rows.

use oarlock::ir::{Var, VarKind, VarType};
use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    [resized(), padded(), moved(), others()].into_iter().flatten().collect()
}

fn resized() -> Vec<Case> {
    cases! {
        "image_resize(img,out_shape=[12,12])" [img] |net| net.image_resize(&img, "BILINEAR", Resize::to([12, 12]));
        "image_resize(img,scale=2.0,resample='NEAREST')" [img] |net| net.image_resize(&img, "NEAREST", Resize::by(2.0));
        "random_crop(img,[3,4,4],seed=7)" [img] |net| net.random_crop(&img, &[3, 4, 4], Some(7.into()));
        "image_resize_short(img83,4)" [img83] |net| net.image_resize_short(&img83, 4, "BILINEAR");
        "resize_bilinear(img,scale=one)" [img one] |net| net.resize_bilinear(&img, Resize::by(&one));
        "resize_bilinear(img,out_shape=[n1,12])" [img n1]
            |net| net.resize_bilinear(&img, Resize::to(vec![IntOrVar::from(&n1), 12.into()]));
        "resize_bilinear(img,out_shape=n2)" [img n2] |net| net.resize_bilinear(&img, Resize::to(&n2));
        "resize_bilinear(img,out_shape=[4,4],actual_shape=n2)" [img n2]
            |net| net.resize_bilinear(&img, Resize::to([4, 4]).actual_shape(Some(n2)));
        "resize_bilinear(imgl,out_shape=[4,4],data_format='NHWC')" [imgl]
            |net| net.resize_bilinear(&imgl, Resize::to([4, 4]).data_format(Layout::ChannelsLast));
        "resize_nearest(img,out_shape=[4,4],align_corners=False)" [img]
            |net| net.resize_nearest(&img, Resize::to([4, 4]).align_corners(false));
        "resize_trilinear(vol,out_shape=[8,12,12],align_mode=0)" [vol]
            |net| net.resize_trilinear(&vol, Resize::to([8, 12, 12]).align_mode(0));
        "resize_trilinear(vol,scale=0.5)" [vol] |net| net.resize_trilinear(&vol, Resize::by(0.5));
    }
}

fn padded() -> Vec<Case> {
    cases! {
        "pad2d(img,[1,1,2,2])" [img] |net| net.pad2d(&img, Pad2d::by([1, 1, 2, 2]));
        "pad2d(img,[1,2,3,4],mode='reflect')" [img] |net| net.pad2d(&img, Pad2d::by([1, 2, 3, 4]).mode("reflect"));
        "pad2d(imgl,[1,1,0,0],mode='edge',data_format='NHWC')" [imgl]
            |net| net.pad2d(&imgl, Pad2d::by([1, 1, 0, 0]).mode("edge").data_format(Layout::ChannelsLast));
        "pad2d(img,n4,pad_value=0.5)" [img n4] |net| net.pad2d(&img, Pad2d::by(&n4).pad_value(0.5));
        "unfold(img,[3,3],1,1,1)" [img] |net| net.unfold(&img, [3, 3], 1, 1, 1);
        "unfold(img,3,strides=2,paddings=[1,0,2,1])" [img] |net| net.unfold(&img, 3, 2, [1, 0, 2, 1], 1);
        "crop(fx,shape=[1,2],offsets=[0,1])" [fx] |net| net.crop(&fx, &[1, 2], &[0, 1]);
        "crop_tensor(fx,shape=[1,2],offsets=[0,1])" [fx] |net| net.crop_tensor(&fx, [1, 2], [0, 1]);
        "crop_tensor(fx,shape=[n1,2],offsets=[0,0])" [fx n1]
            |net| net.crop_tensor(&fx, vec![IntOrVar::from(&n1), 2.into()], [0, 0]);
    }
}

fn moved() -> Vec<Case> {
    cases! {
        "pixel_shuffle(img2,2)" [img2] |net| net.pixel_shuffle(&img2, 2);
        "space_to_depth(img2,2)" [img2] |net| net.space_to_depth(&img2, 2);
        "shuffle_channel(img2,2)" [img2] |net| net.shuffle_channel(&img2, 2);
        "grid_sampler(img,gr)" [img gr] |net| net.grid_sampler(&img, &gr);
        "affine_grid(th,[2,3,4,4])" [th] |net| net.affine_grid(&th, [2, 3, 4, 4]);
        "affine_grid(th,n4)" [th n4] |net| net.affine_grid(&th, &n4);
        "temporal_shift(ts,2,0.25)" [ts] |net| net.temporal_shift(&ts, 2, 0.25);
        "spectral_norm(sq,power_iters=2)" [sq] |net| net.spectral_norm(&sq, 0, 2, 1e-12);
    }
}

/// A variable of selected rows.
fn rows(net: &mut Net) -> VarRef {
    let ty = VarType::tensor(DType::F32, [4, 2].map(oarlock::ir::Dim::Is).to_vec()).with_kind(VarKind::SelectedRows);
    let mut var = Var::new("sr", ty);
    var.persistable = true;
    net.declare(var)
}

fn others() -> Vec<Case> {
    cases! {
        "tril(sq)" [sq] |net| net.tril(&sq, 0);
        "triu(sq,1)" [sq] |net| net.triu(&sq, 1);
        "meshgrid([v3,one])" [v3 one] |net| net.meshgrid(&[&v3, &one]);
        "diag_embed(fx)" [fx] |net| net.diag_embed(&fx, 0, (-2, -1));
        "trace(sq)" [sq] |net| net.trace(&sq, 0, (0, 1));
        "filter_by_instag(seq,ids,it,True)" [seq ids it] |net| net.filter_by_instag(&seq, (&ids, &it), true, 0);
        "get_tensor_from_selected_rows(sr)" [] |net| {
            let rows = rows(net);
            net.get_tensor_from_selected_rows(&rows)
        };
        "merge_selected_rows(sr)" [] |net| {
            let rows = rows(net);
            net.merge_selected_rows(&rows)
        };
        "reorder_lod_tensor_by_rank(x,lod_rank_table(seq))" [x seq] |net| {
            let table = net.lod_rank_table(&seq, 0)?;
            net.reorder_lod_tensor_by_rank(&x, &table)
        };
        "Print(one,message='m',summarize=3,print_phase='forward')" [one]
            |net| net.print(&one, Print::new().message("m").summarize(3).print_phase("forward"));
    }
}
