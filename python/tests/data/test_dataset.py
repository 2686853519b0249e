"""Data sets: small archives in the real formats, downloads from a local server, synthetic samples."""

import functools
import gzip
import http.server
import io
import pickle
import struct
import tarfile
import threading
import zipfile

import numpy as np
import pytest

from oarlock.dataset import (
    cifar, common, conll05, image, imdb, imikolov, mnist, movielens, uci_housing, wmt14, wmt16,
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty cache directory."""
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OARLOCK_SYNTHETIC_DATA", raising=False)
    movielens._read_meta.cache_clear()
    yield tmp_path / "home"
    movielens._read_meta.cache_clear()


@pytest.fixture
def cached(home, monkeypatch):
    """Puts content where a data set looks for it, with the right checksum."""

    def put(module, directory, url, md5, content, name=None):
        path = home / directory / (name or getattr(module, url).split("/")[-1])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        monkeypatch.setattr(module, md5, common.md5file(str(path)))
        return str(path)

    return put


def tar_of(files, mode="w:gz"):
    """An archive of names and contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def served(tmp_path):
    """A directory and the address under which it is served."""
    directory = tmp_path / "served"
    directory.mkdir()
    handler = functools.partial(Quiet, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield directory, "http://127.0.0.1:%d/" % server.server_port
        server.shutdown()
        thread.join()


def test_a_download_is_kept(served, home, capsys):
    directory, url = served
    (directory / "x.bin").write_bytes(b"abc" * 1000)
    md5 = common.md5file(str(directory / "x.bin"))
    path = common.download(url + "x.bin", "things", md5)
    assert path == str(home / "things" / "x.bin")
    assert "downloading x.bin: 100 %" in capsys.readouterr().err
    (directory / "x.bin").unlink()
    assert common.download(url + "x.bin", "things", md5) == path, "the second time needs no server"
    assert [p.name for p in (home / "things").iterdir()] == ["x.bin"]


def test_a_damaged_download_leaves_nothing_behind(served, home):
    directory, url = served
    (directory / "x.bin").write_bytes(b"other")
    with pytest.raises(RuntimeError) as e:
        common.download(url + "x.bin", "things", "0" * 32)
    assert "instead of " + "0" * 32 in str(e.value)
    assert list((home / "things").iterdir()) == []


def test_no_network(home):
    with pytest.raises(RuntimeError) as e:
        common.download("http://127.0.0.1:9/x.bin", "things", "0" * 32, "y.bin")
    message = str(e.value)
    assert "http://127.0.0.1:9/x.bin" in message
    assert "%s (md5 %s)" % (home / "things" / "y.bin", "0" * 32) in message
    assert "OARLOCK_SYNTHETIC_DATA" in message


def test_split_and_read_by_trainer(tmp_path):
    common.split(lambda: iter(range(7)), 2, suffix=str(tmp_path / "part-%05d"))
    mine = common.cluster_files_reader(str(tmp_path / "part-*"), 2, 1)
    assert list(mine()) == [2, 3, 6]


def test_uci_housing(cached, monkeypatch):
    monkeypatch.setattr(uci_housing, "UCI_TRAIN_DATA", None)
    monkeypatch.setattr(uci_housing, "UCI_TEST_DATA", None)
    rows = np.arange(10 * 14).reshape(10, 14).astype(float)
    text = "\n".join(" ".join(map(str, row)) for row in rows)
    cached(uci_housing, "uci_housing", "URL", "MD5", text.encode())
    train, test = list(uci_housing.train()()), list(uci_housing.test()())
    assert (len(train), len(test)) == (8, 2)
    np.testing.assert_allclose(train[0][0], [-0.5] * 13)
    assert train[0][1].tolist() == [13.0] and test[1][1].tolist() == [139.0]
    assert uci_housing.predict_reader()[0].shape == (13,)


def test_mnist(cached):
    pixels = np.arange(3 * 784).reshape(3, 784) % 256
    images = struct.pack(">IIII", 2051, 3, 28, 28) + pixels.astype("uint8").tobytes()
    cached(mnist, "mnist", "TEST_IMAGE_URL", "TEST_IMAGE_MD5", gzip.compress(images))
    labels = struct.pack(">II", 2049, 3) + b"\x07\x02\x01"
    cached(mnist, "mnist", "TEST_LABEL_URL", "TEST_LABEL_MD5", gzip.compress(labels))
    samples = list(mnist.test()())
    assert [label for _, label in samples] == [7, 2, 1]
    assert samples[0][0].dtype == np.float32
    np.testing.assert_allclose(samples[0][0], pixels[0] / 127.5 - 1, atol=1e-6)


def test_cifar(cached):
    def batch(key, labels):
        return pickle.dumps({b"data": np.full((len(labels), 3072), 51, "uint8"), key: labels}, protocol=2)

    ten = {"cifar-10/data_batch_1": batch(b"labels", [3, 4]), "cifar-10/test_batch": batch(b"labels", [5])}
    cached(cifar, "cifar", "CIFAR10_URL", "CIFAR10_MD5", tar_of(ten))
    hundred = {"cifar-100/train": batch(b"fine_labels", [98]), "cifar-100/test": batch(b"fine_labels", [99])}
    cached(cifar, "cifar", "CIFAR100_URL", "CIFAR100_MD5", tar_of(hundred))
    assert [label for _, label in cifar.train10()()] == [3, 4]
    assert [label for _, label in cifar.test10()()] == [5]
    assert [label for _, label in cifar.train100()()] == [98]
    (pixels, label), = cifar.test100()()
    assert label == 99 and pixels.shape == (3072,) and pixels[0] == np.float32(0.2)
    again = cifar.train10(cycle=True)()
    assert [next(again)[1] for _ in range(5)] == [3, 4, 3, 4, 3]


def test_imdb(cached):
    good, bad = b"Good, good film!\n", b"bad film; bad end."
    files = {"aclImdb/%s/%s/0_1.txt" % (s, k): t for s in ("train", "test") for k, t in (("pos", good), ("neg", bad))}
    cached(imdb, "imdb", "URL", "MD5", tar_of(files))
    words = imdb.build_dict(imdb.re.compile("aclImdb/train/.*txt$"), 1)
    assert words == {b"bad": 0, b"film": 1, b"good": 2, "<unk>": 3}
    assert list(imdb.train(words)()) == [([2, 2, 1], 0), ([0, 1, 0, 3], 1)]


def test_imikolov(cached):
    directory = "./simple-examples/data/ptb."
    files = {directory + "train.txt": b" a b a \n c a\n", directory + "valid.txt": b" b a \n"}
    cached(imikolov, "imikolov", "URL", "MD5", tar_of(files))
    words = imikolov.build_dict(1)
    assert words == {b"a": 0, "<e>": 1, "<s>": 2, b"b": 3, "<unk>": 4}
    assert list(imikolov.train(words, 4)()) == [(2, 0, 3, 0), (0, 3, 0, 1), (2, 4, 0, 1)]
    pairs = imikolov.train(words, 0, imikolov.DataType.SEQ)
    assert list(pairs()) == [([2, 0, 3, 0], [0, 3, 0, 1]), ([2, 4, 0], [4, 0, 1])]
    assert list(imikolov.train(words, 3, imikolov.DataType.SEQ)()) == [([2, 4, 0], [4, 0, 1])]


def test_movielens(cached):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        package.writestr("ml-1m/movies.dat", "1::Toy Story (1995)::Comedy|Animation\n2::Story (1996)::Drama\n")
        package.writestr("ml-1m/users.dat", "1::F::1::10::48067\n2::M::56::16::70072\n")
        package.writestr("ml-1m/ratings.dat", "1::2::5::978300760\n2::1::3::978302109\n")
    cached(movielens, "movielens", "URL", "MD5", out.getvalue())
    assert movielens.movie_categories() == {"Animation": 0, "Comedy": 1, "Drama": 2}
    assert (movielens.max_movie_id(), movielens.max_user_id(), movielens.max_job_id()) == (2, 2, 16)
    assert list(movielens.train()()) == [[1, 1, 0, 10, 2, [2], [0], [5.0]], [2, 0, 6, 16, 1, [1, 0], [1, 0], [1.0]]]
    assert list(movielens.test(test_ratio=1.0)()) == list(movielens.train(test_ratio=0.0)())


def test_wmt14(cached):
    words = b"<s>\n<e>\n<unk>\nun\ndeux\ntrois\n"
    files = {
        "wmt14/src.dict": words, "wmt14/trg.dict": words.replace(b"un", b"one", 2).replace(b"<onek>", b"<unk>"),
        "wmt14/train/train": b"un deux\tone x\nno pair\n", "wmt14/test/test": b"trois\tone\n",
    }
    cached(wmt14, "wmt14", "URL_TRAIN", "MD5_TRAIN", tar_of(files))
    assert list(wmt14.train(5)()) == [([0, 3, 4, 1], [0, 3, 2], [3, 2, 1])]
    assert list(wmt14.test(5)()) == [([0, 2, 1], [0, 3], [3, 1])]
    assert wmt14.get_dict(4)[0] == {0: "<s>", 1: "<e>", 2: "<unk>", 3: "un"}


def test_wmt16(cached):
    files = {
        "wmt16/train": "a dog a\tein Hund\na cat\teine Katze\n".encode(), "wmt16/test": b"a bird\tein Vogel\n",
        "wmt16/val": b"dog\tHund\n",
    }
    cached(wmt16, "wmt16", "DATA_URL", "DATA_MD5", tar_of(files), "wmt16.tar.gz")
    assert list(wmt16.train(6, 5)()) == [
        ([0, 3, 4, 3, 1], [0, 3, 4], [3, 4, 1]), ([0, 3, 5, 1], [0, 2, 2], [2, 2, 1]),
    ]
    assert list(wmt16.validation(5, 6, "de")()) == [([0, 4, 1], [0, 4], [4, 1])]
    assert wmt16.get_dict("en", 5) == {"<s>": 0, "<e>": 1, "<unk>": 2, "a": 3, "dog": 4}
    with pytest.raises(ValueError, match="'fr'"):
        wmt16.test(5, 5, "fr")


def test_conll05(cached):
    words = b"The\ncat\nsat\ndown\n\n"
    props = b"-    (A0*\n-    *)\nsit  (V*)\n-    *\n\n"
    files = {conll05._WORDS: gzip.compress(words), conll05._PROPS: gzip.compress(props)}
    cached(conll05, "conll05st", "DATA_URL", "DATA_MD5", tar_of(files))
    cached(conll05, "conll05st", "WORDDICT_URL", "WORDDICT_MD5", b"<unk>\nThe\ncat\nsat\ndown\neos\n")
    cached(conll05, "conll05st", "VERBDICT_URL", "VERBDICT_MD5", b"sit\n")
    cached(conll05, "conll05st", "TRGDICT_URL", "TRGDICT_MD5", b"B-V\nB-A0\nI-A0\nO\n")
    assert conll05.get_dict()[2] == {"B-A0": 0, "I-A0": 1, "B-V": 2, "I-V": 3, "O": 4}
    (sample,) = conll05.test()()
    assert sample == (
        [1, 2, 3, 4], [1] * 4, [2] * 4, [3] * 4, [4] * 4, [5] * 4, [0] * 4, [1, 1, 1, 1], [0, 1, 2, 4],
    )


def test_images_in_batches(tmp_path):
    archive = tmp_path / "images.tgz"
    archive.write_bytes(tar_of({"jpg/1.jpg": b"one", "jpg/2.jpg": b"two", "jpg/3.jpg": b"three"}))
    listing = image.batch_images_from_tar(str(archive), "train", {"jpg/1.jpg": 5, "jpg/3.jpg": 6}, num_per_batch=1)
    with open(listing) as f:
        batches = [pickle.load(open(name.strip(), "rb")) for name in f]
    assert batches == [{"label": [5], "data": [b"one"]}, {"label": [6], "data": [b"three"]}]
    assert image.center_crop(np.arange(25).reshape(5, 5), 3).tolist() == [[6, 7, 8], [11, 12, 13], [16, 17, 18]]


def first(reader):
    return next(iter(reader()))


def test_synthetic_samples_have_the_real_shapes(monkeypatch):
    from oarlock.dataset import flowers

    monkeypatch.setenv("OARLOCK_SYNTHETIC_DATA", "1")
    assert [f.shape for f in first(uci_housing.train())] == [(13,), (1,)]
    assert first(mnist.test())[0].shape == (784,)
    assert first(cifar.train100())[0].shape == (3072,)
    assert first(flowers.valid())[0].shape == (3 * 224 * 224,)
    words = imdb.word_dict()
    assert max(max(document) for document, _ in imdb.train(words)()) < len(words)
    grams = imikolov.build_dict()
    assert all(len(g) == 5 and max(g) < len(grams) for g in imikolov.test(grams, 5)())
    assert [type(field) for field in first(movielens.train())] == [int] * 5 + [list] * 3
    assert len(first(conll05.test())) == 9
    assert all(s[-1] == 1 and t[0] == 0 and n[-1] == 1 for s, t, n in wmt14.train(30)())
    assert all(max(t) < 40 for _, t, _ in wmt16.test(30, 40)())


def test_synthetic_samples_are_the_same_every_time_and_learnable(monkeypatch):
    monkeypatch.setenv("OARLOCK_SYNTHETIC_DATA", "1")
    train, again = list(mnist.train()()), list(mnist.train()())
    assert all(np.array_equal(a[0], b[0]) and a[1] == b[1] for a, b in zip(train, again))
    means = np.stack([np.mean([x for x, label in train if label == c], axis=0) for c in range(10)])
    guesses = [np.argmin(((means - x) ** 2).sum(axis=1)) == label for x, label in mnist.test()()]
    assert np.mean(guesses) > 0.95
