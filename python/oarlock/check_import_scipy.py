"""Says what to do if a system library that scipy needs is missing."""


def check_import_scipy(OsName):
    """Imports scipy; on Windows, an error that a library is missing says what to install.

    Args:
        OsName (str): the name of the operating system, ``os.name``.

    Raises:
        ImportError: scipy cannot be imported.
    """
    try:
        import scipy.io as scio  # noqa: F401
    except ImportError as error:
        if OsName == "nt" and "DLL load failed" in error.args[0]:
            raise ImportError(error.args[0] + "\nplease download the visual C++ Redistributable from "
                              "https://www.microsoft.com/en-us/download/details.aspx?id=48145") from error
        raise
