"""The files of the session's folder, as the file tools share them."""
