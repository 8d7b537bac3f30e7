"""The servers that are measured: weir, nginx with nginx-rtmp, and the bare
loop. Each runs in a directory of its own, pinned to one CPU, and is a context
manager that leaves no process behind."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

RTMP_MODULE = '/usr/lib/nginx/modules/ngx_rtmp_module.so'
TICKS = os.sysconf('SC_CLK_TCK')


class Failure(Exception):
    """Something that cannot be measured, and why."""


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def wait_for(what, limit, test):
    """Asks test() until it gives something; its answer."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        answer = test()
        if answer:
            return answer
        time.sleep(0.02)
    raise Failure(f'{what}: not within {limit:g} s')


def parents():
    """Every process's parent, by process."""
    found = {}
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            with open(f'/proc/{name}/stat') as f:
                found[int(name)] = int(f.read().rpartition(')')[2].split()[1])
        except OSError:
            pass
    return found


def end_group(process):
    """Ends a process and what it started: asks first, then does not."""
    for number, limit in ((signal.SIGTERM, 3), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(limit)
            break
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


NICE = -15  # of what is measured, where that is allowed


def start(command, cpu, **more):
    """Starts a program on one CPU, in a process group of its own, and, where
    that is allowed, before whatever else the machine has to do."""
    # The child inherits both; setting them here needs no code between fork
    # and exec.
    affinity, nice = os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)
    os.sched_setaffinity(0, {cpu})
    try:
        if os.getuid() == 0:
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
        process = subprocess.Popen(command, start_new_session=True, **more)
    finally:
        os.sched_setaffinity(0, affinity)
        if os.getuid() == 0:
            os.setpriority(os.PRIO_PROCESS, 0, nice)
    # Linux shares a CPU among sessions first, where autogroups are on; a
    # session's niceness is set apart.
    try:
        with open(f'/proc/{process.pid}/autogroup', 'w') as f:
            f.write(str(NICE))
    except OSError:
        pass
    return process


def busy_seconds(cpu):
    """What a CPU has worked since the machine started."""
    with open('/proc/stat') as f:
        for line in f:
            fields = line.split()
            if fields[0] == f'cpu{cpu}':
                ticks = [int(n) for n in fields[1:9]]
                return (sum(ticks) - ticks[3] - ticks[4]) / TICKS
    return 0


class Server:
    """What weir, nginx and the bare loop have in common."""

    def __init__(self, cpu):
        self.cpu = cpu
        self.process = None
        self.directory = None
        self.rtmp = None  # port
        self.http = None

    def __enter__(self):
        memory = '/dev/shm' if os.path.isdir('/dev/shm') else None
        self.directory = tempfile.mkdtemp(prefix='weir-bench-', dir=memory)
        try:
            self.open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process is not None:
            end_group(self.process)
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), 'w') as f:
            f.write(text)

    def log(self):
        try:
            with open(self.path('stderr'), errors='replace') as f:
                return f.read()
        except OSError:
            return ''

    def launch(self, command, **more):
        with open(self.path('stderr'), 'w') as log:
            self.process = start(command, self.cpu, stderr=log, **more)

    def alive(self):
        """Raises when the server has ended."""
        if self.process.poll() is not None:
            tail = '\n'.join(self.log().splitlines()[-5:])
            raise Failure(f'ended with {self.process.returncode}: {tail}')
        return True

    def processes(self):
        """The server's processes, the first and all below it."""
        found = [self.process.pid]
        parent = parents()
        for pid in found:
            found += [p for p in parent if parent[p] == pid]
        return found

    def cpu_seconds(self):
        """User and system time of all of them."""
        ticks = 0
        for pid in self.processes():
            try:
                with open(f'/proc/{pid}/stat') as f:
                    fields = f.read().rpartition(')')[2].split()
                ticks += int(fields[11]) + int(fields[12])
            except OSError:
                pass
        return ticks / TICKS

    def memory(self):
        """Bytes of memory they have, shared pages counted once."""
        total = 0
        for pid in self.processes():
            try:
                with open(f'/proc/{pid}/smaps_rollup') as f:
                    match = re.search(r'^Pss:\s+(\d+) kB', f.read(), re.M)
                total += int(match.group(1)) * 1024
            except OSError:
                pass
        return total


class Nginx(Server):
    """Debian's nginx and nginx-rtmp, one worker, set up as well as it can
    be."""

    @staticmethod
    def missing():
        if shutil.which('nginx') and os.path.exists(RTMP_MODULE):
            return None
        return 'nginx or libnginx-mod-rtmp is not installed'

    def open(self):
        self.rtmp = free_port()
        user = 'user root;' if os.getuid() == 0 else ''
        self.write('nginx.conf', f'''
load_module {RTMP_MODULE};
{user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid nginx.pid;
error_log stderr error;
events {{ use epoll; worker_connections 16000; multi_accept on; }}
rtmp {{
    access_log off;
    server {{
        listen 127.0.0.1:{self.rtmp};
        chunk_size 4096;
        application live {{ live on; wait_key on; wait_video on; }}
    }}
}}
''')
        self.launch(['nginx', '-p', self.directory, '-c', 'nginx.conf',
                     '-e', 'stderr'])
        wait_for('nginx', 5, self.reachable)

    def reachable(self):
        self.alive()
        with socket.socket() as s:
            return s.connect_ex(('127.0.0.1', self.rtmp)) == 0


class Weir(Server):
    """weir, from the build."""

    def __init__(self, cpu, program, gather=None, workers=1):
        super().__init__(cpu)
        self.program = program
        self.gather = gather  # None: as it comes
        self.workers = workers

    def open(self):
        gather = f'gather = "{self.gather}";' if self.gather else ''
        self.write('weir.conf', f'''
worker_processes = {self.workers};
worker_connections = 16000;
pid = "weir.pid";
error_log = {{ file = "stderr"; level = "notice"; }};
live = {{ memory = "1G"; {gather} }};
rtmp = {{ servers = (
  {{ listen = ( "127.0.0.1:0" );
    applications = ( {{ name = "live"; publish = "open"; }} ); }} ); }};
http = {{ servers = (
  {{ listen = ( "127.0.0.1:0" );
    locations = ( {{ path = "/"; module = "flv"; }} ); }} ); }};
''')
        self.launch([self.program, '-c', self.path('weir.conf'),
                     '-p', self.directory])
        self.rtmp = int(wait_for('weir', 10, lambda: self.port('rtmp')))
        self.http = int(wait_for('weir', 10, lambda: self.port('http')))

    def port(self, kind):
        self.alive()
        match = re.search(rf'listening on {kind} 127\.0\.0\.1:(\d+)',
                          self.log())
        return match and match.group(1)


class Bare(Server):
    """The bare loop: it makes its stream itself."""

    def __init__(self, cpu, program, source, mode='message', gather=50,
                 submit=False, flv=False):
        super().__init__(cpu)
        self.command = [program, 'bare', '--listen', '0', '--mode', mode,
                        '--gather', str(gather), *source,
                        *(('--submit',) if submit else ()),
                        '--format', 'flv' if flv else 'rtmp', '--control']

    def open(self):
        self.launch(self.command, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        match = re.search(r'listening on 127\.0\.0\.1:(\d+)', line)
        if not match:
            raise Failure(f'the bare loop does not run: {self.log()}')
        self.rtmp = self.http = int(match.group(1))
