"""``run_check``: does everything work?"""

import numpy as np

__all__ = ["run_check"]


def run_check():
    """Trains a tiny network and says whether that works."""
    from . import Executor, Program, Scope, data, layers, optimizer, program_guard, scope_guard, unique_name

    with program_guard(Program(), Program()), unique_name.guard(), scope_guard(Scope()):
        from . import default_main_program, default_startup_program

        x = data("x", [None, 2])
        loss = layers.mean(layers.fc(x, 3))
        optimizer.SGD(0.01).minimize(loss)
        exe = Executor()
        exe.run(default_startup_program())
        (value,) = exe.run(default_main_program(), feed={"x": np.ones([3, 2], "float32")}, fetch_list=[loss])
    if not np.isfinite(value).all():
        raise RuntimeError("a tiny network gave %r" % (value,))
    print("Your Oarlock works well on CPUs: fluid programs train.")
