"""What an orderly end is, of servers and of a shell: SIGTERM to the process, or to its group.

The table of docs/decisions/0043. Each program is started in a session of its own, on 127.0.0.1 or a Unix socket, in a
temporary directory. It has a request of one second in flight, gets the signal, and is killed with its group after 10 s.

    python packages/core/bench/orderly-stop.py [NAME...]

Needs uvicorn, gunicorn, hypercorn and granian in this Python's environment; redis-server, nginx and the programs of
postgres (initdb, which refuses to run as root: then the user "postgres" runs it) where they are installed. What is
missing is named.
"""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = 3
LIMIT_S = 10

ASGI = """
import asyncio, os
def note(what):
    with open(os.environ["HOOKS"], "a") as file:
        file.write(what + "\\n")
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            if (await receive())["type"] == "lifespan.startup":
                note("startup")
                await send({"type": "lifespan.startup.complete"})
            else:
                await asyncio.sleep(0.1)
                note("shutdown")
                await send({"type": "lifespan.shutdown.complete"})
                return
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    headers = [(b"content-length", b"2"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})
"""
WSGI = """
import os, time
def note(what):
    with open(os.environ["HOOKS"], "a") as file:
        file.write(what + "\\n")
def app(environ, start_response):
    if environ["PATH_INFO"] == "/slow":
        time.sleep(1)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
def worker_exit(server, worker):
    note("worker_exit")
def on_exit(server):
    note("on_exit")
"""
PART = """trap 'echo flushed >> "$HOOKS"; exit 0' TERM
while :; do sleep 0.05; done
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def get(port, path="/", limit_s=30):
    """The body of an answer; asks again while nobody listens."""
    end = time.monotonic() + limit_s
    while True:
        try:
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
            client.request("GET", path)
            return client.getresponse().read()
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def has_members(group):
    for entry in pathlib.Path("/proc").iterdir():
        try:
            state, _, its_group = (
                (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            )
        except (OSError, ValueError):
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


def measure(
    name,
    command,
    ready,
    request=None,
    hooks=None,
    signals=("SIGTERM",),
    rounds=ROUNDS,
    **options,
):
    for which in signals:
        for to in ("leader", "group"):
            for _ in range(rounds):
                once(name, command, ready, request, hooks, which, to, options)


def once(name, command, ready, request, hooks, which, to, options):
    place = pathlib.Path(tempfile.mkdtemp(prefix="orderly-stop-"))
    place.chmod(0o755)
    port = free_port()
    notes = place / "hooks"
    notes.touch()
    (place / "asgi.py").write_text(ASGI)
    (place / "wsgi.py").write_text(WSGI)
    (place / "part.sh").write_text(PART)
    environment = {**os.environ, "HOOKS": str(notes), "PYTHONPATH": str(place)}
    answer = {}

    def ask():
        try:
            answer["is"] = len(request(place, port))
        except (OSError, http.client.HTTPException) as error:
            answer["is"] = type(error).__name__

    with open(place / "output", "w") as output:
        child = subprocess.Popen(
            command(place, port),
            cwd=place,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
            **options,
        )
    try:
        ready(place, port)
        asking = threading.Thread(target=ask) if request else None
        if asking:
            asking.start()
            time.sleep(0.3)
        begun = time.monotonic()
        number = getattr(signal, which)
        if to == "leader":
            os.kill(child.pid, number)
        else:
            os.killpg(child.pid, number)
        try:
            exit_code = child.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            exit_code = f"none after {LIMIT_S} s"
        took_ms = round((time.monotonic() - begun) * 1000)
        if asking:
            asking.join(3)
        time.sleep(0.3)
        lines = notes.read_text().split()
        found = {
            "program": name,
            "signal": which,
            "to": to,
            "exit": exit_code,
            "ms": took_ms,
            "left after 300 ms": has_members(child.pid),
            "answer": answer.get("is"),
            "hooks": hooks(place)
            if hooks
            else {line: lines.count(line) for line in sorted(set(lines))},
        }
        print(json.dumps(found), flush=True)
    finally:
        if child.poll() is None or has_members(child.pid):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        shutil.rmtree(place)


def module(*words):
    def command(place, port):
        return [sys.executable, "-m", *[word.format(port=port) for word in words]]

    return command


def web(name, *words):
    measure(
        name,
        module(*words),
        ready=lambda place, port: get(port),
        request=lambda place, port: get(port, "/slow", 0),
    )


def redis():
    def ready(place, port):
        end = time.monotonic() + 10
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.sendall(b"SET a b\r\n")
                    client.recv(100)
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    measure(
        "redis",
        lambda place, port: [
            *["redis-server", "--bind", "127.0.0.1", "--port", str(port)],
            *["--dir", str(place), "--save", "60 1000"],
        ],
        ready,
        hooks=lambda place: {"saved": (place / "dump.rdb").exists()},
    )


def nginx():
    def command(place, port):
        paths = " ".join(
            f"{kind}_temp_path {place}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;" if os.geteuid() == 0 else ""
        (place / "configuration").write_text(
            f"daemon off; {user} worker_processes 2; pid {place}/pid; error_log {place}/log info; events {{}} "
            f"http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port}; "
            f"location /slow {{ root {place}; limit_rate 1000; }} location / {{ return 200 ok; }} }} }}"
        )
        (place / "slow").write_text("x" * 1500)
        return ["nginx", "-c", f"{place}/configuration"]

    measure(
        "nginx",
        command,
        ready=lambda place, port: get(port),
        request=lambda place, port: get(port, "/slow", 0),
        hooks=lambda place: {
            "graceful": (place / "log").read_text().count("gracefully shutting down")
        },
        signals=("SIGTERM", "SIGQUIT"),
    )


def postgres():
    programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="orderly-stop-") as parent:
        os.chmod(parent, 0o777)
        data = f"{parent}/data"
        made = [str(programs / "initdb"), "-D", data, "-A", "trust", "-N"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, cwd="/", **user)
        clients = []

        def ready(place, port):
            asked = [str(programs / "pg_isready"), "-q", "-h", parent, "-p", str(port)]
            end = time.monotonic() + 15
            while subprocess.run(asked, check=False, cwd="/").returncode != 0:
                if time.monotonic() > end:
                    raise TimeoutError((place / "output").read_text())
                time.sleep(0.05)
            query = [
                "psql",
                "-h",
                parent,
                "-p",
                str(port),
                "-U",
                "postgres",
                "-c",
                "select pg_sleep(20)",
            ]
            query[0] = str(programs / "psql")
            nothing = subprocess.DEVNULL
            clients.append(
                subprocess.Popen(query, stdout=nothing, stderr=nothing, cwd="/")
            )
            time.sleep(0.5)

        measure(
            "postgres, a query runs",
            lambda place, port: [
                *[str(programs / "postgres"), "-D", data, "-p", str(port)],
                *["-c", "listen_addresses=", "-k", parent],
            ],
            ready,
            hooks=lambda place: {
                "shut down": (place / "output")
                .read_text()
                .count("database system is shut down")
            },
            signals=("SIGTERM", "SIGINT"),
            rounds=2,
            **user,
        )
        for client in clients:
            client.kill()
            client.wait()


def pipeline():
    measure(
        "sh -c 'a | b; true'",
        lambda place, port: ["sh", "-c", "sh part.sh | sh part.sh; true"],
        ready=lambda place, port: time.sleep(0.5),
    )


HYPERCORN = ("hypercorn", "-b", "127.0.0.1:{port}", "asgi:app")
GRANIAN = ("granian", "--interface", "asgi", "--port", "{port}", "asgi:app")
UVICORN = ("uvicorn", "asgi:app", "--port", "{port}")
GUNICORN = (
    "gunicorn",
    "-w",
    "2",
    "-c",
    "python:wsgi",
    "-b",
    "127.0.0.1:{port}",
    "wsgi:app",
)
PROGRAMS = {
    "uvicorn": lambda: web("uvicorn", *UVICORN),
    "uvicorn-2": lambda: web("uvicorn, 2 workers", *UVICORN, "--workers", "2"),
    "gunicorn": lambda: web("gunicorn, 2 workers", *GUNICORN),
    "gunicorn-threads": lambda: web(
        "gunicorn, 2 workers with threads", *GUNICORN, "--threads", "2"
    ),
    "hypercorn": lambda: web("hypercorn", *HYPERCORN),
    "hypercorn-2": lambda: web("hypercorn, 2 workers", *HYPERCORN, "-w", "2"),
    "granian": lambda: web("granian", *GRANIAN),
    "granian-2": lambda: web("granian, 2 workers", *GRANIAN, "--workers", "2"),
    "redis": redis,
    "nginx": nginx,
    "postgres": postgres,
    "pipeline": pipeline,
}

for asked in sys.argv[1:] or PROGRAMS:
    try:
        PROGRAMS[asked]()
    except (OSError, ValueError) as missing:
        print(f"{asked} cannot be measured: {missing}", file=sys.stderr)
