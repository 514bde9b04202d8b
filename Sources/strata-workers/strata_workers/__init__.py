"""Drives worker processes of an app's tool, which upgrade, verify, convert and merge archives."""

from .protocol import Answer, Operation, Outcome, Range, Request
from .worker import Worker, WorkerError, worker_command

__all__ = ["Answer", "Operation", "Outcome", "Range", "Request"]
__all__ += ["Worker", "WorkerError", "worker_command"]
__version__ = "0.1.0"
