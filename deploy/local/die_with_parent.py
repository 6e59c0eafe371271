"""Script: `die_with_parent.py PARENT_PID COMMAND…` becomes COMMAND, which the kernel kills when its parent ends.

A script of its own, run with `-I -S` (20 ms), because `preexec_fn` may deadlock in a process with threads. The signal
is bound to the *thread* that started the command. It imports nothing of Magma.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for the signal, then become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        # The parent ended before the kernel was asked: nobody would ever end this process.
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - replaces this process; no shell involved


if __name__ == "__main__":
    main()
