"""Tools of transpilers."""

from . import checkport, program_utils, ufind
from .checkport import wait_server_ready
from .program_utils import (
    block_to_code, delete_ops, find_op_by_input_arg, find_op_by_output_arg, get_indent_space, op_to_code, program_to_code,
    variable_to_code,
)
from .ufind import UnionFind

__all__ = checkport.__all__ + program_utils.__all__ + ufind.__all__
