"""For test suites: the contract of every storage, and a switch that forbids real models."""

from liman_nb.testing.real_models import forbid_real_models
from liman_nb.testing.storage_contract import StorageContract

__all__ = ["StorageContract", "forbid_real_models"]
