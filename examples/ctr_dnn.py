"""Clicks from dense features and sparse slots of any length: embeddings summed by slot, then a deep network."""

import as_paddle  # `paddle` is Oarlock where it is installed

import numpy as np
import paddle
import paddle.fluid as fluid

DENSE, SLOTS, IDS = 13, 26, 50
EMBED = 10
BATCH = 100
EPOCHS = 3


def clicks(count):
    """Made impressions: one or two ids a slot; the click depends on the ids and on the dense features."""
    rng = np.random.RandomState(37)
    weight = rng.normal(0, 0.5, (SLOTS, IDS))
    dense_weight = rng.normal(0, 0.7, DENSE)
    samples = []
    for _ in range(count):
        dense = rng.rand(DENSE)
        # Squared, so that some ids are frequent and others rare.
        slots = [(IDS * rng.rand(rng.randint(1, 3)) ** 2).astype("int64") for _ in range(SLOTS)]
        logit = dense.dot(dense_weight) + sum(weight[i, ids].sum() for i, ids in enumerate(slots))
        samples.append([dense] + [list(ids) for ids in slots] + [int(rng.rand() < 1 / (1 + np.exp(-logit)))])
    return samples


def ctr_dnn_model(dense_input, sparse_inputs, label):
    def embedding_layer(input):
        emb = fluid.layers.embedding(
            input=input, is_sparse=True, size=[IDS, EMBED],
            param_attr=fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform()))
        return fluid.layers.sequence_pool(input=emb, pool_type="sum")

    embeddings = [embedding_layer(s) for s in sparse_inputs]
    hidden = fluid.layers.concat(embeddings + [dense_input], axis=1)
    for size in (128, 64, 32):
        hidden = fluid.layers.fc(
            input=hidden, size=size, act="relu",
            param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=1 / np.sqrt(hidden.shape[1]))))
    predict = fluid.layers.fc(input=hidden, size=2, act="softmax")
    cost = fluid.layers.cross_entropy(input=predict, label=label)
    auc_var, batch_auc_var, _ = fluid.layers.auc(input=predict, label=label, num_thresholds=2 ** 12, slide_steps=20)
    return fluid.layers.reduce_sum(cost), auc_var, batch_auc_var


def main():
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    dense_input = fluid.layers.data(name="dense_input", shape=[DENSE], dtype="float32")
    sparse_inputs = [
        fluid.layers.data(name="C" + str(i), shape=[1], lod_level=1, dtype="int64") for i in range(1, SLOTS + 1)
    ]
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    loss, auc_var, batch_auc_var = ctr_dnn_model(dense_input, sparse_inputs, label)
    fluid.optimizer.SGD(learning_rate=1e-3).minimize(loss)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    feeder = fluid.DataFeeder(feed_list=[dense_input] + sparse_inputs + [label], place=place)
    train = clicks(4000)
    train_reader = paddle.batch(lambda: iter(train), batch_size=BATCH)
    for epoch in range(EPOCHS):
        for data in train_reader():
            loss_val, auc_val, batch_auc_val = exe.run(
                main_program, feed=feeder.feed(data), fetch_list=[loss, auc_var, batch_auc_var])
        print("epoch %d loss %.6f auc %.6f" % (epoch, loss_val[0] / BATCH, auc_val[0]))
    print("metric: auc_of_the_last_20_batches %.6f" % batch_auc_val[0])


if __name__ == "__main__":
    main()
