"""Runs many tasks, each in several attempts, on the processes and machines of a dask cluster.

A client reads the tasks, hands out the attempts, and writes their outcomes to the directory of the run; each attempt is
a session of its own, in a workspace of its own, in a process of a worker.
"""
