import unittest

from till import total


class TillTest(unittest.TestCase):
    def test_the_sum_is_rounded_once(self):
        assert total([(1, 0.125)] * 4) == 0.5
