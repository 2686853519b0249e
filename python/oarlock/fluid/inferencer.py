"""Predictions by a network that is built anew and filled with saved parameters."""

from . import io, unique_name
from .executor import Executor, scope_guard
from .core import CPUPlace, Scope
from .framework import Program, program_guard

__all__ = ["Inferencer"]


class Inferencer:
    """Predicts what ``infer_func`` builds, with the parameters that a ``Trainer`` saved in ``param_path``."""

    def __init__(self, infer_func, param_path, place=None, parallel=False):
        if parallel:
            raise NotImplementedError("Inferencer(parallel=True): one process predicts on the threads of OARLOCK_THREADS")
        self.param_path = param_path
        self.scope = Scope()
        self.inference_program = Program()
        with program_guard(self.inference_program, Program()), unique_name.guard():
            self.predict_var = infer_func()
        self.place = CPUPlace() if place is None else place
        self.exe = Executor(self.place)
        with scope_guard(self.scope):
            io.load_params(self.exe, param_path, self.inference_program)
        self.inference_program = self.inference_program.clone(for_test=True)

    def infer(self, inputs, return_numpy=True):
        """Predicts from arrays by the names of the inputs; returns a list with the prediction."""
        if not isinstance(inputs, dict):
            raise ValueError("inputs should be a map of {'input_name': input_var}")
        return self.exe.run(self.inference_program, feed=inputs, fetch_list=[self.predict_var.name], scope=self.scope,
                            return_numpy=return_numpy)
