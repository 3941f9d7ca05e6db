"""Faces for other libraries, each in the module of that library's name."""
