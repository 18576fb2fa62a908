"""A person at a terminal: starts a command in a pseudo-terminal, waits for each prompt and types the answer.

Arguments: a JSON list of [prompt, answer] pairs, then the command. Prints everything the terminal showed and exits as the
command did.
"""
import json, os, pty, select, sys, termios, time

talk, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown, seen, deadline = b"", 0, time.monotonic() + 60


def has_echo():
    return termios.tcgetattr(terminal)[3] & termios.ECHO


while time.monotonic() < deadline:
    if select.select([terminal], [], [], 0.2)[0]:
        try:
            more = os.read(terminal, 65536)
        except OSError:
            break
        if not more:
            break
        shown += more
    if talk and talk[0][0].encode() in shown[seen:]:
        seen = len(shown)
        # Input typed before the echo is off is discarded. Only yes-or-no questions keep the echo.
        while "[y/N" not in talk[0][0] and has_echo() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.write(terminal, talk.pop(0)[1].encode() + b"\r")
else:
    os.kill(pid, 9)
sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
