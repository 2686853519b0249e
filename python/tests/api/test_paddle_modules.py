"""Modules of paddle beside fluid: complex numbers, curves, version, made data sets."""

import numpy as np
import pytest

import oarlock
import oarlock.complex as cpx
import oarlock.fluid as fluid
from oarlock import sysconfig, utils, version
from oarlock.complex import helper
from oarlock.dataset import sentiment, voc2012
from oarlock.fluid import layers
from oarlock.fluid.framework import ComplexVariable

A = np.array([[1 + 2j, 3 - 1j], [0.5j, 2.0]], "complex64")
B = np.array([[2 - 1j, 1j], [1.0, 4 + 3j]], "complex64")
REAL = np.array([[1.0, 2.0], [4.0, 5.0]], "float32")


def number(array):
    if array.dtype != "complex64":
        return layers.assign(array)
    return ComplexVariable(layers.assign(np.ascontiguousarray(array.real)), layers.assign(np.ascontiguousarray(array.imag)))


def value(made):
    real, imag = fluid.Executor().run(fetch_list=[made.real, made.imag])
    return real + 1j * imag


PAIRS = {
    "elementwise_add": np.add, "elementwise_sub": np.subtract, "elementwise_mul": np.multiply, "elementwise_div": np.divide,
    "kron": np.kron, "matmul": np.matmul,
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("x,y", [(A, B), (A, REAL), (REAL, B)])
def test_layers_of_two_complex_numbers(name, x, y):
    np.testing.assert_allclose(value(getattr(cpx, name)(number(x), number(y))), PAIRS[name](x, y), rtol=1e-5, atol=1e-6)


def test_layers_of_one_complex_number():
    for made, want in ((cpx.trace(number(A)), [A.trace()]), (cpx.sum(number(A), dim=0), A.sum(0)),
                       (cpx.reshape(number(A), [4]), A.reshape(4)), (cpx.transpose(number(A), [1, 0]), A.T),
                       (cpx.matmul(number(A), number(B), transpose_y=True, alpha=2.0), 2 * A @ B.T)):
        np.testing.assert_allclose(value(made), want, rtol=1e-5)
    x = number(A)
    assert cpx.reshape(x, [1, 4], inplace=True) is x and x.shape == (1, 4)


def test_complex_variables_describe_themselves():
    x = number(A)
    assert x.dtype == "complex64" and x.shape == (2, 2) and x.name == {"real": x.real.name, "imag": x.imag.name}
    assert ComplexVariable(layers.zeros([1], "float64"), layers.zeros([1], "float64")).dtype == "complex128"
    assert repr(x).startswith("REAL: var ") and helper.is_complex(x) and helper.is_real(x.real)
    with pytest.raises(AssertionError):
        x.numpy()
    with pytest.raises(AssertionError, match="same shape"):
        ComplexVariable(layers.zeros([1], "float32"), layers.zeros([2], "float32"))
    with pytest.raises(AssertionError, match="same data type"):
        ComplexVariable(layers.zeros([1], "float32"), layers.zeros([1], "float64"))
    for call in (lambda: cpx.sum(x.real), lambda: cpx.elementwise_add(x.real, x.real), lambda: cpx.elementwise_div(x.real, x.real)):
        with pytest.raises(ValueError, match="must be ComplexVariable"):
            call()


def test_curves_are_kept_and_forgotten(monkeypatch):
    monkeypatch.setenv("DISABLE_PLOT", "True")
    curves = utils.Ploter("train", "test")
    curves.append("train", 1, 0.5)
    assert curves._curves["train"] == ([1], [0.5])
    assert curves.plot() is None
    curves.reset()
    assert curves._curves["train"] == ([], [])
    with pytest.raises(AssertionError, match="no curve 'other'"):
        curves.append("other", 1, 1)


def test_the_version_is_that_of_the_api(capsys):
    assert version.full_version == "1.8.5" and version.mkl() == "OFF"
    version.show()
    assert capsys.readouterr().out.splitlines()[0] == "full_version: 1.8.5"
    for call in (sysconfig.get_include, sysconfig.get_lib):
        with pytest.raises(NotImplementedError, match="write operators in Rust"):
            call()


def test_made_reviews_and_images(monkeypatch):
    monkeypatch.setenv("OARLOCK_SYNTHETIC_DATA", "1")
    ids = dict(sentiment.get_word_dict())
    words, label = next(iter(sentiment.train()))
    assert max(words) < len(ids) and label in (0, 1) and len(list(sentiment.test())) == 512
    for split in (voc2012.train, voc2012.test, voc2012.val):
        pixels, classes = next(split()())
        assert pixels.shape == (32, 32, 3) and classes.shape == (32, 32) and pixels.dtype == classes.dtype == "uint8"


def test_reviews_are_read_from_the_archive(tmp_path, monkeypatch):
    import zipfile

    from oarlock.dataset import common

    path = tmp_path / "corpora" / "movie_reviews.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for kind, text in (("neg", "bad , bad film"), ("pos", "a good film")):
            archive.writestr("movie_reviews/%s/cv000.txt" % kind, text)
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sentiment, "MD5", common.md5file(str(path)))
    assert sentiment.get_word_dict() == [("bad", 0), ("film", 1), (",", 2), ("a", 3), ("good", 4)]
    monkeypatch.setattr(sentiment, "NUM_TRAINING_INSTANCES", 1)
    assert list(sentiment.train()) == [([0, 2, 0, 1], 0)] and list(sentiment.test()) == [([3, 4, 1], 1)]
    sentiment.fetch()


def test_images_are_read_from_the_archive(tmp_path, monkeypatch):
    import io
    import tarfile

    path = tmp_path / "voc.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in ((voc2012.SET_FILE.format("val"), b"one\n"), (voc2012.DATA_FILE.format("one"), b"12"),
                              (voc2012.LABEL_FILE.format("one"), b"3")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    monkeypatch.setattr(voc2012, "_pixels", lambda content: np.frombuffer(content, "uint8"))
    (sample,) = voc2012.reader_creator(str(path), "val")()
    assert [part.tolist() for part in sample] == [[49, 50], [51]]


def test_modules_are_attributes_of_the_package():
    assert oarlock.reader.decorator.chain is oarlock.reader.chain and oarlock.complex is cpx and oarlock.utils.Ploter


def test_colours_change_as_in_fluid():
    from oarlock.incubate.hapi.vision import transforms

    image = np.random.RandomState(0).randint(0, 256, [64, 64, 3]).astype("uint8")[:1, :2]
    # Recorded with this seed.
    recorded = {
        "HueTransform": [[[172, 47, 149], [144, 66, 251]]],
    }
    for name, want in recorded.items():
        np.random.seed(3)
        got = getattr(transforms, name)(0.4)(image)
        assert got.dtype == "uint8" and np.abs(got.astype(int) - want).max() <= 1
    for name in ("BrightnessTransform", "ContrastTransform", "SaturationTransform"):
        kind = getattr(transforms, name)
        np.random.seed(3)
        alpha = np.random.uniform(0.6, 1.4)
        np.random.seed(3)
        grey = image.astype("float32") @ np.array([0.114, 0.587, 0.299], "float32")
        towards = {"BrightnessTransform": 0, "ContrastTransform": grey.mean(), "SaturationTransform": grey[..., None]}[name]
        want = (image * alpha + towards * (1 - alpha)).clip(0, 255)
        assert np.abs(kind(0.4)(image).astype(float) - want).max() <= 1
        assert kind(0)(image) is image
        with pytest.raises(ValueError, match="non-negative"):
            kind(-1)
    assert transforms.HueTransform(0)(image) is image
    with pytest.raises(ValueError, match="hue"):
        transforms.HueTransform(0.6)
    jitter = transforms.ColorJitter(0.1, 0.1, 0.1, 0.1)
    assert len(jitter.transforms) == 4 and jitter(image).shape == image.shape and transforms.ColorJitter()(image) is image
