"""Where the `magma` script begins: nothing is imported yet, so that Ctrl-C during the imports is quiet as well."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave with its exit status."""
    try:
        from cli.main import magma

        sys.exit(magma(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
