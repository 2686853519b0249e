"""Where files for compilers are: there are none."""

__all__ = ["get_include", "get_lib"]

_NONE = "Oarlock has no C++ headers or libraries to compile against: write operators in Rust, or in Python with layers.py_func"


def get_include():
    """Raises: there are no C++ headers. Operators are written in Rust, or in Python with ``layers.py_func``."""
    raise NotImplementedError(_NONE)


def get_lib():
    """Raises: there are no C++ libraries. Operators are written in Rust, or in Python with ``layers.py_func``."""
    raise NotImplementedError(_NONE)
