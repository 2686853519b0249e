//! Options and combinations that the plain examples do not reach.

use oarlock::optimizer::{Lookahead, ModelAverage, Optimizer, Rule};
use oarlock::prelude::*;

use super::{Case, cases, input};

pub(super) fn cases() -> Vec<Case> {
    let families = [optimizers(), operators(), variable_sizes(), images(), options(), flow()];
    families.into_iter().flatten().collect()
}

fn loss(net: &mut Net) -> Result<VarRef> {
    let x = input(net, "x");
    let y = net.fc(&x, Fc::size(3))?;
    net.mean(&y)
}

fn minimized<R: Rule>(net: &mut Net, mut by: Optimizer<R>) -> Result<Vec<VarRef>> {
    let loss = loss(net)?;
    by.minimize(net, &loss).map(|_| Vec::new())
}

fn global_norm() -> Clip {
    Clip::GlobalNorm { norm: 1.0, group: "default_group".into() }
}

fn int(net: &mut Net, value: f64) -> Result<VarRef> {
    net.fill_constant([1], DType::I32, value)
}

fn optimizers() -> Vec<Case> {
    cases! {
        "(fluid.optimizer.Adamax(0.1).minimize(mean(fc(x,3))),None)[1]" [] |net| minimized(net, optimizer::adamax(0.1));
        "(fluid.optimizer.Lamb(0.1).minimize(mean(fc(x,3))),None)[1]" [] |net| minimized(net, optimizer::lamb(0.1));
        "(fluid.optimizer.Dpsgd(0.1).minimize(mean(fc(x,3))),None)[1]" [] |net| minimized(net, optimizer::dpsgd(0.1));
        "(fluid.optimizer.LookaheadOptimizer(fluid.optimizer.SGD(0.1)).minimize(mean(fc(x,3))),None)[1]" [] |net| {
            let loss = loss(net)?;
            Lookahead::new(optimizer::sgd(0.1), 0.5, 5)?.minimize(net, &loss).map(|_| Vec::new())
        };
        "(fluid.optimizer.SGD(0.1).minimize(mean(fc(x,3))),fluid.optimizer.ModelAverage(0.15),None)[2]" [] |net| {
            minimized(net, optimizer::sgd(0.1))?;
            ModelAverage::new(net, 0.15, (10000, 10000)).map(|_| Vec::new())
        };
        "(fluid.optimizer.SGD(0.1,grad_clip=fluid.clip.GradientClipByValue(1.0,-2.0)).minimize(mean(fc(x,3))),None)[1]" []
            |net| minimized(net, optimizer::sgd(0.1).grad_clip(Clip::Value { min: -2.0, max: 1.0 }));
        "(fluid.optimizer.SGD(0.1,grad_clip=fluid.clip.GradientClipByGlobalNorm(1.0,need_clip=lambda p:p.name=='fc_0.w_0')).minimize(mean(fc(x,3))),None)[1]"
            [] |net| minimized(net, optimizer::sgd(0.1).grad_clip(global_norm()).need_clip(|name| name == "fc_0.w_0"));
        "(fluid.optimizer.Momentum(0.1,0.9,use_nesterov=True,name='opt').minimize(mean(fc(x,3))),None)[1]" []
            |net| minimized(net, optimizer::momentum(0.1, 0.9).use_nesterov(true).name("opt"));
        "(fluid.optimizer.SGD(0.1,parameter_list=['fc_0.w_0']).minimize(mean(fc(x,3))),None)[1]" []
            |net| minimized(net, optimizer::sgd(0.1).parameter_list(&[&VarRef::new("fc_0.w_0", 0)]));
        "(fluid.optimizer.SGD(exponential_decay(0.1,10,0.5)).minimize(mean(fc(x,3))),None)[1]" [] |net| {
            let rate = net.exponential_decay(0.1, 10.0, 0.5, false)?;
            minimized(net, optimizer::sgd(rate))
        };
        "linear_lr_warmup(exponential_decay(0.1,10,0.5),10,0.0,0.1)" [] |net| {
            let rate = net.exponential_decay(0.1, 10.0, 0.5, false)?;
            net.linear_lr_warmup(rate, 10.0, 0.0, 0.1)
        };
    }
}

fn operators() -> Vec<Case> {
    cases! {
        "x/2.0" [x] |net| net.div(&x, 2.0);
        "2.0/x" [x] |net| net.rdiv(2.0, &x);
        "2.0/fx" [fx] |net| net.rdiv(2.0, &fx);
        "x-1.0" [x] |net| net.sub(&x, 1.0);
        "2.0**x" [x] |net| net.rpow(2.0, &x);
        "i+1" [i] |net| net.add(&i, 1.0);
        "i/2" [i] |net| net.div(&i, 2.0);
        "i//i2" [i i2] |net| net.floor_div(&i, &i2);
        "x>=0.5" [x] |net| net.ge(&x, 0.5);
        "x==x1" [x x1] |net| net.eq(&x, &x1);
        "x+lab" [x lab] |net| net.add(&x, &lab);
        "x12.astype('int32')" [x12] |net| net.astype(&x12, DType::I32);
    }
}

fn variable_sizes() -> Vec<Case> {
    cases! {
        "reshape(x12,[fill_constant([1],'int32',2),6])" [x12] |net| {
            let two = int(net, 2.0)?;
            net.reshape(&x12, Reshape::shape(vec![IntOrVar::from(&two), 6.into()]))
        };
        "reshape(x12,[2,6],actual_shape=fill_constant([2],'int32',1),act='relu')" [x12] |net| {
            let shape = net.fill_constant([2], DType::I32, 1.0)?;
            net.reshape(&x12, Reshape::shape([2, 6]).actual_shape(Some(shape)).act("relu"))
        };
        "slice(t3,[1],[fill_constant([1],'int32',0)],[2])" [t3] |net| {
            let zero = int(net, 0.0)?;
            net.slice(&t3, &[1], vec![IntOrVar::from(&zero)], [2])
        };
        "expand(fx,[fill_constant([1],'int32',2),1])" [fx] |net| {
            let two = int(net, 2.0)?;
            net.expand(&fx, vec![IntOrVar::from(&two), 1.into()])
        };
        "expand(fx,fill_constant([2],'int32',2))" [fx] |net| {
            let times = net.fill_constant([2], DType::I32, 2.0)?;
            net.expand(&fx, &times)
        };
        "fill_constant([fill_constant([1],'int32',2),3],'float32',1.0)" [] |net| {
            let two = int(net, 2.0)?;
            net.fill_constant(vec![IntOrVar::from(&two), 3.into()], DType::F32, 1.0)
        };
        "fill_constant(fill_constant([2],'int32',2),'int64',7)" [] |net| {
            let shape = net.fill_constant([2], DType::I32, 2.0)?;
            net.fill_constant(&shape, DType::I64, 7.0)
        };
        "uniform_random([fill_constant([1],'int64',2),fill_constant([1],'int64',3)],min=0.0,seed=3)" [] |net| {
            let two = net.fill_constant([1], DType::I64, 2.0)?;
            let three = net.fill_constant([1], DType::I64, 3.0)?;
            net.uniform_random(vec![IntOrVar::from(&two), (&three).into()], DType::F32, (0.0, 1.0), 3)
        };
        "scale(x,scale=fill_constant([1],'float32',2.0),bias_after_scale=False)" [x] |net| {
            let two = net.fill_constant([1], DType::F32, 2.0)?;
            net.scale(&x, Scale::by(&two).bias_after_scale(false))
        };
    }
}

fn images() -> Vec<Case> {
    cases! {
        "conv2d(img,6,[3,2],padding=[1,0,1,1],dilation=2)" [img]
            |net| net.conv2d(&img, Conv::new(6, [3, 2]).padding([1, 0, 1, 1]).dilation(2));
        "conv2d(data('nhwc',[8,8,3]),6,3,data_format='NHWC',stride=[2,1])" [] |net| {
            let img = net.data("nhwc", Data::shape([8, 8, 3]))?;
            net.conv2d(&img, Conv::new(6, 3).data_format(Layout::parse("NHWC")?).stride([2, 1]))
        };
        "conv2d_transpose(img2,4,filter_size=3,groups=4,use_cudnn=False,padding='VALID')" [img2] |net| {
            let options = ConvTranspose::filter(4, 3).groups(Some(4)).use_cudnn(false);
            net.conv2d_transpose(&img2, options.padding(Padding::parse("valid")?))
        };
        "pool2d(img,pool_type='avg',global_pooling=True)" [img] |net| net.pool2d(&img, Pool::global().avg());
        "pool2d(img,3,pool_stride=[2,1],pool_padding='SAME',ceil_mode=True,exclusive=False)" [img] |net| {
            let options = Pool::size(3).pool_stride([2, 1]).pool_padding(Padding::Same);
            net.pool2d(&img, options.ceil_mode(true).exclusive(false))
        };
        "adaptive_pool2d(img,3,require_index=True)" [img] |net| net.adaptive_max_pool2d(&img, 3);
    }
}

fn options() -> Vec<Case> {
    cases! {
        "fc(x,3,name='my')" [x] |net| net.named("my").fc(&x, Fc::size(3));
        "dynamic_lstm(seq8,8,use_peepholes=False,is_reverse=True)" [seq8]
            |net| net.dynamic_lstm(&seq8, Lstm::size(8).use_peepholes(false).is_reverse(true));
        "reduce_sum(t3,dim=[1,-1],keep_dim=True)" [t3] |net| net.reduce_sum(&t3, Reduce::dims([1, -1]).keep_dim(true));
        "dropout(x,0.3,seed=0)" [x] |net| net.dropout(&x, Dropout::prob(0.3).seed(Some(0)));
        "embedding(ids,[10,4],is_distributed=True,is_sparse=True)" [ids]
            |net| net.embedding(&ids, Embedding::size(10, 4).is_sparse(true).is_distributed(true));
        "sequence_conv(seq,5,4,padding_start=0,bias_attr=False,act='tanh')" [seq] |net| {
            let options = SequenceConv::filters(5).filter_size(4).padding_start(Some(0));
            net.sequence_conv(&seq, options.bias_attr(false).act("tanh"))
        };
        "create_parameter([3,1,4,4],'float32',default_initializer=fluid.initializer.MSRA(uniform=False))" [] |net| {
            let first = Initializer::Msra { uniform: false, fan_in: None, seed: 0 };
            net.create_parameter(&[3, 1, 4, 4], DType::F32, &ParamAttr::new().initializer(first))
        };
        "create_parameter([4],'float32',is_bias=True)" [] |net| net.create_bias(&[4], DType::F32, &ParamAttr::new());
        "create_parameter([6,4],'float32',default_initializer=fluid.initializer.Uniform(-1.0,1.0,5,2,3,0.5))" [] |net| {
            let first =
                Initializer::Uniform { low: -1.0, high: 1.0, seed: 5, diag_num: 2, diag_step: 3, diag_val: 0.5 };
            net.create_parameter(&[6, 4], DType::F32, &ParamAttr::new().initializer(first))
        };
        "autoincreased_step_counter('c',begin=5,step=2)" [] |net| net.autoincreased_step_counter(Some("c"), 5, 2);
        "assign(np.array([[1,2]],'int64'))" []
            |net| net.assign_value(&Tensor::from_slice([1, 2], &[1i64, 2]).expect("two values"));
        "sums([x,x1],out=x)" [x x1] |net| net.sums_into(&[&x, &x1], &x).map(|()| x.clone());
        "increment(one,2.0,in_place=False)" [one] |net| net.incremented(&one, 2.0);
        "less_than(i,i2,cond=b)" [i i2 b] |net| net.less_than(&i, &i2, Compare::into_var(&b));
    }
}

fn flow() -> Vec<Case> {
    cases! {
        "tensor_array_to_tensor(array_write(fx,zeros([1],'int64')))" [fx] |net| {
            let zero = net.zeros([1], DType::I64)?;
            let array = net.array_write(&fx, &zero)?;
            net.tensor_array_to_tensor(&array, 1, false)
        };
        // rnn = StaticRNN(); with rnn.step(): word = rnn.step_input(s2);
        // mem = rnn.memory(shape=[-1,5], batch_ref=s2, init_value=0.5); h = fc([word,mem], 5, act='tanh');
        // rnn.update_memory(mem, h); rnn.step_output(h); rnn.step_output(word)
        "static_rnn_boot(s2)" [s2] |net| {
            StaticRnn::new(net).step(net, |net, rnn| {
                let word = rnn.step_input(net, &s2)?;
                let before = rnn.boot_memory(net, &Boot { value: 0.5, ..Boot::zeros([-1, 5], &s2) })?;
                let hidden = net.fc_of(&[&word, &before], Fc::size(5).act("tanh"))?;
                rnn.update_memory(&before, &hidden)?;
                rnn.step_output(net, &hidden)?;
                rnn.step_output(net, &word)
            })
        };
        // rnn = DynamicRNN(); with rnn.block(): word = rnn.step_input(seq); st = rnn.static_input(x);
        // mem = rnn.memory(shape=[3], value=0.5); h = fc([word,st,mem], 3); rnn.update_memory(mem, h); rnn.output(h, word)
        "dynamic_rnn_memory(seq,x)" [seq x] |net| {
            DynamicRnn::new(net).block(net, |net, rnn| {
                let word = rnn.step_input(net, &seq, 0)?;
                let fixed = rnn.static_input(net, &x)?;
                let before = rnn.new_memory(net, Memory::shape([3]).value(0.5))?;
                let hidden = net.fc_of(&[&word, &fixed, &before], Fc::size(3))?;
                rnn.update_memory(&before, &hidden)?;
                rnn.output(net, &[&hidden, &word])
            })
        };
        // i, n = 0, 3; while i < n (is_test): switch: case i == n: one = one * 2; default: one = one * 3; i += 1
        "switch_in_loop(one)" [one] |net| {
            let i = net.fill_constant([1], DType::I64, 0.0)?;
            let n = net.fill_constant([1], DType::I64, 3.0)?;
            let cond = net.less_than(&i, &n, Compare::new())?;
            While::new(net, &cond)?.is_test(true).block(net, |net| {
                let last = net.equal(&i, &n, Compare::new())?;
                let mut switch = Switch::new();
                let scaled = |net: &mut Net, by: f64| {
                    let value = net.scale(&one, Scale::by(by))?;
                    net.assign_into(&value, &one)
                };
                switch.case(net, &last, |net| scaled(net, 2.0))?;
                switch.default_case(net, |net| scaled(net, 3.0))?;
                net.increment(&i, 1.0)?;
                net.less_than(&i, &n, Compare::into_var(&cond)).map(|_| ())
            })?;
            Ok(one)
        };
    }
}
