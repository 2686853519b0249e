"""Predictions by a network that is built anew and filled with saved parameters."""

from . import io, unique_name
from .compiler import CompiledProgram
from .executor import Executor, scope_guard
from .core import CPUPlace, Scope
from .framework import Program, program_guard

__all__ = ["Inferencer"]


class Inferencer:
    """Predicts what ``infer_func`` builds, with the parameters that a ``Trainer`` saved in ``param_path``. With ``parallel``,
    replicas share the samples (``CPU_NUM``)."""

    def __init__(self, infer_func, param_path, place=None, parallel=False):
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
        self._run = CompiledProgram(self.inference_program).with_data_parallel() if parallel else self.inference_program

    def infer(self, inputs, return_numpy=True):
        """Predicts from arrays by the names of the inputs; returns a list with the prediction."""
        if not isinstance(inputs, dict):
            raise ValueError("inputs should be a map of {'input_name': input_var}")
        return self.exe.run(self._run, feed=inputs, fetch_list=[self.predict_var.name], scope=self.scope,
                            return_numpy=return_numpy)
