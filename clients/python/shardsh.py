"""Starts mock sharded clusters for tests.

No dependencies; the program shardsh is found in $SHARDSH_BINARY, or on the path.
docs/embed.md has a tour.
"""
import atexit
import os
import subprocess
import tempfile
import threading
from typing import IO, Any, Dict, List, Optional, Union

__all__ = ["Cluster", "start"]


class Cluster:
    """A cluster that runs; as a context manager it ends with the block."""

    def __init__(self, uri: str, process: "subprocess.Popen[str]", errors: "IO[Any]") -> None:
        self.uri = uri  #: the connection string, for any driver
        self._process = process
        self._errors = errors

    def stop(self) -> None:
        """Ends the cluster, and waits until it is gone."""
        atexit.unregister(self.stop)
        _end(self._process)
        self._errors.close()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    shards: Optional[int] = None,
    version: Optional[str] = None,
    topology: Optional[str] = None,
    snapshot: Optional[str] = None,
    seed: Optional[int] = None,
    dbpath: Optional[str] = None,
    time: Optional[str] = None,
    parameters: Optional[Dict[str, Union[str, int, bool]]] = None,
    binary: Optional[str] = None,
    timeout: float = 10.0,
) -> Cluster:
    """Starts a cluster, and returns when it can be used.

    version is the release to behave like ("5.0"), topology and snapshot are files,
    time is "real", "virtual" or a pace such as "60x", parameters are those of the
    server by their own names. The cluster ends with this process at the latest.
    """
    program = binary or os.environ.get("SHARDSH_BINARY") or "shardsh"
    args: List[str] = [program, "serve", "--port", "0", "--log-level", "error", "--until-eof"]
    for name, value in (
        ("shards", shards), ("server-version", version), ("topology", topology), ("snapshot", snapshot),
        ("seed", seed), ("dbpath", dbpath), ("mock-time", time),
    ):
        if value is not None:
            args.append("--%s=%s" % (name, value))
    for key, setting in (parameters or {}).items():
        text = str(setting).lower() if isinstance(setting, bool) else str(setting)
        args += ["--set-parameter", "%s=%s" % (key, text)]
    errors = tempfile.TemporaryFile("w+")
    try:
        process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    except FileNotFoundError:
        errors.close()
        raise RuntimeError("there is no %s: put it on the path, or its file into SHARDSH_BINARY" % program) from None
    # The program ends with its standard input, which ends with this process.
    uri = _first_line(process, timeout)
    if not uri:
        _end(process)
        raise RuntimeError("shardsh serve did not start within %g s: %s" % (timeout, _tail(errors)))
    cluster = Cluster(uri, process, errors)
    atexit.register(cluster.stop)
    return cluster


def _first_line(process: "subprocess.Popen[str]", timeout: float) -> str:
    """Waits for the connection string; empty when there is none in time."""
    line: List[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda out: line.append(out.readline()), args=(process.stdout,), daemon=True)
    reader.start()
    reader.join(timeout)
    return line[0].strip() if line else ""


def _tail(errors: "IO[Any]") -> str:
    with errors:
        errors.seek(0)
        return str(errors.read()[-4096:]).strip()


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(6)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
