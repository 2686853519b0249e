"""Ratings of films from features of the viewer and of the film: two towers and their cosine."""

import as_paddle  # `paddle` is Oarlock where it is installed

import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid import layers, nets

USERS, AGES, JOBS = 60, 7, 20
MOVIES, CATEGORIES, TITLE_WORDS = 80, 18, 100
BATCH = 64
EPOCHS = 12


def ratings(count):
    """Made ratings in [-3, 5]: how well the taste of the viewer fits the kind of film."""
    rng = np.random.RandomState(17)
    users = [(u, rng.randint(2), rng.randint(AGES), rng.randint(JOBS)) for u in range(USERS)]
    taste = rng.normal(size=(USERS, 3)) + 2 * rng.normal(size=(JOBS, 3))[[u[3] for u in users]]
    movies = []
    for m in range(MOVIES):
        categories = list(rng.choice(CATEGORIES, rng.randint(1, 4), replace=False))
        movies.append((m, categories, list(rng.randint(0, TITLE_WORDS, rng.randint(3, 7)))))
    kind = rng.normal(size=(CATEGORIES, 3))
    kinds = np.stack([kind[m[1]].sum(axis=0) for m in movies])
    samples = []
    for u, m in zip(rng.randint(0, USERS, count), rng.randint(0, MOVIES, count)):
        fit = taste[u].dot(kinds[m]) / (np.linalg.norm(taste[u]) * np.linalg.norm(kinds[m]))
        score = np.clip(1 + 3 * fit + rng.normal(0, 0.3), -3, 5)
        samples.append(users[u] + movies[m] + ([float(score)],))
    return samples


def tower_of_ids(name, size, width):
    ids = fluid.data(name=name, shape=[None, 1], dtype="int64")
    embedded = layers.embedding(input=ids, size=[size, width], is_sparse=True)
    return ids, layers.fc(input=embedded, size=width)


def get_usr_combined_features():
    uid, usr_fc = tower_of_ids("user_id", USERS, 32)
    gender, gender_fc = tower_of_ids("gender_id", 2, 16)
    age, age_fc = tower_of_ids("age_id", AGES, 16)
    job, job_fc = tower_of_ids("job_id", JOBS, 16)
    concat_embed = layers.concat(input=[usr_fc, gender_fc, age_fc, job_fc], axis=1)
    return [uid, gender, age, job], layers.fc(input=concat_embed, size=100, act="tanh")


def get_mov_combined_features():
    mov, mov_fc = tower_of_ids("movie_id", MOVIES, 32)
    category = fluid.data(name="category_id", shape=[None, 1], dtype="int64", lod_level=1)
    category_emb = layers.embedding(input=category, size=[CATEGORIES, 32], is_sparse=True)
    category_pool = layers.sequence_pool(input=category_emb, pool_type="sum")
    title = fluid.data(name="movie_title", shape=[None, 1], dtype="int64", lod_level=1)
    title_emb = layers.embedding(input=title, size=[TITLE_WORDS, 32], is_sparse=True)
    title_conv = nets.sequence_conv_pool(
        input=title_emb, num_filters=32, filter_size=3, act="tanh", pool_type="sum")
    concat_embed = layers.concat(input=[mov_fc, category_pool, title_conv], axis=1)
    return [mov, category, title], layers.fc(input=concat_embed, size=100, act="tanh")


def main():
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    usr_inputs, usr = get_usr_combined_features()
    mov_inputs, mov = get_mov_combined_features()
    inference = layers.cos_sim(X=usr, Y=mov)
    scale_infer = layers.scale(x=inference, scale=5.0)
    label = fluid.data(name="score", shape=[None, 1], dtype="float32")
    avg_cost = layers.mean(layers.square_error_cost(input=scale_infer, label=label))
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=0.1).minimize(avg_cost)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    feeder = fluid.DataFeeder(feed_list=usr_inputs + mov_inputs + [label], place=place)
    samples = ratings(2560)
    train_reader = paddle.batch(lambda: iter(samples[:2048]), batch_size=BATCH)
    test_reader = paddle.batch(lambda: iter(samples[2048:]), batch_size=BATCH)
    for epoch in range(EPOCHS):
        for data in train_reader():
            loss, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
        print("epoch %d loss %.6f" % (epoch, loss[0]))
    losses = [exe.run(test_program, feed=feeder.feed(data), fetch_list=[avg_cost])[0][0] for data in test_reader()]
    print("metric: test_mse %.6f" % np.mean(losses))


if __name__ == "__main__":
    main()
