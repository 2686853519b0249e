"""Clicks with a factorization machine and a deep network that share embeddings (DeepFM)."""

import as_paddle  # `paddle` is Oarlock where it is installed

import numpy as np
import paddle.fluid as fluid

from made_clicks import DENSE, IDS, SLOTS, batches, clicks

EMBED = 6
EPOCHS = 4


def deepfm(ids, dense):
    # First order: one weight an id, one a dense feature.
    weights = fluid.embedding(
        input=ids, size=[SLOTS * IDS, 1], is_sparse=True,
        param_attr=fluid.ParamAttr(name="first_order", initializer=fluid.initializer.Constant(0.0)))
    first_order = fluid.layers.elementwise_add(
        fluid.layers.reduce_sum(weights, dim=1), fluid.layers.fc(input=dense, size=1))
    # Second order: half of (square of the sum - sum of the squares).
    embedded = fluid.embedding(
        input=ids, size=[SLOTS * IDS, EMBED], is_sparse=True,
        param_attr=fluid.ParamAttr(
            name="factors", initializer=fluid.initializer.TruncatedNormalInitializer(loc=0.0, scale=0.1)))
    square_of_sum = fluid.layers.square(fluid.layers.reduce_sum(embedded, dim=1))
    sum_of_squares = fluid.layers.reduce_sum(fluid.layers.square(embedded), dim=1)
    second_order = 0.5 * fluid.layers.reduce_sum(square_of_sum - sum_of_squares, dim=1, keep_dim=True)
    # Deep: the same embeddings, side by side.
    deep = fluid.layers.concat([fluid.layers.reshape(embedded, [-1, SLOTS * EMBED]), dense], axis=1)
    for size in (64, 32):
        deep = fluid.layers.fc(input=deep, size=size, act="relu")
    return first_order + second_order + fluid.layers.fc(input=deep, size=1)


def main():
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    ids = fluid.data(name="ids", shape=[None, SLOTS], dtype="int64")
    dense = fluid.data(name="dense", shape=[None, DENSE], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    logit = deepfm(ids, dense)
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
