"""Cards: state → blocks, pure.  Nothing here sends, reads a database or decides."""
