"""cspy record -s at servers with worker processes, while they serve real requests: each worker's own work is there."""
import os
import subprocess

import pytest
import runtimes
from cli import child_processes, record_tree, wait_for
from load import Load, answers

ENV = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/', 'LC_ALL': 'C.UTF-8'}
WORKERS = 2


def python_with(file):
    """A Python whose root has this file, as its packages put it there."""
    for python in runtimes.pythons():
        if python.root and not python.debug and os.path.exists(python.root + file):
            return python
    return pytest.skip('no Python here has %s' % file)


def place(python, *names):
    """Our programs where it can import them; the folder, as it sees it."""
    for name in names:
        path = python.place('fixtures/targets/python/' + name)
    return os.path.dirname(path)


def seen_in_each_worker(cspy, tmp_path, master, function):
    """Records the tree until each worker's work is there; it never is in their master, which gives the work out."""
    workers = wait_for(lambda: len(child_processes(master)) >= WORKERS and child_processes(master), 60)

    def seen():
        by_process = record_tree(cspy, tmp_path, '-p', master, '-d', '2')[0]
        found = {pid for pid, functions in by_process.items() if function in functions}
        assert found <= set(workers), by_process
        return len(found) == WORKERS and by_process
    return wait_for(seen, 60)


def serve(cspy, target, tmp_path, python, folder, *command):
    """A server of shop.py at FOLDER/NAME.sock, recorded under load."""
    t = target([*python.argv[:2], *command], env=ENV)
    path = python.root + folder + '/shop.sock'
    wait_for(lambda: answers(path), 60)
    with Load(path):
        seen = seen_in_each_worker(cspy, tmp_path, t.pid, 'price')
    assert all({'price', 'taxed', 'application'} <= f for f in seen.values() if 'price' in f), seen
    return t


def test_workers_of_gunicorn(cspy, target, tmp_path):
    python = python_with('/usr/bin/gunicorn')
    folder = place(python, 'shop.py')
    serve(cspy, target, tmp_path, python, folder, python.executable, '/usr/bin/gunicorn', '--workers', WORKERS, '--timeout',
          120, '--chdir', folder, '--bind', 'unix:%s/shop.sock' % folder, 'shop')


def test_workers_of_uwsgi(cspy, target, tmp_path):
    python = python_with('/usr/bin/uwsgi-core')
    folder = place(python, 'shop.py')
    serve(cspy, target, tmp_path, python, folder, '/usr/bin/uwsgi-core', '--plugin', 'python311', '--master', '--processes',
          WORKERS, '--http-socket', folder + '/shop.sock', '--chdir', folder, '--module', 'shop')


def test_workers_of_celery(cspy, target, tmp_path):
    python = python_with('/usr/bin/celery')
    folder = place(python, 'shop.py', 'shop_tasks.py')
    os.makedirs(python.root + folder + '/queue', exist_ok=True)
    env = dict(ENV, SHOP_QUEUE=folder + '/queue', PYTHONPATH=folder)
    subprocess.run([*python.argv, folder + '/shop_tasks.py'], env=env, check=True, timeout=60)
    t = target([*python.argv, '/usr/bin/celery', '-A', 'shop_tasks', 'worker', '--concurrency', WORKERS, '--pool',
                'prefork', '--without-gossip', '--without-mingle', '--without-heartbeat'], env=env)
    seen = seen_in_each_worker(cspy, tmp_path, t.pid, 'price')
    assert all('ordered' in f for f in seen.values() if 'price' in f), seen


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_workers_of_a_pool(cspy, target, tmp_path, method):
    python = runtimes.pythons()[-1]
    place(python, 'shop.py')
    t = target(python, 'fixtures/targets/python/shop_pool.py', method)
    assert t.line() == 'ready'
    seen_in_each_worker(cspy, tmp_path, t.pid, 'price')


def test_workers_of_a_node_cluster(cspy, target, tmp_path):
    if not runtimes.nodes():
        pytest.skip('there is no Node here')
    node = runtimes.nodes()[-1]
    path = str(tmp_path / 'shop.sock')
    # V8 writes logs where it is.
    t = target([*node.argv, '--perf-basic-prof', node.place('fixtures/targets/node/cluster.js'), path], cwd=tmp_path)
    try:
        wait_for(lambda: answers(path), 60)
        maps = ['/tmp/perf-%d.map' % pid for pid in (t.pid, *child_processes(t.pid))]
        with Load(path):
            seen_in_each_worker(cspy, tmp_path, t.pid, 'price')
    finally:
        t.kill()
    for path in maps:
        os.unlink(path)
