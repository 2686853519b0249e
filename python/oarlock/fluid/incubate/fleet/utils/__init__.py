"""Tools around Fleet."""

from . import hdfs
from .hdfs import HDFSClient

__all__ = ["HDFSClient", "hdfs"]
