"""How large a request is and what it costs: estimates, the API's own counts, windows, prices."""
