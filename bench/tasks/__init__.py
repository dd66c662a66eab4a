"""One module per task; bench/README.md says what it must define."""
