"""``SELECT … FROM A a, B b WHERE |@a − @b| <= 5 seconds CONFIDENCE 80%``: pairs of two streams."""
