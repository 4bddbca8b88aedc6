#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bounded.py KIB SECONDS COMMAND...: run a command; exit with its status, or with a message and 1 if it
needed more memory or time."""
import resource
import subprocess
import sys

try:
    status = subprocess.run(sys.argv[3:], check=False, timeout=float(sys.argv[2])).returncode
except subprocess.TimeoutExpired:
    sys.exit(f"bounded: longer than {sys.argv[2]} s")
needed = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if needed > int(sys.argv[1]):
    sys.exit(f"bounded: {needed} KiB")
sys.exit(status)
