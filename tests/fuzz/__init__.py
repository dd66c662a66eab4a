"""A red team of random problems with oracles: `make fuzz`. Not part of the tests."""
