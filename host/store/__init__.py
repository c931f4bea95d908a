"""The database: the only importer of SQLAlchemy in the host.  Rows in, frozen data out; decides nothing."""
