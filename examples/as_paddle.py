"""Makes ``paddle`` mean Oarlock where that is installed; elsewhere it is PaddlePaddle. Examples import this first."""

try:
    import oarlock

    oarlock.install_as_paddle()
except ImportError:
    pass
