//! Convolution, pooling, normalisation, dropout.

use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    let mut all = convolutions();
    all.extend(norms());
    all
}

fn convolutions() -> Vec<Case> {
    cases! {
        "conv2d(img,6,3)" [img] |net| net.conv2d(&img, Conv::new(6, 3));
        "conv2d(img2,8,3,groups=2,padding=1,act='relu')" [img2]
            |net| net.conv2d(&img2, Conv::new(8, 3).groups(Some(2)).padding(1).act("relu"));
        "conv2d(img2,4,3,groups=4,use_cudnn=False)" [img2]
            |net| net.conv2d(&img2, Conv::new(4, 3).groups(Some(4)).use_cudnn(false));
        "conv2d(img,6,3,bias_attr=False,padding='SAME')" [img]
            |net| net.conv2d(&img, Conv::new(6, 3).bias_attr(false).padding(Padding::Same));
        "conv3d(vol,3,3)" [vol] |net| net.conv3d(&vol, Conv::new(3, 3));
        "conv2d_transpose(img,5,filter_size=3,stride=2)" [img]
            |net| net.conv2d_transpose(&img, ConvTranspose::filter(5, 3).stride(2));
        "conv2d_transpose(img,5,output_size=[17,17],stride=2)" [img]
            |net| net.conv2d_transpose(&img, ConvTranspose::new(5).output_size(Some([17, 17].into())).stride(2));
        "conv3d_transpose(vol,3,filter_size=3)" [vol] |net| net.conv3d_transpose(&vol, ConvTranspose::filter(3, 3));
        "pool2d(img,2,'avg',2)" [img] |net| net.pool2d(&img, Pool::size(2).avg().pool_stride(2));
        "pool3d(vol,2,'max',2)" [vol] |net| net.pool3d(&vol, Pool::size(2).pool_stride(2));
        "adaptive_pool2d(img,3,'avg')" [img] |net| net.adaptive_pool2d(&img, 3, "avg");
        "fluid.nets.simple_img_conv_pool(img,6,3,2,2,act='relu')" [img]
            |net| net.simple_img_conv_pool(&img, Conv::new(6, 3).act("relu"), Pool::size(2).pool_stride(2));
        "fluid.nets.img_conv_group(img,[4,4],2,conv_with_batchnorm=True,conv_act='relu',conv_batchnorm_drop_rate=0.3)"
            [img] |net| {
                let after = |net: &mut Net, x: &VarRef| {
                    let x = net.batch_norm(x, BatchNorm::new().act("relu"))?;
                    net.dropout(&x, Dropout::prob(0.3))
                };
                let convs = vec![Conv::new(4, 3).padding(1), Conv::new(4, 3).padding(1)];
                net.img_conv_group(&img, convs, after, Pool::size(2))
            };
        "fluid.nets.glu(x)" [x] |net| net.glu(&x, -1);
        "fluid.nets.scaled_dot_product_attention(t3,t3,t3)" [t3]
            |net| net.scaled_dot_product_attention(&t3, &t3, &t3, 1, 0.0);
        "fluid.nets.scaled_dot_product_attention(t3,t3,t3,num_heads=2,dropout_rate=0.1)" [t3]
            |net| net.scaled_dot_product_attention(&t3, &t3, &t3, 2, 0.1);
    }
}

fn norms() -> Vec<Case> {
    cases! {
        "inplace_abn(img,act='elu',act_alpha=0.5)" [img]
            |net| net.inplace_abn(&img, Some("elu"), 0.5, BatchNorm::new());
        "batch_norm(img)" [img] |net| net.batch_norm(&img, BatchNorm::new());
        "batch_norm(img,act='relu',is_test=True)" [img]
            |net| net.batch_norm(&img, BatchNorm::new().act("relu").is_test(true));
        "batch_norm(x,moving_mean_name='mm',moving_variance_name='mv')" [x] |net| {
            let names = BatchNorm::new().moving_mean_name(Some("mm".into())).moving_variance_name(Some("mv".into()));
            net.batch_norm(&x, names)
        };
        "layer_norm(t3,begin_norm_axis=2)" [t3] |net| net.layer_norm(&t3, LayerNorm::new().begin_norm_axis(2));
        "group_norm(img2,2)" [img2] |net| net.group_norm(&img2, GroupNorm::groups(2));
        "group_norm(img2,2,param_attr=fluid.ParamAttr(),bias_attr=fluid.ParamAttr())" [img2]
            |net| net.group_norm(&img2, GroupNorm::groups(2).param_attr(true).bias_attr(true));
        "instance_norm(img)" [img] |net| net.instance_norm(&img, 1e-5, true, true);
        "data_norm(x)" [x] |net| net.data_norm(&x, DataNorm::new());
        "lrn(img)" [img] |net| net.lrn(&img, 5, 1.0, 1e-4, 0.75);
        "l2_normalize(x,axis=-1)" [x] |net| net.l2_normalize(&x, -1, 1e-12);
        "dropout(x,0.3)" [x] |net| net.dropout(&x, Dropout::prob(0.3));
        "dropout(x,0.3,seed=5,dropout_implementation='upscale_in_train')" [x] |net| {
            net.dropout(&x, Dropout::prob(0.3).seed(Some(5)).dropout_implementation("upscale_in_train"))
        };
        "affine_channel(img,scale=create_parameter([3],'float32'),bias=create_parameter([3],'float32'))" [img] |net| {
            let scale = net.create_parameter(&[3], DType::F32, &ParamAttr::new())?;
            let bias = net.create_parameter(&[3], DType::F32, &ParamAttr::new())?;
            net.affine_channel(&img, &scale, &bias, Act::none())
        };
    }
}
