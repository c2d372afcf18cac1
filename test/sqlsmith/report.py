#!/usr/bin/env python3
"""Tells which errors in a server's log are the device's own, by asking the statements again without it.

Usage: report.py LOG HOST PORT     the log's line prefix is '%m [%p] %b %e %q%a '

Errors of values (class 22) depend on the plan, and cancelled statements on the machine: neither is looked at. Of all others up to
five statements for each message are asked again, each in a transaction that is rolled back: with gpuscan.offload = off, and if
that does not give the same error, with force. What the device gives again, and PostgreSQL does not, is a defect. So is an internal
error (XX000) of which the second attempt shows nothing: it is shown as seen once.
Exit status: 0 none, 1 some.
"""
import collections
import os
import re
import subprocess
import sys

LINE = re.compile(r"^\d{4}-\d\d-\d\d \S+ \S+ \[(\d+)\] .*? ([0-9A-Z]{5}) .*?(LOG|ERROR|FATAL|STATEMENT|DETAIL|HINT|CONTEXT|WARNING|QUERY):  (.*)$")
IGNORED = re.compile(r"^(22|57014|57P0|40|55P03|25P02|P0)")
INTERNAL = re.compile(r"could not find|unrecognized node type|variable not found|gpuscan|unexpected|cache lookup failed")


def entries(path):
    """SQLSTATE, message and statement of each error in the log."""
    waiting = {}
    statement = None
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            match = LINE.match(line)
            if not match:
                if statement is not None:
                    statement.append(line[1:] if line.startswith("\t") else line)
                continue
            if statement is not None:
                error = waiting.pop(owner, None)
                if error:
                    yield error + ("".join(statement),)
                statement = None
            pid, state, kind, text = match.groups()
            if kind == "ERROR":
                waiting[pid] = (state, text)
            elif kind == "STATEMENT":
                statement, owner = [text + "\n"], pid
    if statement is not None and owner in waiting:
        yield waiting[owner] + ("".join(statement),)


def normalised(message):
    return re.sub(r'"[^"]*"|\d+', "#", re.sub(r" at character \d+$", "", message))


def asked(statement, offload, host, port):
    """SQLSTATE and message, or an empty SQLSTATE."""
    script = f"\\set VERBOSITY verbose\nBEGIN;\nSET LOCAL statement_timeout = '20s';\nSET LOCAL gpuscan.offload = {offload};\n{statement.rstrip().rstrip(';')}\n;\nROLLBACK;\n"
    run = subprocess.run(["psql", "-XAtq", "-h", host, "-p", port, "-U", "smith", "-d", "regression"], input=script,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False, env={**os.environ, "PGOPTIONS": ""})
    match = re.search(r"(?:ERROR|FATAL):  ([0-9A-Z]{5}): (.*)", run.stderr)
    if match:
        return match.group(1), match.group(2)
    return ("lost", run.stderr.strip()[:200]) if run.returncode == 2 else ("", "")


def main():
    log, host, port = sys.argv[1:4]
    counts, samples = collections.Counter(), collections.defaultdict(list)
    total = 0
    for state, message, statement in entries(log):
        total += 1
        key = (state, normalised(message))
        counts[key] += 1
        if not IGNORED.match(state) and len(samples[key]) < 5:
            samples[key].append(statement)
    own = replayed = 0
    for key, statements in sorted(samples.items()):
        for statement in statements:
            replayed += 1
            plain = asked(statement, "off", host, port)
            if plain[0] == key[0] and normalised(plain[1]) == key[1]:
                continue
            forced = asked(statement, "force", host, port)
            # (TABLESAMPLE draws other rows each time: PostgreSQL may need another attempt to meet what the device met.)
            if forced[0] != "" and any(asked(statement, "off", host, port) == forced for _ in range(5)):
                continue
            again = forced[0] != "" and not IGNORED.match(forced[0]) and (forced[0], normalised(forced[1])) != (plain[0], normalised(plain[1]))
            if again or key[0].startswith("XX") or INTERNAL.search(key[1]):
                own += 1
                print(f"OWN ERROR {key[0]} {key[1]} ({counts[key]} times{'' if again else ', seen once'})\n  off: {plain}\n  force: {forced}\n{statement}")
                break
    print(f"errors in the log: {total}, of {len(counts)} kinds; {replayed} statements asked again; the device's own: {own}")
    return 1 if own else 0


if __name__ == "__main__":
    sys.exit(main())
