//! Data, parameters, fully connected layers, embeddings, products.

use oarlock::prelude::*;

use super::{Case, cases};

fn param(net: &mut Net, shape: &[usize]) -> Result<VarRef> {
    net.create_parameter(shape, DType::F32, &ParamAttr::new())
}

fn starting(net: &mut Net, first: Initializer) -> Result<VarRef> {
    net.create_parameter(&[6, 4], DType::F32, &ParamAttr::new().initializer(first))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = layers();
    all.extend(initializers());
    all
}

fn layers() -> Vec<Case> {
    cases! {
        "data('q',[4])" [] |net| net.data("q", Data::shape([4]));
        "fluid.data('q',[None,4])" [] |net| net.checked_data("q", &[-1, 4], DType::F32, 0);
        "create_parameter([4,3],'float32')" [] |net| param(net, &[4, 3]);
        "create_global_var([1],0.5,'float32',persistable=True)" []
            |net| net.create_global_var(GlobalVar::new([1], 0.5, DType::F32).persistable(true));
        "create_tensor('float32')" [] |net| Ok(net.create_tensor(DType::F32, false));
        "autoincreased_step_counter()" [] |net| net.autoincreased_step_counter(None, 1, 1);
        "fc(x,3)" [x] |net| net.fc(&x, Fc::size(3));
        "fc(x,3,act='relu')" [x] |net| net.fc(&x, Fc::size(3).act("relu"));
        "fc([x,x1],3)" [x x1] |net| net.fc_of(&[&x, &x1], Fc::size(3));
        "fc(t3,5,num_flatten_dims=2)" [t3] |net| net.fc(&t3, Fc::size(5).num_flatten_dims(2));
        "fc(x,3,bias_attr=False)" [x] |net| net.fc(&x, Fc::size(3).bias_attr(false));
        "fc(x,3,param_attr='w',bias_attr=fluid.ParamAttr(name='bb',initializer=fluid.initializer.Constant(0.2)),act='softmax')"
            [x] |net| {
                let bias = ParamAttr::name("bb").initializer(Initializer::constant(0.2));
                net.fc(&x, Fc::size(3).param_attr("w").bias_attr(bias).act("softmax"))
            };
        "embedding(ids,[10,4])" [ids] |net| net.embedding(&ids, Embedding::size(10, 4));
        "embedding(ids,[10,4],is_sparse=True,padding_idx=-1)" [ids]
            |net| net.embedding(&ids, Embedding::size(10, 4).is_sparse(true).padding_idx(Some(-1)));
        "fluid.embedding(ids,[10,4])" [ids] |net| net.embedding_v2(&ids, Embedding::size(10, 4));
        "fluid.one_hot(ids,5)" [ids] |net| net.one_hot_v2(&ids, 5, false);
        "one_hot(ids,5)" [ids] |net| net.one_hot(&ids, 5, false);
        "mul(x,create_parameter([4,2],'float32'))" [x] |net| {
            let w = param(net, &[4, 2])?;
            net.mul(&x, &w, 1, 1)
        };
        "matmul(fx,fx2,transpose_y=True,alpha=0.5)" [fx fx2]
            |net| net.matmul(&fx, &fx2, MatMul::new().transpose_y(true).alpha(0.5));
        "bilinear_tensor_product(x,x1,3)" [x x1]
            |net| net.bilinear_tensor_product(&x, &x1, 3, Act::none(), true, true);
        "cos_sim(x,x1)" [x x1] |net| net.cos_sim(&x, &x1);
        "fsp_matrix(img,img2)" [img img2] |net| net.fsp_matrix(&img, &img2);
        "addmm(fx,sq2,sq)" [fx sq2 sq] |net| net.addmm(&fx, &sq2, &sq, 1.0, 1.0);
        "bmm(s2,data('s3',[2,4,3],append_batch_size=False))" [s2 s3] |net| net.bmm(&s2, &s3);
        "dot(fx,fx2)" [fx fx2] |net| net.dot(&fx, &fx2);
        "kron(fx,fx2)" [fx fx2] |net| net.kron(&fx, &fx2);
    }
}

fn initializers() -> Vec<Case> {
    use Initializer::{Msra, Xavier};
    cases! {
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.Constant(0.5))" []
            |net| starting(net, Initializer::constant(0.5));
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.Uniform())" []
            |net| starting(net, Initializer::uniform(-1.0, 1.0));
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.Normal())" []
            |net| starting(net, Initializer::normal(0.0, 1.0));
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.TruncatedNormal())" []
            |net| starting(net, Initializer::truncated_normal(0.0, 1.0));
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.Xavier())" []
            |net| starting(net, Initializer::xavier());
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.Xavier(uniform=False))" []
            |net| starting(net, Xavier { uniform: false, fan_in: None, fan_out: None, seed: 0 });
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.MSRA())" []
            |net| starting(net, Initializer::msra());
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.MSRA(uniform=False))" []
            |net| starting(net, Msra { uniform: false, fan_in: None, seed: 0 });
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.NumpyArrayInitializer(np.zeros((6,4),'float32')))"
            [] |net| starting(net, Initializer::Value(Tensor::zeros(DType::F32, [6, 4])));
    }
}
