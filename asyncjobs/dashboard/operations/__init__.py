"""Operations: what is done to many jobs at once is a job itself, which others can watch, cancel, resume and undo."""
