"""An MCP server on stdio that leaves everything to the process that listens on a socket.

Usage: relay.py SOCKET

The gateway starts its servers again for every task. Importing AgentDojo each time would take most of the time of the replay.
"""

import socket
import sys
import threading

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])


def forward():
    for line in sys.stdin.buffer:
        connection.sendall(line)
    connection.shutdown(socket.SHUT_WR)


threading.Thread(target=forward, daemon=True).start()
for answer in connection.makefile("rb"):
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
