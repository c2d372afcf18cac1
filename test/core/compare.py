#!/usr/bin/env python3
"""Compares what PostgreSQL's regression tests printed in two runs, statement by statement.

Usage: compare.py [-v] SQL-DIRECTORY REFERENCE-RESULTS RESULTS ALLOWED
       compare.py [-v] --isolation REFERENCE-RESULTS RESULTS ALLOWED
  -v   also shows what is allowed or of another order

psql -a echoes every line of the test's file, so what stands between the echo of a line and that of the next one is what the
statements that end there have printed. Lines are known by their numbers: a statement that prints something in one run only
moves nothing else. For isolation tests a permutation takes the statement's place.

Kinds of difference: plans (of EXPLAIN), rows in an order that no ORDER BY asks for, those that ALLOWED names, all others.
Prints the others, and last "T tests, P plan-only, R row order only, A allowed, D different". Exit status 1 if D > 0.
Python, of the standard library only: nothing but test/core/run.sh needs it.
"""
import difflib
import os
import re
import sys


def statements_of(lines):
    """For each line the statements that end there, and for a line before data of COPY the number of the line after it."""
    ending, after_data = {}, {}
    text, quote, comment, number = "", None, 0, 0
    while number < len(lines):
        line, at = lines[number], 0
        if quote is None and not comment and line.startswith("\\"):
            ending.setdefault(number, []).append(line)
            text, at = "", len(line)
        while at < len(line):
            rest = line[at:]
            if comment:
                step = 2 if rest[:2] in ("*/", "/*") else 1
                comment += {"*/": -1, "/*": 1}.get(rest[:2], 0)
                at += step
                continue
            if quote is not None:
                if quote == "E'" and rest[0] == "\\":
                    text, at = text + rest[:2], at + 2
                elif rest.startswith(quote.lstrip("E")):
                    length = len(quote.lstrip("E"))
                    text, at, quote = text + rest[:length], at + length, None
                else:
                    text, at = text + rest[0], at + 1
                continue
            if rest.startswith("--"):
                break
            if rest.startswith("/*"):
                comment, at = 1, at + 2
                continue
            tag = re.match(r"\$([A-Za-z_]\w*)?\$", rest)
            if tag and not re.search(r"\w\Z", text):
                text, at, quote = text + tag.group(), at + tag.end(), tag.group()
                continue
            if rest[0] in "'\"":
                quote = "E'" if rest[0] == "'" and re.search(r"\b[eE]\Z", text) else rest[0]
                text, at = text + rest[0], at + 1
                continue
            text, at = text + rest[0], at + 1
            command = re.match(r"\\(g\w*|crosstabview|watch|bind|parse|close_prepared)\b.*", rest)
            if command:
                text, at = text + rest[1:], len(line)
            if command or rest[0] == ";":
                ending.setdefault(number, []).append(" ".join(text.split()))
                text = ""
        text += "\n"
        copies = [s for s in ending.get(number, []) if re.match(r"\\?copy\b.*\bfrom\s+stdin\b", s, re.I | re.S)]
        if copies and quote is None:
            end = next((n for n in range(number + 1, len(lines)) if lines[n] == "\\."), None)
            if end is not None:
                after_data[number] = end + 1
                number = end
        number += 1
    return ending, after_data


def outputs_of(lines, printed, after_data):
    """What was printed after the echo of each line of the test."""
    def next_line(number):
        while number < len(lines) and not lines[number].strip():
            number += 1
        return number

    # psql echoes empty lines only inside quotes, so they are nobody's.
    outputs, at = {}, 0
    for line in printed:
        if not line.strip():
            continue
        candidates = [next_line(at)]
        if at - 1 in after_data:
            candidates.append(next_line(after_data[at - 1]))
        for candidate in candidates:
            if candidate >= len(lines):
                continue
            # After \\echo -n the next line's echo follows on the same line.
            unended = re.match(r"\\q?echo -n\b", lines[at - 1]) and line.endswith(lines[candidate])
            if lines[candidate] == line or unended:
                at = candidate + 1
                break
        else:
            # Where psql echoes nothing (\\set ECHO none or errors, data of COPY) the next echo of a whole statement or
            # comment finds the place again. What was printed until then belongs to the line before, in both runs alike.
            again = range(0)
            if len(line) >= 12 and (line.endswith(";") or line.startswith(("--", "\\"))):
                again = (n for n in range(at, len(lines)) if lines[n] == line)
            found = next(iter(again), None)
            if found is None:
                outputs.setdefault(at - 1, []).append(line)
            else:
                at = found + 1
    return outputs, at


def isolation_outputs(printed):
    outputs, key = {}, ("", 0)
    for line in printed:
        if line.startswith("starting permutation:"):
            key = (line, sum(1 for k in outputs if k[0] == line))
        outputs.setdefault(key, []).append(line)
    return outputs


def without_plans(output):
    """What an isolation test's permutation printed, but for what EXPLAIN did."""
    kept, in_plan = [], False
    for line in output:
        in_plan = in_plan or line.strip() == "QUERY PLAN"
        if not in_plan:
            kept.append(line)
        in_plan = in_plan and not re.match(r"\(\d+ rows?\)$", line)
    return kept


def steps_of(permutation):
    """A permutation's steps: what each of them ran and what it printed."""
    steps = []
    for line in permutation:
        if line.startswith("step ") or not steps:
            steps.append([])
        steps[-1].append(line)
    return steps


def statement_and_output(step):
    """The isolation tester prints "step NAME: STATEMENT", in as many lines as it has, and then the rows."""
    header = next((n for n in range(1, len(step) - 1) if re.fullmatch(r"-+(\+-+)*", step[n + 1])), len(step))
    return re.sub(r"^step \w+: ", "", " ".join(step[:header])), step[header:]


def permutation_kind(a, b):
    """Steps may differ in the order of their rows only, and each where its own statement allows that."""
    if without_plans(a) == without_plans(b):
        return "plan"
    pairs = list(zip(steps_of(a), steps_of(b)))
    if len(pairs) != max(len(steps_of(a)), len(steps_of(b))):
        return "different"
    for one, two in pairs:
        (statement, a_rows), (other, b_rows) = statement_and_output(one), statement_and_output(two)
        one_statement = ";" not in statement.rstrip().rstrip(";")
        if one != two and not (one_statement and statement == other and same_but_for_order(statement, a_rows, b_rows)):
            return "different"
    return "order"


def errors_of(output):
    return [line for line in output if re.match(r"(psql:\S+ )?(ERROR|FATAL|PANIC):|server closed|connection to server", line)]


def outer_order(statement):
    """The keys of the statement's own ORDER BY; None if it has none, and [] if they cannot be told."""
    depth, flat = 0, ""
    for char in re.sub(r"'(?:[^']|'')*'", "''", statement):
        depth -= char == ")"
        flat += char if depth == 0 else ("" if depth > 0 else " ")
        depth += char == "("
    parts = re.split(r"\border\s+by\b", flat, flags=re.I)
    if len(parts) == 1:
        return None
    keys = re.split(r"\b(?:limit|offset|fetch|for)\b|;|\\g", parts[-1], flags=re.I)[0]
    keys = [re.sub(r"\s+(using\s+\S+|asc|desc|nulls\s+(first|last)).*", "", k.strip(), flags=re.I) for k in keys.split(",")]
    return keys if all(re.fullmatch(r'\d+|"?[\w.]+"?', k) for k in keys) else []


def rows_of(output):
    """The first table: names of the columns, and cells. (What has other forms is not told from one.)"""
    for n, line in enumerate(output):
        if n and re.fullmatch(r"-+(\+-+)*", line):
            rows = []
            for row in output[n + 1:]:
                if re.match(r"\(\d+ rows?\)$", row):
                    return [c.strip() for c in output[n - 1].split("|")], rows
                rows.append([c.strip() for c in row.split("|")])
    return None


def same_but_for_order(statement, a, b):
    if sorted(a) != sorted(b) or errors_of(a):
        return False
    keys = outer_order(statement)
    if keys is None:
        # Without a table of rows the order has a meaning (notices).
        return rows_of(a) is not None
    if not keys or not rows_of(a) or not rows_of(b):
        return False
    names, columns = rows_of(a)[0], []
    for key in keys:
        name = key.split(".")[-1].strip('"')
        if key.isdigit() and int(key) <= len(names):
            columns.append(int(key) - 1)
        elif name in names:
            columns.append(names.index(name))
        else:
            return False
    def cells(output):
        return [[row[c] if c < len(row) else None for c in columns] for row in rows_of(output)[1]]
    return cells(a) == cells(b)


def shows_plan(statement, a, b):
    """Is what was printed a plan: of EXPLAIN, or of one of the tests' functions that explain what they are given?"""
    explains = re.match(r"explain\b|(select|call)\b.*\b\w*explain\w*\s*\(", statement, re.I)
    return bool(explains) or any(line.strip() == "QUERY PLAN" for line in a + b)


def kind_of(statement, a, b):
    if shows_plan(statement, a, b) and errors_of(a) == errors_of(b):
        return "plan"
    return "order" if same_but_for_order(statement, a, b) else "different"


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.read().split("\n")


def read_allowed(path):
    allowed = []
    for line in read(path):
        if line.strip() and not line.startswith("#"):
            parts = line.rstrip().split(None, 1)
            prefix, _, reason = parts[1].rpartition(" ## ")
            if not prefix:
                sys.exit(f"{path}: no reason: {line}")
            allowed.append((re.compile(parts[0]), " ".join(prefix.split())))
    return allowed


def main():
    sys.stdout.reconfigure(errors="surrogateescape")
    arguments = sys.argv[1:]
    verbose = "-v" in arguments
    arguments = [a for a in arguments if a != "-v"]
    sources, reference, results, allowed_path = arguments
    allowed = read_allowed(allowed_path)
    counts = dict(tests=0, plan=0, order=0, allowed=0, different=0)

    def report(kind, test, where, statement, a, b):
        counts[kind] += 1
        if kind != "different" and (not verbose or kind == "plan"):
            return
        print(f"---- {kind}: {test}:{where}: {statement[:300]}")
        changes = [line for line in difflib.unified_diff(a, b, n=2, lineterm="") if line[:3] not in ("---", "+++")]
        print("\n".join(changes[:40] + ([f"... ({len(changes)} lines)"] if len(changes) > 40 else [])))

    def is_allowed(test, statement):
        return any(pattern.fullmatch(test) and statement.startswith(prefix) for pattern, prefix in allowed)

    names = sorted(n[:-4] for n in set(os.listdir(reference)) | set(os.listdir(results)) if n.endswith(".out"))
    for test in names:
        counts["tests"] += 1
        try:
            printed = [read(f"{directory}/{test}.out") for directory in (reference, results)]
        except FileNotFoundError as error:
            report("different", test, 0, str(error), [], [])
            continue
        if printed[0] == printed[1]:
            continue
        if sources == "--isolation":
            a, b = map(isolation_outputs, printed)
            for key in list(a) + [k for k in b if k not in a]:
                one, two = a.get(key, []), b.get(key, [])
                if one == two:
                    continue
                kind = permutation_kind(one, two)
                if kind == "different" and is_allowed(test, key[0]):
                    kind = "allowed"
                report(kind, test, key[1], key[0], one, two)
            continue
        lines = read(f"{sources}/{test}.sql")
        ending, after_data = statements_of(lines)
        (a, a_end), (b, b_end) = (outputs_of(lines, p, after_data) for p in printed)
        # A test that ended early, or whose lines were not found, was not compared to its end.
        last = max((n for n, line in enumerate(lines) if line.strip()), default=0)
        if a_end <= last or b_end <= last:
            report("different", test, min(a_end, b_end) + 1, "(the rest of the test was not found in the results)", [], [])
        for number in sorted(set(a) | set(b)):
            one, two = a.get(number, []), b.get(number, [])
            if one == two:
                continue
            statement = " ".join(ending.get(number, [lines[number] if number >= 0 else ""]))
            kind = kind_of(statement, one, two)
            if kind == "different" and is_allowed(test, statement):
                kind = "allowed"
            report(kind, test, number + 1, statement, one, two)

    print(f"{counts['tests']} tests, {counts['plan']} plan-only, {counts['order']} row order only, "
          f"{counts['allowed']} allowed, {counts['different']} different")
    return counts["different"] > 0


sys.exit(main())
