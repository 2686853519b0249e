"""MovieLens 1M: viewers, films, and how the ones rated the others."""

import functools
import re
import zipfile

import numpy as np

from . import _synthetic, common

__all__ = [
    "age_table", "get_movie_title_dict", "max_job_id", "max_movie_id", "max_user_id", "movie_categories", "movie_info",
    "test", "train", "user_info",
]

age_table = [1, 18, 25, 35, 45, 50, 56]

URL = "https://dataset.bj.bcebos.com/movielens%2Fml-1m.zip"
MD5 = "c4d9eecfca2ab87c1945afe126590906"

_TITLE = re.compile(r"^(.*)\((\d+)\)$")


class MovieInfo:
    """A film: its number, categories and title."""

    def __init__(self, index, categories, title):
        self.index = int(index)
        self.categories = categories
        self.title = title

    def value(self):
        """Number, ids of the categories, ids of the words of the title."""
        meta = _meta()
        return [
            self.index,
            [meta.categories[c] for c in self.categories],
            [meta.title_words[w.lower()] for w in self.title.split()],
        ]

    def __repr__(self):
        return "<MovieInfo id(%d), title(%s), categories(%s)>" % (self.index, self.title, self.categories)


class UserInfo:
    """A viewer: number, sex, age group (an index of :data:`age_table`) and job."""

    def __init__(self, index, gender, age, job_id):
        self.index = int(index)
        self.is_male = gender == "M"
        self.age = age_table.index(int(age))
        self.job_id = int(job_id)

    def value(self):
        """Number, 0 for a man or 1 for a woman, age group, job."""
        return [self.index, 0 if self.is_male else 1, self.age, self.job_id]

    def __repr__(self):
        sex = "M" if self.is_male else "F"
        return "<UserInfo id(%d), gender(%s), age(%d), job(%d)>" % (self.index, sex, age_table[self.age], self.job_id)


class _Meta:
    """Films and viewers by number, and ids of categories and title words.

    The ids follow the alphabet, so that they are the same in every process.
    """

    def __init__(self, movies, users):
        self.movies = {movie.index: movie for movie in movies}
        self.users = {user.index: user for user in users}
        self.title_words = _numbered(w.lower() for m in movies for w in m.title.split())
        self.categories = _numbered(c for m in movies for c in m.categories)


def _numbered(words):
    return {word: i for i, word in enumerate(sorted(set(words)))}


def _lines(name):
    """The fields of the lines of one file of the archive."""
    with zipfile.ZipFile(common.download(URL, "movielens", MD5)) as package:
        with package.open("ml-1m/" + name) as f:
            for line in f:
                yield line.decode("latin").strip().split("::")


def _meta():
    return _read_meta(common.synthetic())


@functools.lru_cache(maxsize=None)
def _read_meta(synthetic):
    if synthetic:
        return _synthetic_meta()
    movies = [
        MovieInfo(index, categories.split("|"), _TITLE.match(title).group(1))
        for index, title, categories in _lines("movies.dat")
    ]
    users = [UserInfo(index, gender, age, job) for index, gender, age, job, _ in _lines("users.dat")]
    return _Meta(movies, users)


def _synthetic_meta():
    """As many films, viewers and words as the real data has: scripts know some of its numbers."""
    rng = _synthetic.rng_of("movielens")
    movies = []
    for index in range(1, 3953):
        categories = ["Kind%d" % c for c in sorted(rng.choice(18, rng.randint(1, 4), replace=False))]
        title = " ".join("Word%d" % w for w in rng.randint(0, 5174, rng.randint(1, 5)))
        movies.append(MovieInfo(index, categories, title))
    users = [UserInfo(i, rng.choice(["M", "F"]), rng.choice(age_table), rng.randint(21)) for i in range(1, 6041)]
    return _Meta(movies, users)


def _synthetic_ratings(split):
    """(viewer, film, stars): a viewer's sex, age and job decide which categories please."""
    meta = _meta()
    taste = _synthetic.rng_of("movielens", "taste").uniform(-1, 1, (2, len(age_table), 21, len(meta.categories)))
    rng = _synthetic.rng_of("movielens", split)
    for _ in range(_synthetic.size_of(split)):
        user, movie = rng.randint(1, len(meta.users) + 1), rng.randint(1, len(meta.movies) + 1)
        _, sex, age, job = meta.users[user].value()
        pleasure = np.mean([taste[sex, age, job, c] for c in meta.movies[movie].value()[1]])
        yield user, movie, float(np.clip(np.round(3 + 2 * pleasure), 1, 5))


def _real_ratings(split, rand_seed, test_ratio):
    rng = np.random.RandomState(rand_seed)
    for user, movie, stars, _ in _lines("ratings.dat"):
        if (rng.random_sample() < test_ratio) == (split == "test"):
            yield int(user), int(movie), float(stars)


def _reader(split, rand_seed=0, test_ratio=0.1):
    def reader():
        meta = _meta()
        ratings = _synthetic_ratings(split) if common.synthetic() else _real_ratings(split, rand_seed, test_ratio)
        for user, movie, stars in ratings:
            # One to five stars become -3 to 5.
            yield meta.users[user].value() + meta.movies[movie].value() + [[stars * 2 - 5.0]]

    return reader


def train(rand_seed=0, test_ratio=0.1):
    """A reader of viewer, film and rating; a random ``test_ratio`` of the ratings is left for :func:`test`."""
    return _reader("train", rand_seed, test_ratio)


def test(rand_seed=0, test_ratio=0.1):
    """A reader of the ratings that :func:`train` leaves out."""
    return _reader("test", rand_seed, test_ratio)


def get_movie_title_dict():
    """Ids of the words of titles."""
    return _meta().title_words


def movie_categories():
    """Ids of the categories."""
    return _meta().categories


def max_movie_id():
    """The largest number of a film."""
    return max(_meta().movies)


def max_user_id():
    """The largest number of a viewer."""
    return max(_meta().users)


def max_job_id():
    """The largest number of a job."""
    return max(user.job_id for user in _meta().users.values())


def user_info():
    """Viewers by number."""
    return _meta().users


def movie_info():
    """Films by number."""
    return _meta().movies


def fetch():
    """Downloads the data set."""
    common.download(URL, "movielens", MD5)
