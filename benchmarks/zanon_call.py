"""Calls the package zanon as its page on the index says, in its own environment; prints events a second of processor time."""

import random
import sys
import time

from zanonymity import zanon

RECORDS = int(sys.argv[1])
chance = random.Random(2026)
trace, moment = [], 0.0
for _ in range(RECORDS):
    leaf = min(int((chance.paretovariate(0.6) - 1) * 3), 20_000)
    moment += chance.random() * 0.072
    path = f"c{leaf % 3}*d{leaf % 7}*e{leaf % 31}*f{leaf % 211}*g{leaf}"
    trace.append((str(moment), str(chance.randrange(5000)), path))
session = zanon.zanon(3600, 0.8, 2)
started = time.process_time()
for record in trace:
    session.anonymize(record)
taken = time.process_time() - started
session.endFiles()
print(RECORDS / taken)
