"""What is installed beside the program, made from its option tables; and the Debian package in a clean root."""
import glob
import os
import re
import shutil
import subprocess

import pytest
import runtimes
from cli import run

def commands_of(cspy):
    return re.findall(r'^  cspy (\w+) ', run(cspy, '--help').out, re.M)


def options_of(cspy, command):
    """[(letter or None, long name)] as --help has them."""
    text = run(cspy, command, '--help').out
    found = re.findall(r'^  (?:-(\w), |    )--([\w-]+)', text, re.M)
    assert len(found) >= 2
    return found


@pytest.fixture(scope='module')
def page(cspy, tmp_path_factory):
    """A page by its kind, in a file."""
    folder = tmp_path_factory.mktemp('pages')
    paths = {}
    for kind in ('man', 'bash', 'zsh', 'fish'):
        r = run(cspy, 'completions', kind)
        assert r.code == 0 and not r.err
        paths[kind] = folder / kind
        paths[kind].write_text(r.out)
    return paths


def checked(*argv, **options):
    p = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, timeout=60, **options)
    assert p.returncode == 0, (p.stdout, p.stderr)
    return p.stdout, p.stderr


def need(program):
    if not shutil.which(program):
        pytest.skip('there is no %s here' % program)


def test_the_manual_page_has_every_option(cspy, page):
    need('man')
    text, warnings = checked('man', '--warnings', '-l', page['man'], env=dict(os.environ, MANWIDTH='100', LC_ALL='C.UTF-8'))
    assert warnings == ''
    for command in commands_of(cspy):
        part = text.split('\n   cspy %s\n' % command)[1].split('\n   cspy ')[0]
        for letter, name in options_of(cspy, command):
            assert re.search((r'-%s, ' % letter if letter else '') + '--%s' % name, part), (command, name)


def bash_completes(page, *words):
    script = ('source "$0"; cspy() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cspy 2>/dev/null; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return checked('bash', '--norc', '-c', script, page['bash'], *words)[0].split()


def test_bash_completes_commands_options_and_formats(cspy, page):
    assert bash_completes(page, 'cspy', 'rec') == ['record']
    for command in commands_of(cspy):
        assert set(bash_completes(page, 'cspy', command, '--')) == {'--' + name for _, name in options_of(cspy, command)}
    assert bash_completes(page, 'cspy', 'record', '-f', 'fl') == ['flamegraph']
    assert bash_completes(page, 'cspy', 'record', '-r', '') == []
    assert sorted(bash_completes(page, 'cspy', 'record', '-o', '/etc/host')) == sorted(glob.glob('/etc/host*'))
    assert 'python3' in bash_completes(page, 'cspy', 'record', '--', 'pyth')


def fish_completes(page, line):
    out, _ = checked('fish', '--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', page['fish'], line)
    return [each.split('\t')[0] for each in out.splitlines()]


def test_fish_completes_commands_options_and_formats(cspy, page):
    need('fish')
    assert fish_completes(page, 'cspy rec') == ['record']
    for command in commands_of(cspy):
        assert set(fish_completes(page, 'cspy %s --' % command)) == {'--' + name for _, name in options_of(cspy, command)}
    assert fish_completes(page, 'cspy record -f fl') == ['flamegraph']


def test_zsh_takes_its_completions(cspy, page):
    need('zsh')
    checked('zsh', '-f', '-n', page['zsh'])
    text = page['zsh'].read_text()
    for command in commands_of(cspy):
        part = text.split('\n\t%s)\n' % command)[1].split('\n\t\t;;')[0]
        for letter, name in options_of(cspy, command):
            assert "'(-%s --%s)'{-%s,--%s}'[" % (letter, name, letter, name) in part if letter else "'--%s[" % name in part


def test_install_puts_all_of_it(cspy, tmp_path):
    build = os.path.dirname(cspy)
    checked('make', '-s', 'BUILD=' + build, 'install', 'DESTDIR=%s' % tmp_path, 'PREFIX=/usr', cwd=runtimes.ROOT)
    installed = {os.path.relpath(os.path.join(d, f), str(tmp_path)) for d, _, files in os.walk(str(tmp_path)) for f in files}
    assert installed == {'usr/bin/cspy', 'usr/share/man/man1/cspy.1', 'usr/share/bash-completion/completions/cspy',
                         'usr/share/zsh/vendor-completions/_cspy', 'usr/share/fish/vendor_completions.d/cspy.fish'}


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can install into a root of its own')
def test_the_debian_package_works_in_a_clean_root(cspy, tmp_path):
    need('dpkg-deb')
    build, root = os.path.dirname(cspy), tmp_path / 'root'
    package = checked('make', '-s', 'BUILD=' + build, 'deb', cwd=runtimes.ROOT)[0].split()[-1]
    for folder in ('var/lib/dpkg/info', 'var/lib/dpkg/updates', 'proc'):
        (root / folder).mkdir(parents=True)
    for name in ('status', 'available'):
        (root / 'var/lib/dpkg' / name).touch()
    checked('dpkg', '--root=%s' % root, '--install', package)
    assert checked('chroot', root, '/usr/bin/cspy', '--version')[0].startswith('cspy ')
    # There is no libc in it, and no process but itself.
    out, err = checked('unshare', '--fork', '--pid', '--mount', '--mount-proc=%s/proc' % root, 'chroot', root,
                       '/usr/bin/cspy', 'ps', '--json')
    assert out == '[]\n' and err == ''
    checked('dpkg', '--root=%s' % root, '--remove', 'cspy')
    assert not (root / 'usr').exists()
