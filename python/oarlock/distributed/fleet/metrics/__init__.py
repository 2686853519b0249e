"""Metrics over the data of all workers, equal to those of one process that saw everything."""

from .metric import acc, auc, mae, max, min, mse, rmse, sum

__all__ = ["acc", "auc", "mae", "max", "min", "mse", "rmse", "sum"]
