"""What learners are put together from: states with compiled verbs, one idea a file."""
