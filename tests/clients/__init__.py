"""Programs that nobody here wrote, and what they send.

    pins.toml      the programs and their versions
    installed.py   installs them into build/clients, and finds them there
    loops.py       what each of them is made to do: ordinary loops, compactions, subagents
    script.py      what the model says to them
    exchanges.py   what was sent and answered: as recorded in tests/fixtures/clients, made neutral
    replay.py      sends it again through foldlog, and looks up what foldlog shows
    programs/      the loops that are written against a library

``make clients`` installs them and runs them live; ``make test`` replays what they sent.
``python -m tests.clients record [NAME…]`` runs them against the test server and records it.
"""
