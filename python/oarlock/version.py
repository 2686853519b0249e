"""The release of Fluid whose API this is: what scripts compare before they use a feature. ``oarlock.__version__`` is Oarlock's own."""

__all__ = ["full_version", "major", "minor", "mkl", "patch", "rc", "show"]

full_version = "1.8.5"
major, minor, patch, rc = "1", "8", "5", "0"
istaged = False
# The release itself.
commit = "8e1712a71057e3ca06a2927ceec51c18cb171fdc"
with_mkl = "OFF"


def show():
    """Prints the parts of the version.

    Example:
        >>> from oarlock import version
        >>> version.show()
        full_version: 1.8.5
        major: 1
        minor: 8
        patch: 5
        rc: 0
    """
    for name in ("full_version", "major", "minor", "patch", "rc"):
        print("%s: %s" % (name, globals()[name]))


def mkl():
    """Returns ``"OFF"``: products of matrices are Oarlock's own.

    Example:
        >>> from oarlock import version
        >>> version.mkl()
        'OFF'
    """
    return with_mkl
