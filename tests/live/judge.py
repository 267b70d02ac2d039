#!/usr/bin/env python3
"""Judge folded stacks of a target program against the stacks that it can really have.

usage: judge.py PROGRAM.py [--names any|bare|qualified] [--allow PERCENT] [--json] < folded

The program itself says what is legal, in comments that start with `#>` at the end of the line that makes the call:

    x = apply(leaf_a, n)          #> apply(f=leaf_a)           the frames above this line: apply, and its `f` is leaf_a
    return f(n)                   #> $f                        whatever the caller said that `f` is
    return down(n - 1)            #> down(n=$n-1) when n>0     numbers are counted, so depth is judged too (n=? if unknown)
    s = sum(g(i) for i in t)      #> <genexpr>; <genexpr> > g  two code objects on one line: the second names its owner
    b = re.sub(p, repl, t)        #> repl via re.py            frames of re.py may lie between (or be the leaf)
    return f(k)                   #> <gen *>:gen_*             code made while the program runs
    g = count(3)                  #> new count                 a generator is made (3.11+: it has a frame for that) and not run

Class bodies and comprehensions stand above the line they are on, and anything above an import, without a marker. Directives:

    # root: worker(f=leaf)        a thread starts in this function
    # made: <gen *> by gen_text   the file `<gen 7>` holds the text that gen_text('7') of the program returns, markers included

So a frame has a state - its function and what its caller said about it - and a stack is legal if a chain of states leads from the
root to the leaf along the lines that were read. The leaf may be on any line of its function that is its own.
"""
import argparse
import ast
import collections
import fnmatch
import io
import json
import os
import re
import sys
import tokenize

FRAME = re.compile(r'^(.*) \((.*?)(?::(-?\d+))?\)$', re.S)
TOKEN = re.compile(r'\s*(\$?(?:<[^>]*>|[\w.*:])+|[(),=;+>?-])')
IMPOSSIBLE = ('function', 'line', 'form')
MADE = 'made'           # the state of a generator that is being made: from 3.11 on it has a frame for that, on its first line
ANYTHING = object()     # a value nobody knows: the frames that told it were truncated


class Function:
    """One code object of the source: its names, and the lines that its own instructions can have."""

    def __init__(self, module, name, qualname, first, body, lines):
        self.module, self.name, self.qualname, self.lines = module, name, qualname, lines
        self.first, self.body = first, body     # line of the first decorator or the def, line after the def
        self.suspends = False   # a generator or coroutine
        self.inline = None      # the code that runs this one where it stands: of class bodies and comprehensions
        self.calls = {}         # line -> [Call]
        self.makes = {}         # line -> generators that it only makes
        self.via = {}           # line -> file patterns that may stand above this line

    def __repr__(self):
        return '%s (%s:%d)' % (self.qualname, self.module.file, self.first)


class Head:
    """What a term names: one known function, or a pattern over made code."""

    def __init__(self, function=None, file=None, name=None):
        self.function, self.file, self.name = function, file, name

    def matches(self, function):
        if self.function:
            return self.function is function
        return fnmatch.fnmatchcase(function.module.file, self.file) and fnmatch.fnmatchcase(function.name, self.name)


Term = collections.namedtuple('Term', 'head args')              # f(x=...)
Variable = collections.namedtuple('Variable', 'name delta args')  # $f, $n-1, $f(x=...)
Closure = collections.namedtuple('Closure', 'head env')         # a term with its variables filled in
Call = collections.namedtuple('Call', 'term when')


# --- reading the source ---------------------------------------------------------------------------------------------------

def top_line(node):
    return min([node.lineno] + [d.lineno for d in getattr(node, 'decorator_list', [])])


def suspends(node):
    """Whether calling this function makes a generator or a coroutine: a yield of its own, or async."""
    inner = [n for n in ast.iter_child_nodes(node) if not isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.Lambda))]
    return isinstance(node, (ast.AsyncFunctionDef, ast.Yield, ast.YieldFrom)) or any(suspends(n) for n in inner)


def functions_of(tree, module):
    """Every code object of a syntax tree, outermost first."""
    found = []
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {ast.Lambda: '<lambda>', ast.GeneratorExp: '<genexpr>', ast.ListComp: '<listcomp>', ast.SetComp: '<setcomp>',
             ast.DictComp: '<dictcomp>'}

    def visit(node, owner, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, scopes):
                first = top_line(child)
                body = max(top_line(child.body[0]), child.lineno + 1)
                f = Function(module, child.name, prefix + child.name, first, body, set(range(first, child.end_lineno + 1)))
                f.suspends = suspends(child)
                if isinstance(child, ast.ClassDef):
                    f.inline = owner
                owner.lines -= set(range(body, child.end_lineno + 1))
                found.append(f)
                inner = f.qualname + ('.' if f.inline else '.<locals>.')
                for d in child.decorator_list:
                    visit(ast.Expr(d), owner, prefix)
                visit(ast.Module(child.body, []), f, inner)
            elif type(child) in names:
                name = names[type(child)]
                lines = set(range(child.lineno, child.end_lineno + 1))
                f = Function(module, name, prefix + name, child.lineno, child.lineno, lines)
                f.suspends = type(child) is ast.GeneratorExp
                if not f.suspends and type(child) is not ast.Lambda:
                    f.inline = owner
                found.append(f)
                visit(child, f, f.qualname + '.<locals>.')
            else:
                visit(child, owner, prefix)

    last = module.text.count('\n') + 1
    root = Function(module, '<module>', '<module>', 1, 1, set(range(0, last + 1)))
    visit(tree, root, '')
    return [root] + found


class Module:
    """The text of one file, its functions, and the calls that its markers declare."""

    def __init__(self, program, file, text):
        self.program, self.file, self.text = program, file, text
        self.functions = functions_of(ast.parse(text), self)
        self.by_name = collections.defaultdict(list)
        for f in self.functions:
            for name in {f.name, f.qualname, f.qualname.rpartition('<locals>.')[2]}:
                self.by_name[name].append(f)

    def read_markers(self):
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT and token.string.startswith('#>'):
                MarkerParser(self, token.start[0], token.string[2:]).parse()
        for f in self.functions:
            if f.inline:
                for line in range(f.first, max(f.body, f.first + 1)):
                    f.inline.calls.setdefault(line, []).append(Call(Term(Head(f), ()), []))
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.owner(node.lineno).via[node.lineno] = ['*']

    def owner(self, line):
        """The function, class body or module that runs the statement on this line."""
        around = [f for f in self.functions if line in f.lines and line >= f.body and not f.name.startswith('<')]
        return max(around, key=lambda f: f.body, default=self.functions[0])

    def named(self, name, line):
        """The one function that a marker on this line means by `name`."""
        for module in [self] + self.program.fixed:
            found = module.by_name.get(name, [])
            if name.startswith('<'):
                found = [f for f in found if module is self and f.first == line]
            if len(found) == 1:
                return found[0]
            if found:
                raise SyntaxError('%s:%d: %s may be any of %s' % (self.file, line, name, found))
        raise SyntaxError('%s:%d: no function %s' % (self.file, line, name))


def functions_in(term):
    if isinstance(term, (Term, Variable)):
        if isinstance(term, Term) and term.head.function:
            yield term.head.function
        for _, value in term.args:
            yield from functions_in(value)


class MarkerParser:
    """`marker: segment {; segment}`, `segment: [owner >] [term [when x=1] {, ...}] [via file {, file}]`."""

    def __init__(self, module, line, text):
        self.module, self.line = module, line
        self.tokens = TOKEN.findall(text)
        if re.sub(r'\s', '', ''.join(self.tokens)) != re.sub(r'\s', '', text):
            raise SyntaxError('%s:%d: marker %r' % (module.file, line, text))
        self.at = 0

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ''

    def take(self, wanted=None):
        token = self.peek()
        if wanted and token != wanted or not token:
            raise SyntaxError('%s:%d: %r where %r was expected' % (self.module.file, self.line, token, wanted))
        self.at += 1
        return token

    def parse(self):
        while True:
            if self.peek(1) == '>':
                owner = self.module.named(self.take(), self.line)
                self.take('>')
            else:
                owner = self.module.owner(self.line)
            self.segment(owner)
            if not self.peek():
                return
            self.take(';')

    def segment(self, owner):
        calls = owner.calls.setdefault(self.line, [])
        while self.peek() not in ('', ';'):
            if self.peek() == 'via':
                self.take()
                while self.peek() not in ('', ';'):
                    owner.via.setdefault(self.line, []).append(self.take())
                    if self.peek() == ',':
                        self.take()
                return
            only = self.peek() == 'new' and bool(self.take())
            term = self.term()
            owner.makes.setdefault(self.line, set()).update(f for f in functions_in(term) if f.suspends)
            if not only:
                calls.append(Call(term, self.when()))
            if self.peek() == ',':
                self.take()

    def when(self):
        tests = []
        while self.peek() in ('when', 'and'):
            self.take()
            name, sign, number = self.take(), self.take(), self.take()
            tests.append((name, sign, int(number)))
        return tests

    def term(self):
        token = self.take()
        if token.isdigit():
            return int(token)
        if token == '?':
            return ANYTHING
        delta = 0
        if token.startswith('$') and self.peek() in ('+', '-'):
            delta = int(self.take() + self.take())
        args = []
        if self.peek() == '(':
            self.take()
            while self.peek() != ')':
                name = self.take()
                self.take('=')
                args.append((name, self.term()))
                if self.peek() == ',':
                    self.take()
            self.take(')')
        if token.startswith('$'):
            return Variable(token[1:], delta, tuple(args))
        if ':' in token:
            file, _, name = token.rpartition(':')
            return Term(Head(file=file, name=name), tuple(args))
        return Term(Head(self.module.named(token, self.line)), tuple(args))


class Program:
    """A target program: its own file, the files it makes, and its roots."""

    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        self.made = []          # (file pattern, function of the program that returns the text)
        self.modules = {}
        self.fixed = []
        self.main = Module(self, os.path.basename(path), text)
        self.modules[self.main.file] = self.main
        self.fixed.append(self.main)
        for file, maker in re.findall(r'^# made: (.+?) by (\w+)$', text, re.M):
            self.made.append((file, self.maker(maker)))
            if '*' not in file:
                self.modules[file] = Module(self, file, self.made[-1][1]())
                self.fixed.append(self.modules[file])
        for module in self.fixed:
            module.read_markers()
        self.roots = {(self.main.functions[0], ())}
        for marker in re.findall(r'^# root: (.+)$', text, re.M):
            term = MarkerParser(self.main, 0, marker).term()
            self.roots.add((term.head.function, fill(term, ()).env))

    def maker(self, name):
        """Run only this function of the program, here: what it returns is what the program compiles."""
        node = next(n for n in ast.parse(self.main.text).body if isinstance(n, ast.FunctionDef) and n.name == name)
        space = {}
        exec(compile(ast.Module([node], []), self.main.file, 'exec'), space)
        return space[name]

    def module(self, file):
        """The module of a file name as a profiler prints it, or None for a file that is not the program's."""
        file = os.path.basename(file)
        if file not in self.modules:
            self.modules[file] = None
            for pattern, maker in self.made:
                m = re.fullmatch('(.+)'.join(re.escape(p) for p in pattern.split('*')), file)
                if m:
                    self.modules[file] = Module(self, file, maker(*m.groups()))
                    self.modules[file].read_markers()
        return self.modules[file]


# --- judging --------------------------------------------------------------------------------------------------------------

def fill(value, env):
    """The value of a term for a frame whose caller said `env` (None: nobody knows)."""
    if isinstance(value, int) or value is ANYTHING:
        return value
    if isinstance(value, Variable):
        known = ANYTHING if env is None else dict(env).get(value.name)
        if known is None:
            raise LookupError('no $%s here' % value.name)
        if known is ANYTHING:
            return ANYTHING
        if isinstance(known, int):
            return known + value.delta
        extra = tuple((k, fill(v, env)) for k, v in value.args)
        return Closure(known.head, tuple(sorted(dict(known.env + extra).items(), key=lambda i: i[0])))
    return Closure(value.head, tuple(sorted(((k, fill(v, env)) for k, v in value.args), key=lambda i: i[0])))


def holds(tests, env):
    for name, sign, number in tests:
        known = ANYTHING if env is None else dict(env)[name]
        if known is ANYTHING:
            continue
        if not {'=': known == number, '>': known > number}[sign]:
            return False
    return True


class Judge:
    """Verdicts on stacks of one program: ok, cut, function, line, form, no-root."""

    def __init__(self, path, names='any'):
        self.program = Program(path)
        self.names = names
        self.frames, self.steps, self.sets = {}, {}, {}

    def frame(self, text):
        """(function name, file, line or None), or None for something that is no Python frame."""
        if text not in self.frames:
            m = FRAME.match(text)
            self.frames[text] = (m[1], m[2], int(m[3]) if m[3] else None) if m and not text.startswith('[') else None
        return self.frames[text]

    def candidates(self, name, file):
        module = self.program.module(file)
        found = module.by_name.get(name, []) if module else []
        if self.names == 'bare':
            found = [f for f in found if f.name == name]
        elif self.names == 'qualified':
            found = [f for f in found if f.qualname == name]
        else:
            found = [f for f in found if name in (f.name, f.qualname)]
        return found

    def intern(self, states):
        return self.sets.setdefault(states, states)

    def advance(self, states, line, between, candidates):
        """States above `states` if their frames stand on `line` (None: on whichever)."""
        above = set()
        for function, env in states:
            if not between:
                above.update((c, MADE) for c in candidates if c in function.makes.get(line, ()))
            if env is MADE:
                continue
            for at in [line] if line is not None else function.calls:
                if any(not any(fnmatch.fnmatchcase(f, v) for v in function.via.get(at, [])) for f in between):
                    continue
                for call in function.calls.get(at, []):
                    if not holds(call.when, env):
                        continue
                    value = fill(call.term, env)
                    for c in candidates:
                        if value is ANYTHING:
                            above.add((c, None))
                        elif isinstance(value, Closure) and value.head.matches(c):
                            above.add((c, value.env))
        return self.intern(frozenset(above))

    def step(self, states, frame, between, callee):
        """(states above, verdict) for one call; cached, because few distinct ones make up all stacks."""
        key = id(states), frame, between, callee[:2]
        if key not in self.steps:
            candidates = self.candidates(*callee[:2])
            above, verdict = self.advance(states, frame[2], between, candidates), 'ok'
            if not above:
                above, verdict = self.advance(states, None, between, candidates), 'line'
            self.steps[key] = (above, verdict) if above else (above, 'function')
        return self.steps[key]

    def start(self, first, before, deep):
        candidates = self.candidates(*first[:2])
        if deep:
            return self.intern(frozenset((f, None) for f in candidates))
        threaded = bool(before)
        if any(f != 'threading.py' for f in before):
            return frozenset()
        return self.intern(frozenset(s for s in self.program.roots
                                     if s[0] in candidates and threaded == (s[0] is not self.program.main.functions[0])))

    def top(self, states, frame, above):
        """The last frame of the program's: on a line of its own, under frames of other files only where its line says so."""
        if above:
            fits = [f for f, _ in states
                    if all(any(fnmatch.fnmatchcase(a, v) for v in f.via.get(frame[2], [])) for a in above)]
            return 'ok' if fits else 'function'
        if not frame[2] or any(frame[2] in f.lines and (env is not MADE or frame[2] < f.body or frame[2] == f.first)
                               for f, env in states):
            return 'ok'
        return 'line'

    def stack(self, text):
        """The verdict on one folded stack, root first."""
        parts = text.split(';')
        cut = parts[-1] == '[cut]'
        frames = [self.frame(p) for p in (parts[:-1] if cut else parts)]
        deep = False
        while frames and frames[0] is None:
            deep = deep or parts[len(parts) - len(frames) - cut].startswith('[')
            frames.pop(0)
        while frames and re.match(r'(thread|process) ', frames[0][0]) and ' ' in frames[0][0]:
            frames.pop(0)
        if None in frames:
            return 'form'
        own = [i for i, f in enumerate(frames) if self.program.module(f[1])]
        if not own:
            return 'cut' if cut else 'no-root'
        base = [os.path.basename(f[1]) for f in frames]
        states = self.start(frames[own[0]], base[:own[0]], deep)
        if not states:
            return 'function'
        verdict = 'ok'
        for here, above in zip(own, own[1:]):
            states, v = self.step(states, frames[here], tuple(base[here + 1:above]), frames[above])
            if v == 'function':
                return v
            verdict = v if v != 'ok' else verdict
        v = self.top(states, frames[own[-1]], base[own[-1] + 1:])
        verdict = v if v != 'ok' else verdict
        return 'cut' if cut and verdict == 'ok' else verdict

    def folded(self, lines):
        """Counts of verdicts over folded lines, and the commonest examples of each bad one."""
        report = Report()
        for line in lines:
            line = line.rstrip('\n')
            if not line or line.startswith('#'):
                continue
            stack, _, count = line.rpartition(' ')
            report.add(self.stack(stack), int(count), stack)
        return report


class Report:
    def __init__(self):
        self.counts = collections.Counter()
        self.examples = collections.defaultdict(collections.Counter)

    def add(self, verdict, count, stack):
        self.counts[verdict] += count
        if verdict not in ('ok', 'cut'):
            self.examples[verdict][stack] += count

    total = property(lambda self: sum(self.counts.values()))
    impossible = property(lambda self: sum(self.counts[k] for k in IMPOSSIBLE))

    def percent(self, count):
        return 100.0 * count / max(1, self.total)

    def __str__(self):
        rows = ['%d samples' % self.total]
        rows += ['%s %d (%.4f %%)' % (k, v, self.percent(v)) for k, v in self.counts.most_common()]
        text = ', '.join(rows)
        for verdict, stacks in self.examples.items():
            for stack, count in stacks.most_common(3):
                shown = stack if len(stack) < 900 else stack[:300] + ' ... ' + stack[-600:]
                text += '\n    %s %d: %s' % (verdict, count, shown)
        return text


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('program')
    p.add_argument('--names', choices=('any', 'bare', 'qualified'), default='any')
    p.add_argument('--allow', type=float, default=0, metavar='PERCENT', help='impossible stacks that are forgiven')
    p.add_argument('--json', action='store_true')
    a = p.parse_args()
    report = Judge(a.program, a.names).folded(sys.stdin)
    print(json.dumps(dict(report.counts, total=report.total, impossible=report.impossible)) if a.json else report)
    if not report.total or report.percent(report.impossible) > a.allow:
        sys.exit(1)


if __name__ == '__main__':
    main()
