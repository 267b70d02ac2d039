#!/usr/bin/env python3
"""Judge folded stacks of a Ruby program against the stacks that it can really have.

usage: ruby_judge.py PROGRAM.rb < folded

The program says what is legal, in comments that start with `#>` at the end of the line that makes the call:

    leaf_a(n)                       #> leaf_a                       the frame above this line
    n > 3 ? leaf_a(n) : leaf_b(n)   #> leaf_a, leaf_b               one of them
    apply(n) { |x| leaf(x) }        #> apply(block in here); block in here > leaf
    yield n                         #> $1                           what the caller said in brackets
    [1, 2].each { |x| leaf(x) }     #> each(block in here); block in here > leaf

Names are labels without their class. A name that is no method of the program is a function of Ruby's own (in C, or in a file
`<internal:...>`): above it stand only those that are in its brackets. `block2 in m` is `block (2 levels) in m`. Directives:

    # root: block in go(leaf)       a thread starts in this frame
    # anywhere: now, puts           functions of Ruby's own that may be the leaf of any line

A leaf may be on any line of its method.
"""
import collections
import os
import re
import sys

from judge import Report

FRAME = re.compile(r'^(.*) \((.*?)(?::(\d+))?\)$')
CLASS = re.compile(r'(?:^|(?<= ))(?:[A-Z]\w*(?:::[A-Z]\w*)*)[#.](?=\S)')


def parse_terms(text):
    """'a(b, c), d' -> (('a', (('b', ()), ('c', ()))), ('d', ()))"""
    tokens = [t.strip() for t in re.findall(r'[(),]|[^(),]+', text) if t.strip()]
    at = 0

    def terms():
        nonlocal at
        found = []
        while at < len(tokens) and tokens[at] != ')':
            name, args = tokens[at].replace('block2 in', 'block_2 in'), ()
            at += 1
            if at < len(tokens) and tokens[at] == '(':
                at += 1
                args = terms()
                at += 1
            found.append((name, args))
            if at < len(tokens) and tokens[at] == ',':
                at += 1
        return tuple(found)
    result = terms()
    if at != len(tokens):
        raise SyntaxError('marker %r' % text)
    return result


class Program:
    def __init__(self, path):
        self.file = os.path.basename(path)
        with open(path, encoding='utf-8') as f:
            self.lines = f.read().split('\n')
        self.ranges = collections.defaultdict(list)     # method -> [(first line, last line)]
        self.ranges['<main>'].append((1, len(self.lines)))
        self.calls = collections.defaultdict(tuple)
        self.anywhere = set()
        self.roots = {('<main>', ())}
        owners = self.find_methods()
        for number, line in enumerate(self.lines, 1):
            directive = re.match(r'# (root|anywhere): (.*)$', line)
            if directive and directive[1] == 'root':
                self.roots.update(self.close(t, ()) for t in parse_terms(directive[2]))
            elif directive:
                self.anywhere.update(name.strip() for name in directive[2].split(','))
            marker = line.partition('#> ')[2]
            for segment in marker.split(';') if marker else ():
                owner, arrow, terms = segment.rpartition(' > ')
                owner = owner.strip().replace('block2 in', 'block_2 in') if arrow else owners[number]
                self.calls[owner, number] += parse_terms(terms)

    def find_methods(self):
        """Line -> the method it is in, by indentation; fills ranges."""
        owners, stack = ['<main>'] * (len(self.lines) + 1), []
        for number, line in enumerate(self.lines, 1):
            indent = len(line) - len(line.lstrip())
            start = re.match(r'\s*(?:def (?:self\.)?|define_method\(:)([\w?!]+|[^\w\s(]+)', line)
            if start and not re.search(r'\bend\b|\{.*\}', line.partition('#>')[0]):
                stack.append((indent, start[1], number))
            if stack:
                owners[number] = stack[-1][1]
            if stack and re.match(r'\s*end\b', line) and indent == stack[-1][0]:
                _, name, first = stack.pop()
                self.ranges[name].append((first, number))
        return owners

    def close(self, term, env, owner=None):
        name, args = term
        if name.startswith('$'):
            return env[int(name[1:]) - 1]
        # A block sees what its method was given.
        if name.startswith('block') and not args and owner and base(name) == base(owner):
            return name, env
        return name, tuple(self.close(a, env, owner) for a in args)

    def above(self, state, line):
        name, env = state
        if base(name) in self.ranges or ' in ' in name:
            return {self.close(t, env, name) for t in self.calls.get((name, line), ())}
        return set(env)

    def fits(self, name, line):
        ranges = self.ranges.get(base(name))
        return line is None or not ranges or any(first <= line <= last for first, last in ranges)


def base(label):
    """The method that a block or a rescue clause is in."""
    return label.rpartition(' in ')[2]


class Judge:
    """Verdicts: ok, cut, function (a frame that can't be above the one below), line, form, no-root."""

    def __init__(self, path):
        self.program = Program(path)

    def frame(self, text):
        """(label without class, line; None of Ruby's own)"""
        m = FRAME.match(text)
        if not m:
            return None
        name = CLASS.sub('', m[1]).replace('block (2 levels) in', 'block_2 in')
        return name, int(m[3]) if m[3] and os.path.basename(m[2]) == self.program.file else None

    def stack(self, text):
        p, parts = self.program, text.split(';')
        cut = parts[-1] == '[cut]'
        if cut:
            parts.pop()
        if parts and parts[-1] == '[garbage collection]':
            parts.pop()
        frames = [self.frame(part) for part in parts]
        if not frames:
            # A fiber that has not begun has no frame of its own.
            return 'cut' if cut else 'ok' if text == '[garbage collection]' else 'no-root'
        if None in frames:
            return 'form'
        states = {s for s in p.roots if s[0] == frames[0][0]}
        for (name, line), (above, _) in zip(frames, frames[1:]):
            if not states:
                return 'function'
            if above in p.anywhere and above == frames[-1][0]:
                return 'cut' if cut else 'ok'
            next_states = {s for state in states for s in p.above(state, line) if s[0] == above}
            if not next_states:
                lines = [n for owner, n in p.calls if owner == name]
                any_line = {s[0] for state in states for n in lines for s in p.above(state, n)}
                return 'line' if above in any_line and line is not None else 'function'
            states = next_states
        if not states:
            return 'function'
        return 'cut' if cut else 'ok' if p.fits(*frames[-1]) else 'line'

    def folded(self, lines):
        report = Report()
        for line in lines:
            stack, _, count = line.rstrip('\n').rpartition(' ')
            if stack and not line.startswith('#'):
                report.add(self.stack(stack), int(count), stack)
        return report


def main():
    report = Judge(sys.argv[1]).folded(sys.stdin)
    print(report)
    sys.exit(bool(report.impossible))


if __name__ == '__main__':
    main()
