"""Files of HDFS with the arguments of ``fluid.contrib.utils``; ``incubate.fleet.utils.hdfs`` has the client beneath."""

import logging
import os

from ...incubate.fleet.utils import hdfs

__all__ = ["HDFSClient", "multi_download", "multi_upload"]

_log = logging.getLogger("oarlock")


class HDFSClient(hdfs.HDFSClient):
    """A cluster, through ``bin/hadoop fs``. Methods return whether they succeeded.

    Args:
        hadoop_home (str): the directory that holds ``bin/hadoop``.
        configs (dict): settings such as ``fs.default.name`` and ``hadoop.job.ugi``.

    Example::

        client = HDFSClient("/usr/lib/hadoop", {"fs.default.name": "hdfs://name:54310", "hadoop.job.ugi": "user,password"})
        files = client.lsr("/user/train/models")
    """

    def upload(self, hdfs_path, local_path, overwrite=False, retry_times=5):
        """Copies a file of this machine into a directory; False if it is there already, unless ``overwrite``.

        Args:
            hdfs_path (str): the directory, which is made if it does not exist.
            local_path (str): the file.
            overwrite (bool): replaces a file of the same name.
            retry_times (int): how often to try again.
        """
        if not os.path.exists(local_path):
            raise FileNotFoundError("there is no %s to upload" % local_path)
        if os.path.isdir(local_path):
            _log.warning("%s is a directory: multi_upload copies directories", local_path)
            return False
        target = os.path.join(hdfs_path, os.path.basename(local_path))
        if not self.is_exist(hdfs_path):
            self.makedirs(hdfs_path)
        elif self.is_exist(target):
            if not overwrite:
                _log.error("%s exists, and overwrite is False", target)
                return False
            self.delete(target)
        return self._run(["-put", local_path, hdfs_path], retry_times)[0] == 0

    def download(self, hdfs_path, local_path, overwrite=False, unzip=False):
        """Copies a file into a directory of this machine; False if it is there already, unless ``overwrite``.

        Args:
            hdfs_path (str): the file.
            local_path (str): the directory, which is made if it does not exist.
            overwrite (bool): replaces a file of the same name.
            unzip (bool): must be False: nothing is unpacked, in Fluid neither.
        """
        if unzip:
            raise NotImplementedError("download(unzip=True) is not supported: unpack the file with zipfile")
        if not self.is_exist(hdfs_path):
            _log.error("HDFS path: %s do not exist", hdfs_path)
            return False
        local_file = os.path.join(local_path, os.path.basename(hdfs_path))
        if os.path.exists(local_file):
            if not overwrite:
                _log.error("%s exists, and overwrite is False", local_file)
                return False
            os.remove(local_file)
        self.make_local_dirs(local_path)
        return self._run(["-get", hdfs_path, local_path], 5)[0] == 0

    def makedirs(self, hdfs_path):
        """Makes a directory and those around it; None if it exists."""
        return None if self.is_exist(hdfs_path) else super().makedirs(hdfs_path)

    def lsr(self, hdfs_path, only_file=True, sort=True):
        """Returns the paths in a directory and those inside it.

        Args:
            hdfs_path (str): the directory; the result is empty if it does not exist.
            only_file (bool): leaves directories out.
            sort (bool): orders by time of the last change.
        """
        if not self.is_exist(hdfs_path):
            return []
        lines = [fields for fields in self._lines(["-ls", "-R", hdfs_path], 1) if not (only_file and fields[0].startswith("d"))]
        if sort:
            # Dates are written year first, so texts sort as times.
            lines.sort(key=lambda fields: (fields[5], fields[6]))
        return [fields[7] for fields in lines]


def _client(client, what):
    if not isinstance(client, HDFSClient):
        raise TypeError("%s takes an HDFSClient of fluid.contrib.utils, not %r" % (what, client))


def multi_download(client, hdfs_path, local_path, trainer_id, trainers, multi_processes=5):
    """Copies every n-th file of a directory and those inside it to this machine, several at a time; returns the paths of the copies.

    Args:
        client (HDFSClient): the cluster.
        hdfs_path (str), local_path (str): the directories.
        trainer_id (int), trainers (int): which files: every ``trainers``-th from number ``trainer_id`` on.
        multi_processes (int): how many at a time.

    Example::

        files = multi_download(client, "/user/train", "train", trainer_id=0, trainers=2)
    """
    _client(client, "multi_download")
    client.make_local_dirs(local_path)
    files = client.lsr(hdfs_path, sort=True)[trainer_id::trainers]
    folder = lambda path: os.path.normpath(os.path.join(local_path, os.path.relpath(os.path.dirname(path), hdfs_path)))
    client._all(lambda path: client.download(path, folder(path)), files, multi_processes)
    return [os.path.join(folder(path), os.path.basename(path)) for path in files]


def multi_upload(client, hdfs_path, local_path, multi_processes=5, overwrite=False, sync=True):
    """Copies a directory of this machine with all that is in it, several files at a time.

    Args:
        client (HDFSClient): the cluster.
        hdfs_path (str), local_path (str): the directories.
        multi_processes (int): how many at a time.
        overwrite (bool): replaces files that exist.
        sync (bool): must be True: the call returns when all files are there.

    Example::

        multi_upload(client, "/user/models", "models")
    """
    _client(client, "multi_upload")
    if not sync:
        raise NotImplementedError("multi_upload(sync=False) is not supported: call it in a thread")
    files = [os.path.join(folder, name) for folder, _, names in os.walk(local_path) for name in names]
    if not files:
        _log.info("there are nothing need to upload, exit")
        return
    folder = lambda path: os.path.normpath(os.path.join(hdfs_path, os.path.relpath(os.path.dirname(path), local_path)))
    client._all(lambda path: client.upload(folder(path), path, overwrite, retry_times=5), files, multi_processes)
