"""How good the policies are on feeds: late rows and waits, against the best constant."""
