"""How gradients are summed."""

__all__ = ["BackwardStrategy"]


class BackwardStrategy:
    """Settings of a backward pass.

    ``sort_sum_gradient``: whether gradients of a tensor are summed in the order in which its uses ran backward. They always are here, so
    that results are the same in every run; the setting changes nothing.
    """

    def __init__(self):
        self.sort_sum_gradient = False
