"""``python -m foldlog``: the command line."""

from foldlog.cli.main import main

if __name__ == "__main__":
    main()
