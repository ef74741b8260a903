/**
 * Builds one virtual environment, unless it is already complete; runs in the interpreter that the environment is for.
 * The first line of standard input is the order; the last line of standard output is the outcome.
 *
 * The kernel releases the lock when its holder ends in any way, and the next one that waits continues. When standard
 * input ends, because the host ended or gave up, this program ends, with all processes that it started.
 */
export const BUILDER_PROGRAM = `
import fcntl, json, os, shutil, signal, subprocess, sys, threading

order = json.loads(sys.stdin.buffer.readline().decode())

def end_with_the_host():
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_the_host, daemon=True).start()

def report(**outcome):
    print(json.dumps(outcome), flush=True)

def run(command):
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        text = done.stdout.decode("utf-8", "replace")
        report(failed=" ".join(command[:6]), code=done.returncode, output=text[-20000:])
        sys.exit(0)

directory = order["directory"]
python = os.path.join(directory, "bin", "python")
complete = os.path.join(directory, "snakepit-environment.json")
with open(directory + ".lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.path.exists(complete) and os.path.exists(python):
        report(made=False)
        sys.exit(0)
    if os.path.lexists(directory):
        shutil.rmtree(directory)
    uv = shutil.which("uv")
    if uv is not None:
        run([uv, "venv", "--quiet", "--python", sys.executable, directory])
        install = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        without = [] if order["install"] else ["--without-pip"]
        run([sys.executable, "-I", "-m", "venv", *without, directory])
        install = [python, "-I", "-m", "pip", "install", "--quiet", "--no-input"]
        install += ["--disable-pip-version-check", "--no-compile"]
    if order["install"]:
        run(install + order["install"])
        # Otherwise the first worker would, or each one, where it may not keep compiled files. But not
        # the tests of packages: they are half of scikit-learn. A file may be for another Python.
        compileall = [python, "-I", "-m", "compileall", "-qq", "-x", "/site-packages/.*/tests?/"]
        subprocess.run([*compileall, os.path.join(directory, "lib")], stdout=subprocess.DEVNULL)
    with open(complete + ".new", "w") as marker:
        json.dump(order, marker, indent=1)
    os.replace(complete + ".new", complete)
    report(made=True)
`;
