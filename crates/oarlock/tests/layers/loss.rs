//! Losses and metrics.

use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "softmax(x)" [x] |net| net.softmax(&x, -1);
        "log_softmax(x)" [x] |net| net.log_softmax(&x, -1);
        "cross_entropy(x,lab)" [x lab] |net| net.cross_entropy(&x, &lab, CrossEntropy::new());
        "cross_entropy(x,x1,soft_label=True)" [x x1]
            |net| net.cross_entropy(&x, &x1, CrossEntropy::new().soft_label(true));
        "softmax_with_cross_entropy(x,lab,return_softmax=True)" [x lab]
            |net| net.softmax_with_cross_entropy_and_softmax(&x, &lab, CrossEntropy::new());
        "sigmoid_cross_entropy_with_logits(x,x1)" [x x1]
            |net| net.sigmoid_cross_entropy_with_logits(&x, &x1, None, false);
        "square_error_cost(x,x1)" [x x1] |net| net.square_error_cost(&x, &x1);
        "mse_loss(x,x1)" [x x1] |net| net.mse_loss(&x, &x1);
        "huber_loss(y1,y1,1.0)" [y1] |net| net.huber_loss(&y1, &y1, 1.0);
        "log_loss(y1,y1)" [y1] |net| net.log_loss(&y1, &y1, 1e-4);
        "smooth_l1(x,x1)" [x x1] |net| net.smooth_l1(&x, &x1, None, None);
        "bpr_loss(x,lab)" [x lab] |net| net.bpr_loss(&x, &lab);
        "rank_loss(y1,y1,y1)" [y1] |net| net.rank_loss(&y1, &y1, &y1);
        "margin_rank_loss(y1,y1,y1)" [y1] |net| net.margin_rank_loss(&y1, &y1, &y1, 0.1);
        "kldiv_loss(x,x1)" [x x1] |net| net.kldiv_loss(&x, &x1, "mean");
        "dice_loss(softmax(t3),cast(data('dl',[3,1],dtype='int64'),'int64'))" [t3 dl] |net| {
            let predicted = net.softmax(&t3, -1)?;
            let label = net.cast(&dl, DType::I64)?;
            net.dice_loss(&predicted, &label, 1e-5)
        };
        "npair_loss(fx,fx2,fi)" [fx fx2 fi] |net| net.npair_loss(&fx, &fx2, &fi, 0.002);
        "teacher_student_sigmoid_loss(y1,y1)" [y1] |net| net.teacher_student_sigmoid_loss(&y1, &y1, (-15.0, 15.0));
        "label_smooth(x,epsilon=0.1)" [x] |net| net.label_smooth(&x, None, 0.1);
        "accuracy(x,lab,k=2)" [x lab] |net| net.accuracy(&x, &lab, 2);
        "auc(prob,lab,num_thresholds=15)" [prob lab] |net| {
            let auc = net.auc(&prob, &lab, Auc::new().num_thresholds(15))?;
            Ok([vec![auc.auc, auc.batch_auc], auc.stats.to_vec()].concat())
        };
        "mean_iou(cast(i,'int32'),cast(i2,'int32'),3)" [i i2] |net| {
            let (i, i2) = (net.cast(&i, DType::I32)?, net.cast(&i2, DType::I32)?);
            net.mean_iou(&i, &i2, 3)
        };
    }
}
