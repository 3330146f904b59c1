"""The soak test: long sessions in which everything goes wrong at random, and nothing may be lost.

    python -m tests.soak --turns 2000 --seed 7

Each session is a harness of some kind, a policy, a model and a seed. What the server was sent and
said is the oracle: see ``tests.soak.proof``. A failure prints the seed that leads to it again.
"""
