"""A clone of this tree to which its owner alone has a way, and the README's
first command in it.

    tree = PrivateTree(folder, shipped())

The folders and the compiled programs are those that `make` left, so that
`make run` has nothing to build."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import shutil
import subprocess

from media import ffmpeg_publish
from module_tree import OUTPUT, ROOT, VARIANT
from weir import TRACED, Weir, give_all, read_text

# A user without a name, as the machine may have none to spare.
ORDINARY = 65531
PROGRAMS = ("weir", "weirctl", "weir-fetch", "weir-speaker",
            "weir-supervisor", "libweir.a", "flags")
# Of conf/weir.conf: no port of this machine, and no pause at the end.
CHANGES = {
    'listen = "1935"': 'listen = "127.0.0.1:0"',
    'listen = "8080"': 'listen = "127.0.0.1:0"',
    'listen = "127.0.0.1:8090"': 'listen = "127.0.0.1:0"',
    'egress = [ "deny private", "deny linklocal", "allow all" ]':
        'egress = [ "allow loopback", "deny all" ]',
    'min_free = "1G"': 'min_free = "0"',
    'stop_grace = "5s"': 'stop_grace = "0"',
}


def shipped(changes=()):
    """conf/weir.conf with these texts in the place of others."""
    lines = read_text(f"{ROOT}/conf/weir.conf").splitlines(keepends=True)
    for old, new in [*CHANGES.items(), *dict(changes).items()]:
        at = [i for i, line in enumerate(lines)
              if old in line and not line.lstrip().startswith("#")]
        assert len(at) == 1, (old, at)
        lines[at[0]] = lines[at[0]].replace(old, new)
    return TRACED + "".join(lines)


def clone_tree(to):
    """A clone, with files as they are here; they keep their times, so that
    nothing has to be built."""
    made = f"{ROOT}/{OUTPUT}"
    if os.path.exists(f"{ROOT}/.git"):  # a copy of make mutate has none
        subprocess.run(["git", "clone", "-q", ROOT, to], check=True)
    shutil.copytree(ROOT, to, symlinks=True, dirs_exist_ok=True,
                    ignore=lambda folder, names: {
        n for n in names if n in (".git", "build", "run", "__pycache__")})
    os.makedirs(f"{to}/{OUTPUT}")
    for folder in dict.fromkeys((f"{ROOT}/build", made)):
        for name in os.listdir(folder):
            if os.path.isfile(f"{folder}/{name}") and \
                    (folder != made or name in PROGRAMS or "." in name):
                shutil.copy2(f"{folder}/{name}",
                             f"{to}/{os.path.relpath(folder, ROOT)}/{name}")
    shutil.copytree(f"{made}/obj", f"{to}/{OUTPUT}/obj")


class PrivateTree(Weir):
    """Root's, or an ordinary user's whose number is given.  closed: the folder
    whose mode is 0700, "above" the tree's own or "own".  more: files to be
    made, by their paths."""

    def __init__(self, folder, text, closed="above", user=None, more=()):
        self.folder, self.closed = str(folder), closed
        self.more = dict(more)
        super().__init__(f"{folder}/weir", text, user=user)

    def place(self):
        os.chmod(self.folder, 0o700 if self.closed == "above" else 0o755)
        clone_tree(self.prefix)
        os.chmod(self.prefix, 0o700 if self.closed == "own" else 0o755)
        self.set_config(self.config)
        for name, content in self.more.items():
            self.write(name, content)
        # Reports are the workers', to whom the way is closed.
        self.reports = f"{self.folder}.reports"
        os.mkdir(self.reports)
        os.chmod(self.reports, 0o1777)
        os.symlink(self.reports, f"{self.prefix}/sanitizer")
        if self.user is not None:
            give_all(self.folder, self.user)

    def set_config(self, text=None, **_):
        self.write("conf/here.conf", text)

    def write(self, name, content):
        """A file that every user may read, and execute if it is a script; it
        takes the place of another.  TREE stands for the tree's path."""
        path = f"{self.prefix}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.new", "w", encoding="utf-8") as f:
            f.write(content.replace("TREE", self.prefix))
        os.chmod(f"{path}.new", 0o755 if content[:2] == "#!" else 0o644)
        os.rename(f"{path}.new", path)

    def start(self):
        who = [] if self.user is None else \
            ["setpriv", f"--reuid={self.user}", f"--regid={self.user}",
             "--clear-groups", "--inh-caps=-all"]
        report = f"log_path={self.reports}/report"
        env = {**os.environ, "HOME": self.folder, "ASAN_OPTIONS": report,
               "UBSAN_OPTIONS": report + ":print_stacktrace=1"}
        self.stderr = f"{self.folder}.log"
        with open(self.stderr, "wb") as log:
            self.process = subprocess.Popen(
                [*who, "make", "run", "CONF=conf/here.conf",
                 f"VARIANT={VARIANT}"],
                cwd=self.prefix, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=env, start_new_session=True)
        self.pid = self.process.pid
        self._wait_ready()
        self.pid = int(read_text(f"{self.prefix}/run/weir.pid"))
        self._wait_ready()

    @property
    def own(self):
        """The port for this machine alone."""
        return self.port("http", 1)

    def publish(self, sample, key):
        return ffmpeg_publish(sample, self.rtmp_url(key), 1.0, for_ever=True)
