"""Clicks with explicit crosses of features beside a deep network (deep & cross network)."""

import as_paddle  # `paddle` is Oarlock where it is installed

import numpy as np
import paddle.fluid as fluid

from made_clicks import DENSE, IDS, SLOTS, batches, clicks

EMBED = 8
EPOCHS = 4


def cross_layer(x0, x, number):
    """``x0 * (x . w) + b + x``"""
    width = x0.shape[1]
    w = fluid.layers.create_parameter([width, 1], dtype="float32", name="cross_w_%d" % number)
    b = fluid.layers.create_parameter(
        [width], dtype="float32", name="cross_b_%d" % number, default_initializer=fluid.initializer.Constant(0.0))
    return fluid.layers.elementwise_mul(x0, fluid.layers.mul(x, w), axis=0) + b + x


def dcn(ids, dense):
    embedded = fluid.embedding(
        input=ids, size=[SLOTS * IDS, EMBED], is_sparse=True, param_attr=fluid.ParamAttr(name="embedding"))
    x0 = fluid.layers.concat([fluid.layers.reshape(embedded, [-1, SLOTS * EMBED]), dense], axis=1)
    cross = x0
    for number in range(2):
        cross = cross_layer(x0, cross, number)
    deep = x0
    for size in (64, 32):
        deep = fluid.layers.fc(input=deep, size=size, act="relu")
    return fluid.layers.fc(input=fluid.layers.concat([cross, deep], axis=1), size=1)


def main():
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    ids = fluid.data(name="ids", shape=[None, SLOTS], dtype="int64")
    dense = fluid.data(name="dense", shape=[None, DENSE], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    logit = dcn(ids, dense)
    cost = fluid.layers.sigmoid_cross_entropy_with_logits(x=logit, label=fluid.layers.cast(label, "float32"))
    avg_cost = fluid.layers.mean(cost)
    predict = fluid.layers.sigmoid(logit)
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.003).minimize(avg_cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup_program)
    rng = np.random.RandomState(43)
    train, test = clicks(8000, rng), clicks(2000, rng)
    for epoch in range(EPOCHS):
        losses = [exe.run(main_program, feed=feed, fetch_list=[avg_cost])[0][0] for feed in batches(*train)]
        print("epoch %d loss %.6f" % (epoch, np.mean(losses)))
    auc = fluid.metrics.Auc(name="auc")
    for feed in batches(*test):
        clicked, = exe.run(test_program, feed=feed, fetch_list=[predict])
        auc.update(preds=np.concatenate([1 - clicked, clicked], axis=1), labels=feed["label"])
    print("metric: test_auc %.6f" % auc.eval())


if __name__ == "__main__":
    main()
