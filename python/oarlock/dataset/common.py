"""Shared by the data sets: the cache directory, checked downloads, and samples split over files."""

import glob
import hashlib
import importlib
import os
import pickle
import sys
import tempfile
import urllib.error
import urllib.request

__all__ = ["DATA_HOME", "cluster_files_reader", "download", "md5file", "split"]

#: Where files are kept. The environment variable ``DATA_HOME`` overrides it.
DATA_HOME = os.path.expanduser(os.environ.get("DATA_HOME", "~/.cache/paddle/dataset"))

_TIMEOUT_SECONDS = 30
_ATTEMPTS = 3
_CHUNK = 1 << 16


def synthetic():
    """Whether ``OARLOCK_SYNTHETIC_DATA`` asks for made samples."""
    return os.environ.get("OARLOCK_SYNTHETIC_DATA", "0").lower() not in ("", "0", "false", "off")


def md5file(fname):
    """The md5 sum of a file, as hexadecimal text."""
    digest = hashlib.md5()
    with open(fname, "rb") as f:
        for chunk in iter(lambda: f.read(_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def download(url, module_name, md5sum, save_name=None):
    """The path of a cached file; downloads it when it is missing or not the expected one."""
    name = url.split("/")[-1] if save_name is None else save_name
    filename = os.path.join(DATA_HOME, module_name, name)
    if os.path.exists(filename) and md5file(filename) == md5sum:
        return filename
    os.makedirs(os.path.dirname(filename), exist_ok=True)
    reason = None
    for _ in range(_ATTEMPTS):
        try:
            _fetch(url, filename, md5sum)
            return filename
        # A dropped connection is worth another attempt; so is a file that arrived damaged.
        except (OSError, ValueError) as e:
            reason = e
    raise RuntimeError(
        "cannot download %s (%s)\n  help: fetch it by other means and put it at %s (md5 %s), set DATA_HOME to a "
        "directory that holds %s, or set OARLOCK_SYNTHETIC_DATA=1 to train on made samples of the same shapes"
        % (url, reason, filename, md5sum, os.path.join(module_name, name))
    )


def _fetch(url, filename, md5sum):
    """One attempt. The file appears under its name only when it is whole and right."""
    handle, partial = tempfile.mkstemp(prefix=os.path.basename(filename) + ".", dir=os.path.dirname(filename))
    try:
        with os.fdopen(handle, "wb") as out, urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
            _copy(response, out, os.path.basename(filename))
        found = md5file(partial)
        if found != md5sum:
            raise ValueError("what arrived has md5 %s instead of %s" % (found, md5sum))
        # mkstemp lets only the owner read; other users may share the cache.
        os.chmod(partial, 0o644)
        os.replace(partial, filename)
    except BaseException:
        os.unlink(partial)
        raise


def _copy(response, out, name):
    """Copies the answer of a server, with a progress line on standard error."""
    total = int(response.headers.get("Content-Length") or 0)
    done = 0
    for chunk in iter(lambda: response.read(_CHUNK), b""):
        out.write(chunk)
        done += len(chunk)
        share = "%3d %%" % (100 * done // total) if total else "%d bytes" % done
        sys.stderr.write("\rdownloading %s: %s" % (name, share))
    sys.stderr.write("\n")
    if total and done != total:
        raise ValueError("the connection ended after %d of %d bytes" % (done, total))


def fetch_all():
    """Downloads every data set."""
    package = importlib.import_module(__package__)
    for name in package.__all__:
        fetch = getattr(getattr(package, name), "fetch", None)
        if fetch is not None:
            fetch()


def split(reader, line_count, suffix="%05d.pickle", dumper=pickle.dump):
    """Writes the samples of a reader to files of ``line_count`` samples each; ``suffix`` names them by number."""
    if not callable(dumper):
        raise TypeError("dumper should be callable.")
    lines, number = [], 0

    def write():
        with open(suffix % number, "wb") as f:
            dumper(lines, f)

    for sample in reader():
        lines.append(sample)
        if len(lines) == line_count:
            write()
            lines, number = [], number + 1
    if lines:
        write()


def cluster_files_reader(files_pattern, trainer_count, trainer_id, loader=pickle.load):
    """A reader of the files that belong to one of several trainers: every ``trainer_count``-th file."""
    if not callable(loader):
        raise TypeError("loader should be callable.")

    def reader():
        for name in sorted(glob.glob(files_pattern))[trainer_id::trainer_count]:
            with open(name, "rb") as f:
                yield from loader(f)

    return reader
