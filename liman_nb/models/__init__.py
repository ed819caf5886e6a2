"""Language models behind one seam, from a script to a real server."""
