"""Programs of their own, reached over their protocols; nobody imports them and they import none of us."""
