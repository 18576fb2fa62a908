"""Runs an image that is a plain folder as `docker run --read-only --cap-drop ALL --tmpfs /tmp` would.

    container.py IMAGE.json      {"root", "user", "state", "environment", "program", "healthcheck", "agent"}

Expects namespaces of its own: unshare --mount --net --pid --mount-proc --fork --kill-child. "agent" is a command that runs outside of the
image, but in its network.
"""

import json
import os
import subprocess
import sys
import time

TIMEOUT = 30
image = json.load(open(sys.argv[1], encoding="utf-8"))
root, user = image["root"], image["user"]


def system(*words):
    subprocess.run(words, check=True)


def chrooted(words, **options):
    """Starts a program in the image, as its user and so without capabilities."""

    def enter():
        os.chroot(root)
        os.chdir("/")
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)

    return subprocess.Popen(words, preexec_fn=enter, env=image["environment"], **options)


system("mount", "--make-rprivate", "/")
system("mount", "--bind", root, root)
system("mount", "--bind", root + image["state"], root + image["state"])
system("mount", "-t", "tmpfs", "tmpfs", root + "/tmp")
system("mount", "-o", "remount,bind,ro", root)
system("ip", "link", "set", "lo", "up")
try:
    open(root + "/etc/x", "w")
    sys.exit("the root file system is not read-only")
except OSError:
    pass

server = chrooted(image["program"])
deadline = time.monotonic() + TIMEOUT
while (health := chrooted(image["healthcheck"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)).wait() != 0:
    if server.poll() is not None:
        sys.exit(f"the server ended with {server.returncode}")
    if time.monotonic() > deadline:
        sys.exit(f"the health check does not succeed: {health.stdout.read()}")
    time.sleep(0.05)
status = dict(line.split(":\t", 1) for line in open(f"/proc/{server.pid}/status", encoding="utf-8").read().splitlines() if ":\t" in line)
assert set(status["Uid"].split()) == {str(user)} and int(status["CapEff"], 16) == 0, status
subprocess.run(image["agent"], check=True, timeout=TIMEOUT)
server.terminate()
if server.wait(TIMEOUT) != 0:
    sys.exit(f"the server ended with {server.returncode}")
if chrooted(image["healthcheck"], stderr=subprocess.DEVNULL).wait() == 0:
    sys.exit("the health check succeeds without a server")
print("the image works")
