"""The networks of the benchmarks of parameter servers, in Fluid 1.8: slots, loss, the counts behind the AUC, samples of a batch."""

ROWS, VOCABULARY, WIDTH, NEGATIVES = 1000001, 100000, 300, 5


def ctr(fluid):
    slots = [fluid.data("label", [-1, 1], "int64"), fluid.data("dense", [-1, 13], "float32")]
    slots += [fluid.data("C%d" % i, [-1, 1], "int64") for i in range(1, 27)]
    table = fluid.ParamAttr("SparseFeatFactors", initializer=fluid.initializer.Uniform(-0.05, 0.05))
    x = slots[1:2] + [fluid.layers.embedding(s, size=[ROWS, 10], is_sparse=True, param_attr=table) for s in slots[2:]]
    x = fluid.layers.concat(x, axis=1)
    for _ in range(3):
        first = fluid.initializer.Normal(scale=1.0 / x.shape[1] ** 0.5)
        x = fluid.layers.fc(x, 400, act="relu", param_attr=fluid.ParamAttr(initializer=first))
    last = fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=0.05))
    predicted = fluid.layers.fc(x, 2, act="softmax", param_attr=last)
    loss = fluid.layers.mean(fluid.layers.cross_entropy(predicted, slots[0]))
    _, _, stats = fluid.layers.auc(predicted, slots[0], num_thresholds=4096, slide_steps=20)
    return slots, loss, stats[2:], 1000


def word2vec(fluid):
    layers = fluid.layers
    word, context = fluid.data("x", [-1, 1], "int64"), fluid.data("y", [-1, 1], "int64")
    wrong = fluid.data("neg", [-1, NEGATIVES], "int64")

    def rows(ids, name, width, first):
        attr = fluid.ParamAttr(name, initializer=first)
        return fluid.embedding(ids, size=[VOCABULARY, width], is_sparse=True, param_attr=attr)

    zero = fluid.initializer.Constant(0.0)
    one = layers.reshape(rows(word, "emb", WIDTH, fluid.initializer.Uniform(-0.5 / WIDTH, 0.5 / WIDTH)), [-1, 1, WIDTH])

    def logits(ids, count):
        others = layers.reshape(rows(ids, "emb_w", WIDTH, zero), [-1, count, WIDTH])
        bias = layers.reshape(rows(ids, "emb_b", 1, zero), [-1, count])
        return layers.elementwise_add(layers.reshape(layers.matmul(one, others, transpose_y=True), [-1, count]), bias)

    def cost(logits, count, label):
        label = layers.fill_constant_batch_size_like(logits, [-1, count], "float32", label)
        return layers.reduce_sum(layers.sigmoid_cross_entropy_with_logits(logits, label), dim=1, keep_dim=True)

    loss = layers.mean(cost(logits(context, 1), 1, 1.0) + cost(logits(wrong, NEGATIVES), NEGATIVES, 0.0))
    return [word, context, wrong], loss, [], 100


def optimizer(fluid, network, name):
    if name == "adam":
        return fluid.optimizer.Adam(1e-4, lazy_mode=True)
    return fluid.optimizer.SGD(0.1 if network == "ctr" else 0.025)


def train(fluid, exe, program, slots, files, batch, threads):
    dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
    dataset.set_use_var(slots)
    dataset.set_pipe_command("cat")
    dataset.set_batch_size(batch)
    dataset.set_thread(threads)
    dataset.set_filelist(files)
    exe.train_from_dataset(program, dataset, thread=threads, print_period=10**9)
