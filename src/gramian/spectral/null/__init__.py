"""What a spectrum would be without structure: edges of noise, permutations, p-values."""
