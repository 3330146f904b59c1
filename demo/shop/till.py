"""What a customer pays."""


def total(lines):
    """The sum of (number, price) in whole cents."""
    return sum(round(number * price, 2) for number, price in lines)
