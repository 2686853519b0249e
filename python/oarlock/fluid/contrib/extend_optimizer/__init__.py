"""Optimizers with additional steps."""

from .extend_optimizer_with_weight_decay import extend_with_decoupled_weight_decay

__all__ = ["extend_with_decoupled_weight_decay"]
