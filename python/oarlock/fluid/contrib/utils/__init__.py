"""Files of HDFS, and hashed tables outside of a job."""

from . import hdfs_utils, lookup_table_utils
from .hdfs_utils import HDFSClient, multi_download, multi_upload
from .lookup_table_utils import convert_dist_to_sparse_program, load_persistables_for_increment, load_persistables_for_inference

__all__ = lookup_table_utils.__all__ + hdfs_utils.__all__
