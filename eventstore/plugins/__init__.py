"""foldlog's SQL functions for other programs that open its stores."""
