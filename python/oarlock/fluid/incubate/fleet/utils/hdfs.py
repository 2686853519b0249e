"""Files of HDFS, through Hadoop's client. Unlike Fluid's class it writes no log file, quotes what it is given, works on Python 3, and an
upload or download that fails is an error."""

import concurrent.futures
import os
import shutil
import subprocess
import time

from ..... import _core

__all__ = ["HDFSClient"]

_PAUSE = 3


class HDFSClient:
    """A cluster, through ``hadoop_home``'s ``bin/hadoop fs``. ``configs`` holds settings such as ``fs.default.name`` and
    ``hadoop.job.ugi``."""

    def __init__(self, hadoop_home, configs):
        program = os.path.join(hadoop_home, "bin", "hadoop")
        if shutil.which(program) is None:
            raise FileNotFoundError("there is no command %s: hadoop_home is the directory that holds Hadoop's bin/hadoop" % program)
        self.pre_commands = [program, "fs"] + ["-D%s=%s" % item for item in configs.items()]

    def _run(self, arguments, retry_times=0):
        """Runs a command until it succeeds, but not more often than asked; returns its code, what it printed and what it said."""
        for attempt in range(retry_times + 1):
            done = subprocess.run(self.pre_commands + arguments, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            if done.returncode == 0 or attempt == retry_times:
                return done.returncode, done.stdout, done.stderr.decode(errors="replace").strip()
            time.sleep(_PAUSE)

    def _must(self, arguments, retry_times=0):
        code, out, said = self._run(arguments, retry_times)
        if code != 0:
            raise OSError("hadoop fs %s failed: %s" % (" ".join(arguments), said.splitlines()[-1] if said else "it said nothing"))
        return out

    def _lines(self, arguments, retry_times):
        """The lines of a listing, as their fields; the last one is the path."""
        code, out, _ = self._run(arguments, retry_times)
        lines = out.decode().splitlines() if code == 0 else []
        return [fields for fields in (line.split(None, 7) for line in lines) if len(fields) == 8]

    def is_exist(self, hdfs_path=None):
        """Is there such a file or directory?"""
        return self._run(["-test", "-e", hdfs_path])[0] == 0

    def is_dir(self, hdfs_path=None):
        """Is it a directory?"""
        return self._run(["-test", "-d", hdfs_path])[0] == 0

    def is_file(self, hdfs_path=None):
        """Is it a file?"""
        return self.is_exist(hdfs_path) and not self.is_dir(hdfs_path)

    def cat(self, hdfs_path=None):
        """The text of a file without white space around it; empty if there is no such file."""
        if not self.is_file(hdfs_path):
            return ""
        return self._must(["-cat", hdfs_path], retry_times=1).decode().strip()

    def delete(self, hdfs_path):
        """Deletes a file, or a directory with all it holds. True if it is gone."""
        return self._run(["-rm", "-r", "-f", "-skipTrash", hdfs_path])[0] == 0

    def rename(self, hdfs_src_path, hdfs_dst_path, overwrite=False):
        """Gives a file or a directory another name. False if that name is taken, unless ``overwrite``."""
        if overwrite and self.is_exist(hdfs_src_path) and self.is_exist(hdfs_dst_path):
            self.delete(hdfs_dst_path)
        elif self.is_exist(hdfs_dst_path):
            return False
        return self._run(["-mv", hdfs_src_path, hdfs_dst_path])[0] == 0

    @staticmethod
    def make_local_dirs(local_path):
        """Makes a directory on this machine, unless it is there."""
        os.makedirs(local_path, exist_ok=True)

    def makedirs(self, hdfs_path):
        """Makes a directory and those around it."""
        return self._run(["-mkdir", "-p", hdfs_path], retry_times=1)[0] == 0

    def ls(self, hdfs_path):
        """The paths in a directory; none if there is no such directory."""
        return [fields[7] for fields in self._lines(["-ls", hdfs_path], 1)] if self.is_exist(hdfs_path) else []

    def lsr(self, hdfs_path, excludes=()):
        """The paths of all files in a directory and those inside it; none if there is no such directory."""
        if not self.is_exist(hdfs_path):
            return []
        lines = self._lines(["-ls", "-R", hdfs_path], 1)
        return [fields[7] for fields in lines if not fields[0].startswith("d") and fields[7] not in excludes]

    @staticmethod
    def split_files(files, trainer_id, trainers):
        """The files of one of several trainers."""
        return _core.split_files(list(files), trainer_id, trainers)

    def download(self, hdfs_path, local_path, multi_processes=5, overwrite=False, retry_times=5):
        """Copies a file, or all files of a directory, into a directory of this machine, several at a time; returns the paths of all
        files that are then in it."""
        self.make_local_dirs(local_path)
        files = self.lsr(hdfs_path) if self.is_dir(hdfs_path) else [hdfs_path]

        def get(path):
            to = os.path.join(local_path, os.path.basename(path))
            if os.path.exists(to):
                if not overwrite:
                    raise FileExistsError("%s exists, and overwrite is False" % to)
                os.remove(to)
            self._must(["-get", path, to], retry_times)

        self._all(get, files, multi_processes)
        return [os.path.join(folder, name) for folder, _, names in os.walk(local_path) for name in names]

    def upload(self, hdfs_path, local_path, multi_processes=5, overwrite=False, retry_times=5):
        """Copies a file, or all that is in a directory, of this machine into a directory, several at a time."""
        if not os.path.exists(local_path):
            raise FileNotFoundError("there is no %s to upload" % local_path)
        files = [os.path.join(local_path, n) for n in sorted(os.listdir(local_path))] if os.path.isdir(local_path) else [local_path]
        if overwrite:
            self.delete(hdfs_path)
        self.makedirs(hdfs_path)
        self._all(lambda path: self._must(["-put", path, hdfs_path], retry_times), files, multi_processes)

    def upload_dir(self, dest_dir, local_dir, overwrite=False):
        """Copies a directory of this machine into another one. True if that worked."""
        local_dir, dest_dir = local_dir.rstrip("/"), dest_dir.rstrip("/")
        if overwrite:
            self.delete("%s/%s" % (dest_dir, os.path.basename(local_dir)))
        self.makedirs(dest_dir)
        return self._run(["-put", local_dir, dest_dir])[0] == 0

    @staticmethod
    def _all(work, items, at_once):
        with concurrent.futures.ThreadPoolExecutor(max(1, at_once)) as pool:
            list(pool.map(work, items))
