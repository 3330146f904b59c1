"""Turn a view into a request: items, repairs, messages, and the digest that proves it.

pieces -> items (each as it is shown) -> repairs -> messages
"""
